//! What a heading asks for.

/// Something that the record can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// What it is about.
    Summary,
    /// What was wrong, and why the change is made.
    Problem,
    /// Why it was wrong.
    Cause,
    /// What is done about it.
    Fix,
    /// How it was tested.
    Testing,
    /// The tracker's entry.
    Ticket,
}

/// Headings by their normal form; a `*` at the end stands for anything.
const KNOWN: [(&str, Topic); 78] = [
    ("summary", Topic::Summary),
    ("summary of changes", Topic::Summary),
    ("pr summary", Topic::Summary),
    ("description", Topic::Summary),
    ("pr description", Topic::Summary),
    ("overview", Topic::Summary),
    ("tl dr", Topic::Summary),
    ("tldr", Topic::Summary),
    ("what", Topic::Summary),
    ("what why", Topic::Summary),
    ("what and why", Topic::Summary),
    ("what is this", Topic::Summary),
    ("what is this pr about", Topic::Summary),
    ("what this pr does*", Topic::Summary),
    ("what does this pr do*", Topic::Summary),
    ("what does this implement fix*", Topic::Summary),
    ("about this pr", Topic::Summary),
    ("purpose", Topic::Problem),
    ("purpose of this pr", Topic::Problem),
    ("problem", Topic::Problem),
    ("the problem", Topic::Problem),
    ("problem description", Topic::Problem),
    ("problem statement", Topic::Problem),
    ("issue description", Topic::Problem),
    ("bug", Topic::Problem),
    ("bug description", Topic::Problem),
    ("symptom", Topic::Problem),
    ("symptoms", Topic::Problem),
    ("why", Topic::Problem),
    ("why is this needed", Topic::Problem),
    ("why are these changes needed", Topic::Problem),
    ("why are the changes needed", Topic::Problem),
    ("why we need it", Topic::Problem),
    ("motivation", Topic::Problem),
    ("motivation and context", Topic::Problem),
    ("context", Topic::Problem),
    ("background", Topic::Problem),
    ("root cause", Topic::Cause),
    ("root cause analysis", Topic::Cause),
    ("the root cause", Topic::Cause),
    ("cause", Topic::Cause),
    ("what caused it", Topic::Cause),
    ("what caused this", Topic::Cause),
    ("fix", Topic::Fix),
    ("the fix", Topic::Fix),
    ("fix description", Topic::Fix),
    ("solution", Topic::Fix),
    ("the solution", Topic::Fix),
    ("proposed solution", Topic::Fix),
    ("changes", Topic::Fix),
    ("changes made", Topic::Fix),
    ("proposed changes", Topic::Fix),
    ("what changed", Topic::Fix),
    ("what s changed", Topic::Fix),
    ("what has changed", Topic::Fix),
    ("what changes were proposed*", Topic::Fix),
    ("implementation", Topic::Fix),
    ("how", Topic::Fix),
    ("test plan", Topic::Testing),
    ("testing", Topic::Testing),
    ("testing done", Topic::Testing),
    ("testing plan", Topic::Testing),
    ("tests", Topic::Testing),
    ("test", Topic::Testing),
    ("verification", Topic::Testing),
    ("validation", Topic::Testing),
    ("how was this tested", Topic::Testing),
    ("how has this been tested", Topic::Testing),
    ("how was this patch tested", Topic::Testing),
    ("how did you test this*", Topic::Testing),
    ("how to test*", Topic::Testing),
    ("ticket", Topic::Ticket),
    ("tickets", Topic::Ticket),
    ("issue", Topic::Ticket),
    ("related issue", Topic::Ticket),
    ("related issues", Topic::Ticket),
    ("linked issue", Topic::Ticket),
    ("which issue s *", Topic::Ticket),
];

/// What a heading asks for; `None` when it asks for nothing that we know.
pub(super) fn of(heading: &str) -> Option<Topic> {
    let lower = heading.to_lowercase();
    let normal =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
    // `1. Summary` is a summary.
    let normal = normal.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    KNOWN
        .iter()
        .find(|(known, _)| match known.strip_suffix('*') {
            Some(start) => normal.starts_with(start),
            None => normal == *known,
        })
        .map(|(_, topic)| *topic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_known_however_they_are_dressed() {
        for (heading, topic) in [
            ("Summary:", Some(Topic::Summary)),
            ("📝 Summary", Some(Topic::Summary)),
            ("1. Description", Some(Topic::Summary)),
            ("What this PR does / why we need it:", Some(Topic::Summary)),
            ("Purpose", Some(Topic::Problem)),
            ("Problem description", Some(Topic::Problem)),
            ("What's changed", Some(Topic::Fix)),
            ("Root Cause", Some(Topic::Cause)),
            ("TEST PLAN", Some(Topic::Testing)),
            ("How has this been tested?", Some(Topic::Testing)),
            ("Which issue(s) this PR is related to:", Some(Topic::Ticket)),
            ("Checklist", None),
            ("Does this PR introduce a user-facing change?", None),
            ("Test Result", None),
            ("", None),
        ] {
            assert_eq!(of(heading), topic, "{heading}");
        }
    }
}

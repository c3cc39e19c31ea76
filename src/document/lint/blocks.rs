//! What a section is about, whatever its house calls it.

use crate::document::page::{BLOCKS, same_title};

/// What a section is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Block {
    /// What broke and what fixed it.
    Summary,
    /// What was observed.
    Symptom,
    /// The mechanism of the bug.
    RootCause,
    /// How the cause led to the symptom.
    Mechanism,
    /// What changed, and why that addresses the cause.
    Fix,
    /// The path of the debugging.
    Found,
    /// What let it through.
    Slipped,
    /// How the fix is known to work.
    Validation,
    /// What is still to do.
    Actions,
    /// Who was hit, how hard, how long.
    Impact,
    /// How it was noticed.
    Detection,
    /// What happened when.
    Timeline,
    /// What was learnt.
    Lessons,
    /// What nobody knows yet.
    Questions,
}

impl Block {
    /// The nine blocks of our standard, in their order.
    pub const STANDARD: [Self; 9] = [
        Self::Summary,
        Self::Symptom,
        Self::RootCause,
        Self::Mechanism,
        Self::Fix,
        Self::Found,
        Self::Slipped,
        Self::Validation,
        Self::Actions,
    ];

    /// The blocks that no post-mortem may lack.
    pub const MANDATORY: [Self; 4] = [Self::Summary, Self::RootCause, Self::Fix, Self::Validation];

    /// Its name in our standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Summary => "Summary",
            Self::Symptom => "Symptom",
            Self::RootCause => "Root cause",
            Self::Mechanism => "Why it produced the symptom",
            Self::Fix => "Fix",
            Self::Found => "How it was found",
            Self::Slipped => "Why it slipped through",
            Self::Validation => "Validation",
            Self::Actions => "Action items",
            Self::Impact => "Impact",
            Self::Detection => "Detection",
            Self::Timeline => "Timeline",
            Self::Lessons => "Lessons",
            Self::Questions => "Open questions",
        }
    }
}

/// Other names in use for each block, in lower case without punctuation.
const SYNONYMS: &[(Block, &[&str])] = &[
    (
        Block::Summary,
        &[
            "overview",
            "executive summary",
            "tl dr",
            "tldr",
            "what happened",
            "issue summary",
            "incident summary",
            "synopsis",
            "abstract",
            "in short",
            "at a glance",
            "description",
            "incident description",
            "problem summary",
        ],
    ),
    (
        Block::Symptom,
        &[
            "symptoms",
            "what was observed",
            "observed behaviour",
            "observed behavior",
            "problem",
            "the problem",
            "problem statement",
            "issue",
            "the issue",
            "technical problem",
            "the technical problem",
        ],
    ),
    (
        Block::RootCause,
        &[
            "cause",
            "causes",
            "the cause",
            "rca",
            "contributing factors",
            "contributing factor",
            "contributing causes",
            "contributing conditions",
            "trigger",
            "triggers",
            "trigger s",
            "why did it happen",
            "why it happened",
            "why did this happen",
            "identified cause",
            "what caused it",
            "what caused this",
            "what caused the incident",
            "what caused the outage",
            "technical details",
            "underlying cause",
            "underlying causes",
            "proximate cause",
            "cause analysis",
            "five whys",
            "5 whys",
            "the five whys",
        ],
    ),
    (Block::Mechanism, &["mechanism", "how it produced the symptom", "why it caused the symptom"]),
    (
        Block::Fix,
        &[
            "fixes",
            "the fix",
            "resolution",
            "remediation",
            "mitigation",
            "mitigations",
            "solution",
            "recovery",
            "resolution and recovery",
            "mitigation and resolution",
            "recovery and resolution",
            "how it was fixed",
            "how it was resolved",
            "how we fixed it",
            "how did we fix it",
            "what we did",
            "what we did to fix it",
            "the solution",
        ],
    ),
    (Block::Found, &["investigation", "how we found it", "debugging", "diagnosis", "how it was debugged"]),
    (
        Block::Slipped,
        &[
            "why it wasn t caught",
            "why it was not caught",
            "why wasn t it caught",
            "how it slipped through",
            "why we missed it",
        ],
    ),
    (
        Block::Validation,
        &[
            "verification",
            "validation of the fix",
            "verification of the fix",
            "how we verified the fix",
            "how we know it works",
            "how we know that the fix works",
            "test results",
        ],
    ),
    (
        Block::Actions,
        &[
            "actions",
            "action item",
            "action points",
            "action plan",
            "actions items",
            "follow up",
            "follow ups",
            "followup",
            "followups",
            "follow up actions",
            "follow up items",
            "follow up tasks",
            "next steps",
            "todo",
            "todos",
            "to do",
            "to dos",
            "what s next",
            "what is next",
            "corrective actions",
            "preventive actions",
            "preventative actions",
            "corrective and preventative measure",
            "corrective and preventative measures",
            "corrective and preventive measures",
            "corrective and preventive actions",
            "remediation items",
            "immediate actions",
            "immediate actions completed",
            "future work",
            "short term improvements",
            "long term improvements",
            "tasks",
        ],
    ),
    (
        Block::Impact,
        &[
            "customer impact",
            "user impact",
            "business impact",
            "summary of impact",
            "scope",
            "scope of impact",
        ],
    ),
    (
        Block::Detection,
        &[
            "how it was detected",
            "how we found out",
            "how did we find out",
            "how we detected it",
            "discovery",
        ],
    ),
    (Block::Timeline, &["chronology", "sequence of events", "what happened when"]),
    (
        Block::Lessons,
        &[
            "lessons learned",
            "lessons learnt",
            "learnings",
            "what we learned",
            "what went well",
            "what went wrong",
            "what went poorly",
            "what went badly",
            "what didn t go well",
            "what could have gone better",
            "where we got lucky",
            "where did we get lucky",
            "takeaways",
            "key takeaways",
            "retrospective",
            "reflections",
        ],
    ),
    (Block::Questions, &["unknowns", "questions", "open issues", "unanswered questions"]),
];

/// The words of a title, in lower case; a number before it and what stands in brackets at its end do not count.
fn words(title: &str) -> Vec<String> {
    let mut title = title.trim().trim_end_matches([':', '.', '?', '!', '*', ' ']);
    while title.ends_with(')')
        && let Some(open) = title.rfind('(').filter(|at| *at > 0)
        // "Root cause(s)" keeps its s.
        && title[..open].ends_with(' ')
    {
        title = title[..open].trim_end();
    }
    let mut words: Vec<String> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    while words.first().is_some_and(|w| w.bytes().all(|b| b.is_ascii_digit())) {
        words.remove(0);
    }
    words
}

/// What a title says its section is about, and whether it does so in the words of our standard.
pub fn of_title(title: &str) -> Option<(Block, bool)> {
    if title.len() > 200 {
        return None;
    }
    let all = [Block::Impact, Block::Detection, Block::Timeline, Block::Lessons, Block::Questions];
    debug_assert_eq!(BLOCKS.len(), Block::STANDARD.len());
    if let Some(block) = Block::STANDARD.iter().chain(&all).find(|b| same_title(title, b.name())) {
        return Some((*block, true));
    }
    let words = words(title);
    let joined = words.join(" ");
    if let Some(block) = Block::STANDARD.iter().chain(&all).find(|b| joined == b.name().to_lowercase()) {
        return Some((*block, true));
    }
    if let Some((block, _)) = SYNONYMS.iter().find(|(_, names)| names.contains(&joined.as_str())) {
        return Some((*block, false));
    }
    let starts = |prefix: &str| joined.starts_with(prefix);
    let has = |word: &str| words.iter().any(|w| w == word);
    let block = if has("timeline") && words.len() <= 24 {
        Block::Timeline
    } else if starts("root cause") && words.len() <= 8 {
        Block::RootCause
    } else if (starts("resolution") || starts("remediation")) && words.len() <= 4 {
        Block::Fix
    } else if starts("short term improvements") || starts("long term improvements") || starts("action items")
    {
        Block::Actions
    } else if words.last().is_some_and(|w| w == "impact") && words.len() <= 3 {
        Block::Impact
    } else {
        return None;
    };
    Some((block, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_houses_names_are_understood() {
        for (title, block, ours) in [
            ("Root cause", Block::RootCause, true),
            ("3. Root Cause:", Block::RootCause, true),
            ("Root Cause(s)", Block::RootCause, false),
            ("Root causes and trigger", Block::RootCause, false),
            ("Resolution", Block::Fix, false),
            ("TL;DR", Block::Summary, false),
            ("What happened?", Block::Summary, false),
            ("Timeline (all times UTC) Monday May 10th, 2021. All times approximate", Block::Timeline, false),
            ("Timeline (UTC)", Block::Timeline, true),
            ("Follow-ups", Block::Actions, false),
            ("Lessons Learned", Block::Lessons, false),
            ("✅ Validation", Block::Validation, true),
        ] {
            assert_eq!(of_title(title), Some((block, ours)), "{title}");
        }
        for title in ["", "Attempt 1", "Fixtures", "The summary of nothing", "17", "()"] {
            assert_eq!(of_title(title), None, "{title}");
        }
    }
}

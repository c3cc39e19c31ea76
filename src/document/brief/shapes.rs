//! The shapes: which statements each channel takes, in which order, and how many words.

use super::slots::{Role, Said, Slots};
use super::{Channel, Left};

/// The longest line of a stand-up, in characters.
const STANDUP_LINE: usize = 200;

/// The longest subject of an e-mail, in characters.
const SUBJECT: usize = 110;

/// Lines that one statement leaves to the writer, at most.
const MOST_PASSED: usize = 12;

/// The text for a channel, and what is left for the writer.
pub(super) fn shape(slots: &Slots, channel: Channel) -> (String, Vec<Left>) {
    let mut writer = Writer { slots, left: Vec::new(), room: channel.most_words() };
    let text = match channel {
        Channel::Ticket => writer.ticket(),
        Channel::Chat => writer.chat(),
        Channel::Standup => writer.standup(),
        Channel::Email => writer.email(),
        Channel::Meeting => writer.meeting(),
    };
    (text, writer.left)
}

struct Writer<'s> {
    slots: &'s Slots,
    left: Vec<Left>,
    /// Words that may still be written.
    room: usize,
}

impl Writer<'_> {
    fn ticket(&mut self) -> String {
        let mut out = String::new();
        let status = self.slots.card.status.clone();
        if status.is_empty() {
            let marker = match self.slots.standing() {
                Some(sentence) => sentence.to_owned(),
                None => self.missing("Status"),
            };
            self.line(&mut out, "Status", &marker);
        } else {
            self.line(&mut out, "Status", &status);
        }
        self.labelled(&mut out, "Impact", &[Role::Impact, Role::Symptom], 2, true);
        self.labelled(&mut out, "What broke", &[Role::Summary, Role::Cause], 2, true);
        self.labelled(&mut out, "Why now", &[Role::Slipped], 2, false);
        let owner = self.slots.card.owner.clone();
        if owner.is_empty() {
            let marker = self.missing("Owner");
            self.line(&mut out, "Owner", &marker);
        } else {
            self.line(&mut out, "Owner", &owner);
        }
        self.listed(&mut out, "Next steps", 5);
        self.labelled(&mut out, "Workaround", &[Role::Workaround], 1, false);
        self.labelled(&mut out, "Risk", &[Role::Risk], 2, false);
        self.references(&mut out);
        out
    }

    /// The tickets and pull requests of the summary that nothing has named yet.
    fn references(&mut self, out: &mut String) {
        let named = self.unnamed(out);
        if !named.is_empty() {
            self.line(out, "References", &named);
        }
    }

    fn unnamed(&self, said: &str) -> String {
        let mut all = self.slots.references();
        all.retain(|r| !said.contains(r.as_str()));
        all.join(", ")
    }

    fn chat(&mut self) -> String {
        let mut out = String::new();
        self.room = self.room.saturating_sub(1);
        let head = self.headline(30);
        self.room = self.room.saturating_sub(words(&head));
        out.push_str(&format!("**TL;DR:** {head}\n"));
        // Kept free for what nobody can do without.
        let kept = words(&self.unnamed(&out)).min(self.room);
        self.room -= kept;
        let mut bullets = 0;
        for roles in [
            &[Role::Impact, Role::Symptom][..],
            &[Role::Fix],
            &[Role::Validation, Role::Cause],
            &[Role::Actions],
        ] {
            if self.room < 8 {
                break;
            }
            // A bullet costs its dash as well.
            let (taken, _) = self.whole(roles, 1, self.room.min(20) - 1, &out);
            if let Some(sentence) = taken.first() {
                self.room = self.room.saturating_sub(words(sentence) + 1);
                out.push_str(&format!("- {sentence}\n"));
                bullets += 1;
            }
        }
        if bullets < 2 && self.room >= 12 {
            let marker = self.marker(&[Role::Impact, Role::Symptom, Role::Fix], "More");
            out.push_str(&format!("- {marker}\n"));
        }
        let named = self.unnamed(&out);
        if !named.is_empty()
            && words(&named) <= kept
            && let Some(end) = out.find('\n')
        {
            out.insert_str(end, &format!(" ({named})"));
        }
        out
    }

    fn standup(&mut self) -> String {
        let head = self.headline(28);
        self.room = self.room.saturating_sub(words(&head));
        let mut out = limited(&head, STANDUP_LINE) + "\n";
        for roles in [&[Role::Fix, Role::Validation][..], &[Role::Actions]] {
            let (taken, _) = self.whole(roles, 1, self.room.min(24), &out);
            if let Some(sentence) = taken.first() {
                self.room = self.room.saturating_sub(words(sentence));
                out.push_str(&limited(sentence, STANDUP_LINE));
                out.push('\n');
            }
        }
        out
    }

    fn email(&mut self) -> String {
        let subject = match &self.slots.title {
            Some(title) => title.clone(),
            None => self.headline(24),
        };
        let subject = limited(&subject, SUBJECT);
        self.room = self.room.saturating_sub(words(&subject) + 1);
        let mut out = format!("Subject: {subject}\n\n");
        for (roles, most) in [
            (&[Role::Summary][..], 3),
            (&[Role::Impact, Role::Symptom], 3),
            (&[Role::Cause, Role::Mechanism], 2),
            (&[Role::Slipped], 2),
            (&[Role::Fix], 2),
            (&[Role::Validation], 2),
            (&[Role::Risk], 1),
        ] {
            self.paragraph(&mut out, roles, most);
        }
        self.listed(&mut out, "Next steps", 5);
        let owner = self.slots.card.owner.clone();
        if !owner.is_empty() {
            self.line(&mut out, "Owner", &owner);
        }
        self.references(&mut out);
        out.trim_end().to_owned() + "\n"
    }

    fn meeting(&mut self) -> String {
        let mut out = String::new();
        for (roles, most) in [
            (&[Role::Summary][..], 2),
            (&[Role::Impact, Role::Symptom], 1),
            (&[Role::Cause, Role::Mechanism], 1),
            (&[Role::Slipped], 1),
            (&[Role::Fix], 1),
            (&[Role::Validation], 1),
            (&[Role::Risk], 1),
            (&[Role::Actions], 3),
        ] {
            let room = self.room.saturating_sub(most);
            let (taken, lines) = self.pick(roles, most, room, &out);
            for sentence in &taken {
                self.room = self.room.saturating_sub(words(sentence) + 1);
                out.push_str(&format!("- {sentence}\n"));
            }
            if taken.is_empty() && !lines.is_empty() {
                self.mark(&mut out, "- ", &lines, "\n");
            }
        }
        if out.is_empty() {
            let marker = self.missing("What broke");
            out = format!("- {marker}\n");
        }
        out
    }

    /// The one sentence that stands for all: of the summary, the title, the symptom, the cause.
    fn headline(&mut self, most: usize) -> String {
        let (taken, _) = self.pick(&[Role::Summary], 1, most, "");
        if let Some(sentence) = taken.into_iter().next() {
            return sentence;
        }
        if let Some(title) = &self.slots.title {
            return cut_words(title, most);
        }
        let (taken, _) = self.pick(&[Role::Symptom, Role::Cause], 1, most, "");
        taken
            .into_iter()
            .next()
            .unwrap_or_else(|| self.marker(&[Role::Summary, Role::Symptom, Role::Cause], "What broke"))
    }

    /// At most `most` statements of the first of these that has any, within `room` words; those that had to be passed
    /// over are left for the writer, and their lines returned. What `said` holds already is not said again.
    fn pick(&mut self, roles: &[Role], most: usize, room: usize, said: &str) -> (Vec<String>, Vec<usize>) {
        let (mut taken, passed) = self.whole(roles, most, room, said);
        // Better a sentence with its end cut off than none, where one would say enough.
        if taken.is_empty() && room >= 20 {
            let slots = self.slots;
            let first = roles.iter().flat_map(|r| slots.of(*r)).filter_map(|s| s.words.as_ref());
            taken.extend(first.filter(|w| !said.contains(w.as_str())).map(|w| cut_words(w, room)).next());
        }
        (taken, passed)
    }

    /// As [`Writer::pick`], whole sentences only.
    fn whole(&mut self, roles: &[Role], most: usize, room: usize, said: &str) -> (Vec<String>, Vec<usize>) {
        let mut taken: Vec<String> = Vec::new();
        let mut passed: Vec<usize> = Vec::new();
        for role in roles {
            let mut used = 0;
            for one in self.slots.of(*role) {
                if taken.len() == most {
                    break;
                }
                let Some(sentence) = &one.words else {
                    if passed.len() < MOST_PASSED && passed.last() != Some(&one.line) {
                        passed.push(one.line);
                    }
                    continue;
                };
                let new = !said.contains(sentence.as_str()) && !taken.contains(sentence);
                if new && used + words(sentence) <= room {
                    used += words(sentence);
                    taken.push(sentence.clone());
                }
            }
            if !taken.is_empty() {
                break;
            }
        }
        for line in &passed {
            self.left.push(Left {
                line: *line,
                why: "it cannot be said without code; say it in words".to_owned(),
            });
        }
        (taken, passed)
    }

    fn labelled(&mut self, out: &mut String, label: &str, roles: &[Role], most: usize, needed: bool) {
        let room = self.room.saturating_sub(words(label));
        let (taken, lines) = self.pick(roles, most, room, out);
        if !taken.is_empty() {
            let text = taken.join(" ");
            self.line(out, label, &text);
        } else if !lines.is_empty() {
            self.mark(out, &format!("{label}: "), &lines, "\n");
        } else if needed && !roles.iter().any(|r| self.slots.of(*r).iter().any(|s| s.words.is_some())) {
            let marker = self.missing(label);
            self.line(out, label, &marker);
        }
    }

    fn line(&mut self, out: &mut String, label: &str, text: &str) {
        let room = self.room.saturating_sub(words(label));
        if room < 3 {
            return;
        }
        let text = cut_words(text, room);
        self.room = room.saturating_sub(words(&text));
        out.push_str(&format!("{label}: {text}\n"));
    }

    fn listed(&mut self, out: &mut String, label: &str, most: usize) {
        let room = self.room.saturating_sub(words(label) + most);
        let (taken, lines) = self.pick(&[Role::Actions], most, room, out);
        if taken.is_empty() && lines.is_empty() {
            let marker = self.missing(label);
            self.line(out, label, &marker);
            return;
        }
        if !out.is_empty() && !out.ends_with("\n\n") && out.contains("\n\n") {
            out.push('\n');
        }
        if let [only] = taken.as_slice()
            && lines.is_empty()
        {
            self.line(out, label, only);
            return;
        }
        self.room = self.room.saturating_sub(words(label));
        out.push_str(&format!("{label}:\n"));
        for sentence in &taken {
            self.room = self.room.saturating_sub(words(sentence) + 1);
            out.push_str(&format!("- {sentence}\n"));
        }
        if !lines.is_empty() {
            self.mark(out, "- ", &lines, "\n");
        }
    }

    fn paragraph(&mut self, out: &mut String, roles: &[Role], most: usize) {
        let (taken, lines) = self.pick(roles, most, self.room, out);
        if taken.is_empty() && lines.is_empty() {
            return;
        }
        self.room = self.room.saturating_sub(taken.iter().map(|t| words(t)).sum());
        out.push_str(&taken.join(" "));
        if lines.is_empty() {
            out.push_str("\n\n");
        } else {
            let gap = if taken.is_empty() { "" } else { " " };
            self.mark(out, gap, &lines, "\n\n");
        }
    }

    /// Writes where something was left out, if there is room for that.
    fn mark(&mut self, out: &mut String, before: &str, lines: &[usize], after: &str) {
        let marker = format!("{before}{}", marker_of(lines));
        if words(&marker) <= self.room {
            self.room -= words(&marker);
            out.push_str(&marker);
        }
        out.push_str(after);
    }

    /// Why nothing could be taken of these: because of code, or because the document is silent.
    fn marker(&mut self, roles: &[Role], label: &str) -> String {
        let slots = self.slots;
        let coded: Vec<&Said> =
            roles.iter().flat_map(|r| slots.of(*r)).filter(|s| s.words.is_none()).collect();
        match coded.first() {
            Some(said) => marker_of(&[said.line]),
            None => self.missing(label),
        }
    }

    fn missing(&mut self, label: &str) -> String {
        self.left.push(Left {
            line: 0,
            why: format!("{label}: the document does not say it in words of its own"),
        });
        "[the document does not say; ask its author]".to_owned()
    }
}

fn marker_of(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(3).map(ToString::to_string).collect();
    let more = if lines.len() > 3 { ", …" } else { "" };
    let lines = if lines.len() == 1 { "line" } else { "lines" };
    format!("[{lines} {}{more}: say this without code]", shown.join(", "))
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// As many whole words as may be; `…` says that there were more.
fn cut_words(text: &str, most: usize) -> String {
    if words(text) <= most {
        return text.to_owned();
    }
    let kept: Vec<&str> = text.split_whitespace().take(most).collect();
    kept.join(" ").trim_end_matches([',', ';', ':', '.']).to_owned() + "…"
}

/// As much as fits into so many characters, whole words only where there are any.
fn limited(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most - 1).collect();
    let at = cut.rfind(' ').unwrap_or(cut.len());
    cut[..at].trim_end_matches([',', ';', ':', '.', ' ']).to_owned() + "…"
}

//! Action items that nobody can ever finish.

use std::sync::LazyLock;

use regex::Regex;

use super::action_item;
use crate::document::lint::words::re;
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};

/// The rule.
pub const RULE: Rule = Rule {
    name: "manufactured-action",
    severity: Severity::Warning,
    elsewhere: Some(Severity::Warning),
    about: "an action item that looks thorough and changes nothing",
    docs: "\"Be more careful\", \"improve communication\", \"monitor the situation\" have no end and no result. An item says \
           what will be different afterwards. No items, with the reason, are better than such ones.",
    bad: "## Action items\n\n- Be more careful with streams. (Alex, GPU-12)\n",
    good: "## Action items\n\n- Alert when a launch waits longer than 30 s. (Alex, GPU-12)\n",
    facts: no_facts,
    check,
};

static VAGUE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^(?:\W|we (?:should|need to|must|will) |everyone (?:should|must) |try to |please |always )*(?:(?:be|being) (?:more |extra |very )?(?:careful|cautious|aware|vigilant|mindful|diligent|attentive|thorough)|(?:take|exercise|use) (?:more |extra |greater |better )?(?:care|caution)\b|pay (?:more |closer |better )?attention|(?:improve|better|enhance|increase|more) (?:our |the |team |internal |cross-team )*(?:communication|awareness|collaboration|coordination|diligence|vigilance|discipline|quality|code quality)\b|communicate (?:better|more)|raise awareness|keep an eye\b|monitor (?:the |this |our )?(?:situation|issue|system|things|closely|it)\b|continue (?:to )?monitor(?:ing)?\b|remember (?:to|that)\b|double-?check\b(?: everything| things| more)?|do better|work harder|test (?:more|better|harder|more thoroughly)\b|(?:write|add) (?:more|better) tests?\s*(?:[.(]|$)|(?:more|better) (?:testing|tests|monitoring|documentation|reviews?)\s*(?:[.(]|$)|improve (?:the |our )?(?:testing|monitoring|documentation|process(?:es)?|reviews?)\s*(?:[.(]|$)|think (?:twice|before)\b|avoid (?:such |similar |these |future |making )?(?:mistakes|errors|issues|problems)\b|investigate (?:this |it |the issue |the problem )?further\b\s*(?:[.(—–-]|$)|remind (?:everyone|everybody|people|the team|all (?:engineers|developers|teams)|engineers|developers|ourselves)\b|follow (?:the |our )?best practices?\b|think about\b|discuss (?:this |it )?(?:in|at|during) (?:the |our |a |next |team )*(?:retro\w*|stand-?up|meetings?)\b|educate\b|learn from (?:this|it|our)\b|(?:make sure|ensure) (?:that )?(?:this|it) (?:does not|doesn['’]t|never|won['’]t) happen\w* again)",
    )
});

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    for item in action_item::items(document) {
        if let Some(found) = VAGUE.find(&item.what) {
            let shown: String =
                found.as_str().trim().trim_end_matches(['.', '(']).trim().chars().take(60).collect();
            findings
                .add(
                    item.place.clone(),
                    format!("{shown:?} is no action: nothing will be different when it is done"),
                )
                .help("say what changes and how anybody sees that it is done, or leave it out");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_told_from_work() {
        for item in [
            "Investigate further. (Alex, GPU-12)",
            "Remind everyone to run the tests",
            "Follow best practices",
            "Think about the timeouts",
            "Discuss in retro",
            "Educate the team",
        ] {
            assert!(VAGUE.is_match(item), "{item}");
        }
        for item in [
            "Investigate why the probe reads 0 after a restart",
            "Remind the owner of an expiring certificate by mail",
            "Alert when a launch waits longer than 30 s",
        ] {
            assert!(!VAGUE.is_match(item), "{item}");
        }
    }
}

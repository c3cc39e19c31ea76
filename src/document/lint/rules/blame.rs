//! Blame: a person as the subject of a lapse.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::people::is_first_name;
use crate::document::lint::words::{before, re, re_case};
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};

/// The rule.
pub const RULE: Rule = Rule {
    name: "blame",
    severity: Severity::Error,
    elsewhere: Some(Severity::Warning),
    about: "a person, pronoun or role is the subject of a lapse or of a counterfactual",
    docs: "Describe the gap, not the person: the next one in that place will do the same. Found are sentences whose \
           subject is a name, a role (engineer, reviewer, on-call, a team) or he, she, I, you, with a lapse verb (forgot, \
           neglected, failed to check, did not bother, mistakenly deleted) or a counterfactual (should have noticed), and \
           human error given as a cause. Not found are systems as subjects (\"the scheduler failed to start\"), users and \
           customers, negations, questions, quotations and code, and \"we should have caught this\", which is an honest \
           answer about a gap.",
    bad: "## Why it slipped through\n\nBob forgot to run the sanitizer, and the reviewer should have noticed.\n",
    good: "## Why it slipped through\n\nNothing ran the sanitizer before a merge; we should have caught this with the \
           nightly job, whose runner failed to start.\n",
    facts: no_facts,
    check,
};

/// Roles whose holders are people in any sentence.
const ROLE: &str = r"(?:on-?call(?:er| engineers?| person| sre| developer)?|engineers?|developers?|programmers?|coders?|sysadmins?|administrators?|technicians?|employees?|contractors?|interns?|juniors?|reviewers?|committers?|responders?|testers?|colleagues?|coworkers?|co-workers?|someone|somebody|(?:team|staff|crew) members?|personnel|staff|management|managers?|author|commander|support agents?|dbas?|individuals?|whoever)";

/// Roles that a system may have too: only a verb that no system has makes them people.
const SHARED: &str = r"(?:operators?|admins?|maintainers?|authors|owners?|teams?|leads?|architects?|sres?|qa|devs?|ops|leadership|vendors?)";

/// What may stand between the subject and its verb.
const AUX: &str = r"(?:\s*,?\s*(?:had|has|have|also|then|again|simply|apparently|clearly|just|either|both|initially|repeatedly|subsequently|later|who|never|on duty|on shift|in charge|responsible|at the time|obviously|completely|totally|somehow|unfortunately))*\s+";

/// Verbs of care: what only people fail to do.
const CARE: &str = r"(?:check|double-?check|test|review|notice|verify|follow|read|update|communicate|notify|document|escalate|realise|realize|understand|consider|anticipate|account|catch|respond|react|ask|tell|inform|validate|remember|look|think|recogni[sz]e|spot|see|pay|take|warn|coordinate|consult|question|investigate|acknowledge|appreciate|foresee|plan|train|do (?:his|her|their)|carry out|perform|ensure|include|add|set|copy|run|transmit|configure|enable|disable|remove|restart|revert|follow up|raise|report|mention|follow through)";

static FORGOT: &str = r"(?:forgot(?:ten)?|forgets|neglect(?:ed|s) to|neglected|omitted to|overlooked|did(?:n['’]t| not) (?:even )?(?:bother|care|pay attention|think|follow|read|check|test|verify|review|ask|tell|communicate|document|escalate|consider|remember|do (?:his|her|their) job|look)|(?:was|were) (?:too |so |simply |just )?(?:careless|negligent|sloppy|lazy|inattentive|reckless|irresponsible|incompetent|at fault|to blame|distracted|not paying attention)|made (?:a|an|the|another|several|some) (?:\w+ )?(?:mistakes?|errors?|blunder)|messed up|screwed up|botched|blew it|dropped the ball|(?:mistakenly|accidentally|inadvertently|carelessly|erroneously|negligently|unintentionally|recklessly|foolishly|blindly|wrongly)\s+\w+(?:ed|ote|ook|ran|an|ut|ent|ade|oke|id|old|ew|opped)\b)";

const SHOULD: &str = r"(?:(?:should(?:n['’]t| not| never)?|ought(?: not)? to)(?:\s+\w+ly)? have|should['’]ve)\s+(?:\w+ly\s+|at least\s+|never\s+|also\s+|probably\s+)?(?:been (?:more |much more |better |extra )?(?:careful|attentive|aware|diligent|cautious|thorough|vigilant|paying|prepared|alert)|checked|double-?checked|tested|noticed|known|caught|reviewed|asked|told|verified|read|remembered|communicated|escalated|paid|seen|realised|realized|spotted|validated|followed|documented|informed|notified|waited|thought|looked|understood|anticipated|considered|run|used|added|done|updated|prevented|avoided|questioned|investigated|reacted|responded|warned|consulted|merged|approved|deployed|pushed|shipped|reported|flagged|raised|rejected|foreseen|tried|written|taken|stopped|reverted|rolled)\b";

const COULD: &str = r"(?:could|would)(?: easily| simply)? have\s+(?:easily |simply )?(?:prevented|avoided|caught|noticed|seen|spotted|checked|known)\b(?: (?:this|it|that|the))?";

static ROLES: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(r"\b({ROLE}){AUX}(?:{FORGOT}|failed to \w+|fails to \w+|{SHOULD}|{COULD})"))
});

static SHARED_ROLES: LazyLock<Regex> =
    LazyLock::new(|| re(&format!(r"\b({SHARED}){AUX}(?:{FORGOT}|failed to {CARE}\b|{SHOULD}|{COULD})")));

static PRONOUNS: LazyLock<Regex> =
    LazyLock::new(|| re(&format!(r"\b(he|she|you){AUX}(?:{FORGOT}|failed to \w+|{SHOULD}|{COULD})")));

static I: LazyLock<Regex> =
    LazyLock::new(|| re_case(&format!(r"\b(I){AUX}(?:{FORGOT}|failed to \w+|{SHOULD})")));

/// "We should have caught this" is allowed; that we forgot is a lapse all the same.
static WE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(we|they)\s+(?:also |then |simply |just |all |had |have )*(?:forgot(?:ten)?|neglected to|(?:was|were) (?:careless|negligent|sloppy|lazy|reckless|incompetent)|messed up|screwed up|dropped the ball|did(?:n['’]t| not) (?:bother|care))\b",
    )
});

static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    re_case(&format!(
        r"(?:^|[\s(,;:])(@[\w.-]+|[\p{{Lu}}][\p{{Ll}}'’]+(?: [\p{{Lu}}][\p{{L}}'’.]*)?)(?i:{AUX}(?:{FORGOT}|failed to {CARE}\b|{SHOULD}|{COULD}))"
    ))
});

/// Names that are in no list: only what no system does.
static ANY_NAME: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"(?:^|[\s(,;:])([\p{Lu}][\p{Ll}'’]+(?: [\p{Lu}][\p{L}'’.]*)?)\s+(?i:(?:simply |just |also |had )?(?:forgot to|neglected to|did(?:n['’]t| not) bother|(?:was|were) (?:careless|negligent|sloppy|lazy|reckless|incompetent)|should have (?:known|remembered|paid attention|asked|been more careful|double-checked|read)))\b",
    )
});

static BUT: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"\b({ROLE}|operators?|he|she)\s[^.;:!?]{{1,70}}?,?\s(?:but|yet|and)\s+(?:then |also |still )*(?:forgot to|neglected to|failed to {CARE})\b"
    ))
});

static CAUSE_NOUN: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:(?:human|operator|pilot|personal) error|carelessness|negligence|incompetence|(?:engineer|developer|reviewer|operator|author|team|technician|employee|admin|colleague|intern)['’]s (?:own )?(?:mistake|fault|error|carelessness|negligence|oversight|failure)|(?:his|her) (?:own )?(?:mistake|fault|carelessness|negligence|oversight))\b",
    )
});

static POSSESSIVE: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"\b([\p{Lu}][\p{Ll}]+)['’]s? (?:own |careless |simple )?(?:mistake|fault|carelessness|negligence|oversight|incompetence|failure to)\b",
    )
});

/// Human error spoken of as a risk, a category or something one does not want to blame.
static AS_RISK: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"(?:prevent\w*|reduc\w+|risks?|prone|possib\w+|potential\w*|avoid\w*|room|eliminat\w+|minimi[sz]\w+|chances?|susceptib\w+|likelihood|protect\w*|guard\w*|against|rather|not|no|never|instead|blam\w+|scope|without|mitigat\w+|resilien\w+|toleran\w+|vulnerab\w+|detect\w*|catch\w*|if|any|limit\w*|open|opportunit\w+|possible|future|such|types?|kinds?|lead\w*)\b[^.;]{0,40}$",
    )
});

static HAD: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"\b(?:if|had) (?:the |our |an? )?({ROLE}|he|she|[a-z]+)(?: had)?(?: only| just| simply| actually)? (?:checked|double-checked|tested|read|followed|noticed|asked|paid (?:more )?attention|been (?:more )?(?:careful|attentive|diligent)|remembered|thought|listened)\b"
    ))
});

static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:nobody|no one|no-one|none of|never|not that|not because|not the|neither|without|whether|in case|unless|would any|could any|can any|so that no|even if)\b[^,;:]{0,30}$",
    )
});

/// Lapses that systems have as well: only with a person as the subject.
const LAPSED: &str = r"(?:missed|ignored|misread|misconfigured|misunderstood|mistyped|broke (?:the|it|this|our|production|main|master)|typed the wrong|(?:incorrectly|improperly|wrongly) configured)\b";

static LAPSES: LazyLock<Regex> = LazyLock::new(|| re(&format!(r"\b({ROLE}|he|she){AUX}{LAPSED}")));

static NAMED_LAPSES: LazyLock<Regex> = LazyLock::new(|| {
    re_case(&format!(
        r"(?:^|[\s(,;:])(@[\w.-]+|[\p{{Lu}}][\p{{Ll}}'’]+(?: [\p{{Lu}}][\p{{L}}'’.]*)?|I)(?i:{AUX}{LAPSED})"
    ))
});

/// The person stands behind the lapse.
static AGENT: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"\b(?:(?:was|were|been|got) (?:\w+ly )?(?:missed|forgotten|overlooked|ignored|misread|misconfigured|mistyped|broken|neglected|botched) by|(?:the )?fault of|blame (?:lies|rests) with) (?:the |our |an? )?({ROLE}|him|her|me|@[\w.-]+|[a-z]+)\b"
    ))
});

static RESPONSIBLE: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"\b({ROLE}|he|she|[a-z]+) (?:was|were|is) (?:solely |fully |directly )?responsible for (?:the|this) (?:outage|incident|failure|bug|mistake|error|crash|problem)\b"
    ))
});

/// They may be pods: only what no pod does.
static THEY: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(they) failed to (?:notice|review|ask|tell|communicate|escalate|consider|anticipate|reali[sz]e|understand|document|double-check|coordinate|consult|pay attention)\b",
    )
});

/// "Had the reviewer looked …", "If Alice had run …".
static OTHERWISE: LazyLock<Regex> = LazyLock::new(|| {
    const DONE: &str = r"(?:only |just |simply |actually )?(?:looked|run|reviewed|verified|known|escalated|waited|acted|checked|tested|read|followed|noticed|asked|listened)";
    re(&format!(
        r"(?:(?:^\W*|[,;:—–]\s*(?:and |but )?)had (?:the |our |an? )?({ROLE}|he|she|[a-z]+)|\bif (?:the |our |an? )?({ROLE}|he|she|[a-z]+) had) {DONE}\b"
    ))
});

/// A lapse whose subject or agent must be known to be a person: "the load tester missed its target" is none.
fn person_lapsed(sentence: &str) -> Option<(Range<usize>, Option<String>)> {
    const IN_FRONT: [&str; 26] = [
        "",
        "the",
        "a",
        "an",
        "our",
        "one",
        "their",
        "both",
        "senior",
        "junior",
        "first",
        "second",
        "other",
        "code",
        "and",
        "software",
        "release",
        "reliability",
        "duty",
        "two",
        "some",
        "these",
        "those",
        "but",
        "because",
        "that",
    ];
    let person = |who: &str| re_role().is_match(who) && !who.eq_ignore_ascii_case("management");
    for (n, regex) in
        [&*LAPSES, &*THEY, &*NAMED_LAPSES, &*AGENT, &*RESPONSIBLE, &*OTHERWISE].into_iter().enumerate()
    {
        for caps in regex.captures_iter(sentence) {
            let (Some(whole), Some(who)) = (caps.get(0), caps.get(1).or_else(|| caps.get(2))) else {
                continue;
            };
            let front = before(sentence, who.start(), 24).to_lowercase();
            let last = front.split_whitespace().next_back().unwrap_or_default();
            let clear = n > 2 || IN_FRONT.contains(&last.trim_end_matches(',')) && !front.ends_with('-');
            let name = who.as_str().split_whitespace().next().unwrap_or_default();
            let known = person(who.as_str())
                || matches!(name.to_lowercase().as_str(), "him" | "me" | "they")
                || name.eq_ignore_ascii_case("her") && !after_words(sentence, who.end())
                || name == "I"
                || name.starts_with('@')
                || name.starts_with(char::is_uppercase) && is_first_name(name);
            let machine = n == 3 && after_words(sentence, who.end());
            let named = n == 2;
            if known && (clear || named) && !machine && !DENIED.is_match(before(sentence, who.start(), 60)) {
                return Some((whole.range(), Some(who.as_str().to_owned())));
            }
        }
    }
    None
}

/// "by the reviewer bot", "by the developer-tools job": the role only qualifies a machine.
fn after_words(sentence: &str, end: usize) -> bool {
    static MACHINE: LazyLock<Regex> = LazyLock::new(|| {
        re(
            r"^(?:-|['’]s\b|\s(?:bot|job|tool|tools|tooling|script|service|portal|system|alert|alerts|rotation|pipeline|workflow|checks?|config\w*)\b)",
        )
    });
    MACHINE.is_match(&sentence[end..])
}

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    for (leaf, mask, _) in document.leaves() {
        if document.is_quotation(leaf) || mask.len() < 12 || !LAPSE.is_match(mask) {
            continue;
        }
        for range in leaf.prose.sentences() {
            let Some(sentence) = mask.get(range.clone()) else { continue };
            if sentence.trim_end().ends_with('?') || !LAPSE.is_match(sentence) {
                continue;
            }
            if let Some((at, who)) = blamed(sentence) {
                let plain = range.start + at.start..range.start + at.end;
                let message = match who {
                    Some(who) => format!("this blames {who}"),
                    None => "this gives a person's error as the cause".to_owned(),
                };
                findings
                    .add(leaf.prose.source(&plain), message)
                    .help("describe the gap: what let this happen, and what would have caught it");
            }
        }
    }
}

/// A quick look: without one of these words nothing below can match.
static LAPSE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"forg[eo]t|neglect|omitted|overlooked|fail(?:ed|s|ure) to|careless|negligen|sloppy|lazy|inattentive|reckless|irresponsible|incompeten|at fault|to blame|distracted|attention|mistake|blunder|messed up|screwed up|botched|blew it|dropped the ball|accidental|inadvertent|erroneous|unintentional|foolish|blindly|wrongly|missed|ignored|misread|misconf|misunderst|mistyped|typed the|incorrectly|improperly|broke|blame|responsible for|should|ought|could have|could easily|would have|did not|didn['’]t|error|fault|oversight|if |had ",
    )
});

/// The place in a sentence, and who is blamed.
fn blamed(sentence: &str) -> Option<(Range<usize>, Option<String>)> {
    let fine = |at: usize| DENIED.is_match(before(sentence, at, 60));
    for regex in [&*ROLES, &*PRONOUNS, &*I, &*SHARED_ROLES, &*WE, &*BUT] {
        for caps in regex.captures_iter(sentence) {
            let (Some(whole), Some(who)) = (caps.get(0), caps.get(1)) else { continue };
            let front = before(sentence, who.start(), 24).to_lowercase();
            let last = front.split_whitespace().next_back().unwrap_or_default();
            // "the Kubernetes operator", "a user", "review engineers' tools": not the team's people.
            let machine = matches!(last, "kubernetes" | "k8s" | "the-" | "bot" | "automated")
                || front.ends_with('-')
                || sentence[who.end()..].starts_with('-');
            let users = matches!(
                who.as_str().to_lowercase().as_str(),
                "individuals" | "developers" | "you" | "someone" | "somebody"
            ) && whole.as_str().to_lowercase().contains("failed to")
                && !whole.as_str().to_lowercase().contains("should");
            if !fine(who.start()) && !machine && !users {
                let article = if matches!(last, "the" | "an" | "a" | "our" | "one") {
                    format!("{last} ")
                } else {
                    String::new()
                };
                return Some((whole.range(), Some(format!("{article}{}", who.as_str()))));
            }
        }
    }
    for caps in NAMED.captures_iter(sentence) {
        let (Some(whole), Some(who)) = (caps.get(0), caps.get(1)) else { continue };
        let first = who.as_str().split_whitespace().next().unwrap_or_default();
        if (is_first_name(first) || first.starts_with('@')) && !fine(who.start()) {
            return Some((who.start()..whole.end(), Some(who.as_str().to_owned())));
        }
    }
    for caps in ANY_NAME.captures_iter(sentence) {
        const NO_NAME: [&str; 30] = [
            "nobody",
            "everyone",
            "everybody",
            "nothing",
            "it",
            "this",
            "that",
            "they",
            "we",
            "you",
            "which",
            "who",
            "there",
            "what",
            "he",
            "she",
            "i",
            "users",
            "customers",
            "people",
            "the",
            "a",
            "an",
            "and",
            "but",
            "if",
            "tests",
            "then",
            "one",
            "kubernetes",
        ];
        let (Some(whole), Some(who)) = (caps.get(0), caps.get(1)) else { continue };
        let first = who.as_str().split_whitespace().next().unwrap_or_default().to_lowercase();
        if !NO_NAME.contains(&first.as_str()) && !fine(who.start()) {
            return Some((who.start()..whole.end(), Some(who.as_str().to_owned())));
        }
    }
    if let Some(found) = person_lapsed(sentence) {
        return Some(found);
    }
    for caps in HAD.captures_iter(sentence) {
        let (Some(whole), Some(who)) = (caps.get(0), caps.get(1)) else { continue };
        let role = re_role().is_match(who.as_str());
        if role || is_first_name(who.as_str()) {
            return Some((whole.range(), Some(who.as_str().to_owned())));
        }
    }
    for caps in POSSESSIVE.captures_iter(sentence) {
        let (Some(whole), Some(who)) = (caps.get(0), caps.get(1)) else { continue };
        if is_first_name(who.as_str()) && !fine(whole.start()) {
            return Some((whole.range(), Some(who.as_str().to_owned())));
        }
    }
    let noun = CAUSE_NOUN.find_iter(sentence).find(|m| !AS_RISK.is_match(before(sentence, m.start(), 60)))?;
    let denied = before(sentence, noun.start(), 20).to_lowercase();
    (!denied.contains("not ") && !denied.contains("n't ")).then(|| (noun.range(), None))
}

fn re_role() -> &'static Regex {
    static ONLY: LazyLock<Regex> = LazyLock::new(|| re(&format!(r"^(?:{ROLE}|he|she)$")));
    &ONLY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_with_a_lapse_are_found() {
        for sentence in [
            "Bob forgot to run the tests.",
            "The on-call engineer should have noticed the alert.",
            "The reviewer failed to check the bounds.",
            "Alice Smith neglected the runbook.",
            "She didn't bother to read the docs.",
            "A technician failed to copy the file.",
            "An engineer mistakenly wiped the data directory.",
            "The outage was caused by human error.",
            "If the developer had only read the manual, this would not have happened.",
            "This was Bob's mistake.",
            "Due to the engineer's carelessness the disk was full.",
            "The platform team should have communicated this.",
            "A lead operator noticed the levels but failed to take action.",
            "Zbigniew forgot to rebase.",
            "I should have tested it.",
            "We forgot to renew the certificate.",
            "He was careless.",
            "@sam should have escalated.",
            "Maria could have prevented this.",
            "Had the reviewer looked at it, this would not have happened.",
            "If Alice had run the tests, this would not have happened.",
            "The overflow was missed by the reviewer.",
            "The flag was forgotten by Bob.",
            "The on-call engineer ignored the alert.",
            "Alice misconfigured the proxy.",
            "The developer typed the wrong host.",
            "The outage is the fault of the developer.",
            "The blame lies with the reviewer.",
            "Bob was responsible for the outage.",
            "They failed to notice the alert.",
        ] {
            assert!(blamed(sentence).is_some(), "{sentence}");
        }
    }

    #[test]
    fn systems_gaps_and_denials_are_not() {
        for sentence in [
            "The scheduler failed to start the pods.",
            "Kubernetes should have restarted it.",
            "We should have caught this.",
            "Nobody forgot anything; the job was never scheduled.",
            "The operator failed to reconcile the custom resource.",
            "Users failed to log in.",
            "The alert should have fired.",
            "The reviewer bot failed to post.",
            "Automation reduces the risk of human error.",
            "Engineers should have access to the dashboard.",
            "The engineers should have been paged by the monitor.",
            "Reviewers approved it, and the tests passed.",
            "This was not human error.",
            "Traffic should have been moved.",
            "The engineer restarted the node, which failed to come up.",
            "Redis failed to handle the failover.",
            "The scheduler missed the deadline.",
            "The probe ignored the error.",
            "The load tester missed its target.",
            "The alert was ignored by the reviewer bot.",
            "The packet was ignored by the kernel.",
            "Memory management ignored the limit.",
            "They failed to start.",
            "If the lock had run out, the job would have stopped.",
            "We had the reviewer run the tests.",
            "The loader was responsible for the outage.",
            "Nobody ignored the alert.",
            "On-call engineers were paged, but the page failed to load.",
            "Every item should have an owner, so that it is not forgotten.",
        ] {
            assert!(blamed(sentence).is_none(), "{sentence}: {:?}", blamed(sentence));
        }
    }
}

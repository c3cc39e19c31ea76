//! Which gates are due for a tip, and in whose version.
//!
//! On a protected ref the version that the ref already has decides: a push can add checks there, and it
//! cannot weaken one quietly. What it changes or removes is reported.

/// A gate of one version of the configuration, as far as it decides what is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its id.
    pub id: String,
    /// What it checks: the digest of its configuration, and of its oracle files where it has some.
    pub digest: String,
    /// Whether it is due whatever changed: it names no paths.
    pub always: bool,
    /// The first changed path that one of its globs matches.
    pub touched: Option<String>,
}

/// Whose version of a gate runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// That of the commit which is judged.
    Own,
    /// That of the protected branch.
    Protected,
}

/// What a push does to a gate of a protected branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It changes it.
    Changed,
    /// It removes it.
    Removed,
}

impl Change {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Changed => "changes",
            Self::Removed => "removes",
        }
    }
}

/// A gate that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Its id.
    pub id: String,
    /// In whose version.
    pub version: Version,
    /// Why, in words.
    pub because: String,
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What has to pass, in the order of the files, the protected version's first.
    pub due: Vec<Due>,
    /// What the push does to the protected branch's gates.
    pub changes: Vec<(String, Change)>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question<'a> {
    /// The gates of the commit that is judged.
    pub own: &'a [Rule],
    /// Those of the protected branch, when the commit is to go there.
    pub protected: Option<&'a [Rule]>,
    /// Whether a commit on the way is linked as a fix: then everything is due.
    pub linked_fix: bool,
    /// Only these gates, due or not; empty for all that are due.
    pub only: &'a [String],
}

/// Decides.
pub fn plan(question: Question<'_>) -> Plan {
    let mut plan = Plan::default();
    let protected = question.protected.unwrap_or_default();
    for rule in protected {
        let version = match question.own.iter().find(|own| own.id == rule.id) {
            Some(own) if own.digest == rule.digest => Version::Own,
            Some(_) => {
                plan.changes.push((rule.id.clone(), Change::Changed));
                Version::Protected
            }
            None => {
                plan.changes.push((rule.id.clone(), Change::Removed));
                Version::Protected
            }
        };
        // What the changed gate would look at counts, too: its paths may be all that was changed.
        let own = question.own.iter().find(|own| own.id == rule.id);
        let because = reason(rule, question).or_else(|| own.and_then(|own| reason(own, question)));
        plan.due.extend(because.map(|because| Due { id: rule.id.clone(), version, because }));
    }
    for rule in question.own {
        if protected.iter().any(|known| known.id == rule.id) {
            continue;
        }
        plan.due.extend(reason(rule, question).map(|because| Due {
            id: rule.id.clone(),
            version: Version::Own,
            because,
        }));
    }
    plan
}

fn reason(rule: &Rule, question: Question<'_>) -> Option<String> {
    if !question.only.is_empty() {
        return question.only.contains(&rule.id).then(|| "asked for".to_owned());
    }
    if rule.always {
        return Some("always".to_owned());
    }
    if let Some(path) = &rule.touched {
        return Some(format!("{path} changed"));
    }
    question.linked_fix.then(|| "a commit is linked as a fix".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(id: &str, digest: &str, always: bool, touched: Option<&str>) -> Rule {
        Rule { id: id.into(), digest: digest.into(), always, touched: touched.map(str::to_owned) }
    }

    fn ids(plan: &Plan) -> Vec<(&str, Version)> {
        plan.due.iter().map(|d| (d.id.as_str(), d.version)).collect()
    }

    #[test]
    fn paths_and_fixes_make_a_gate_due() {
        let own =
            [rule("a", "1", false, None), rule("b", "1", false, Some("k/x")), rule("c", "1", true, None)];
        let question = Question { own: &own, ..Question::default() };
        assert_eq!(ids(&plan(question)), [("b", Version::Own), ("c", Version::Own)]);
        let fix = Question { linked_fix: true, ..question };
        assert_eq!(plan(fix).due.len(), 3);
        let only = ["a".to_owned()];
        assert_eq!(ids(&plan(Question { only: &only, ..question })), [("a", Version::Own)]);
    }

    #[test]
    fn a_protected_branch_keeps_its_gates() {
        let own =
            [rule("kept", "1", true, None), rule("weak", "2", false, None), rule("new", "1", true, None)];
        let protected =
            [rule("kept", "1", true, None), rule("weak", "1", true, None), rule("gone", "1", true, None)];
        let plan = plan(Question { own: &own, protected: Some(&protected), ..Question::default() });
        assert_eq!(
            ids(&plan),
            [
                ("kept", Version::Own),
                ("weak", Version::Protected),
                ("gone", Version::Protected),
                ("new", Version::Own)
            ]
        );
        assert_eq!(
            plan.changes,
            [("weak".to_owned(), Change::Changed), ("gone".to_owned(), Change::Removed)]
        );
    }

    fn rules() -> impl Strategy<Value = Vec<Rule>> {
        let one = ("[a-d]", "[12]", any::<bool>(), prop::option::of("[xy]"));
        prop::collection::vec(one, 0..5).prop_map(|all| {
            let mut rules: Vec<Rule> = Vec::new();
            for (id, digest, always, touched) in all {
                if !rules.iter().any(|r| r.id == id) {
                    rules.push(Rule { id, digest, always, touched });
                }
            }
            rules
        })
    }

    proptest! {
        #[test]
        fn a_push_can_only_add_to_what_is_due(own in rules(), protected in rules(), linked_fix in any::<bool>()) {
            let with = plan(Question { own: &own, protected: Some(&protected), linked_fix, only: &[] });
            let alone = plan(Question { own: &protected, protected: None, linked_fix, only: &[] });
            for due in &alone.due {
                let found = with.due.iter().filter(|d| d.id == due.id).collect::<Vec<_>>();
                prop_assert_eq!(found.len(), 1);
                let same = own.iter().any(|o| o.id == due.id && protected.iter().any(|p| p.id == o.id && p.digest == o.digest));
                prop_assert_eq!(found[0].version == Version::Own, same);
            }
        }
    }
}

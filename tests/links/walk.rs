//! A walk through a repository with a fixed seed: attempts, amends, rebases, picks, squashes in any order. Each attempt
//! adds a line of its own, so that what a commit holds can be read from the commit.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Numbers that look like chance and are the same every time (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).expect("a small number")
    }
}

struct Walk {
    bench: Bench,
    dice: Dice,
    /// The role of each attempt.
    roles: BTreeMap<u64, &'static str>,
    /// Attempts that a squash of a branch may name although their lines were there before.
    squashed: BTreeSet<u64>,
}

const SLOTS: usize = 40;

impl Walk {
    fn new(seed: u64) -> Self {
        let bench = Bench::new();
        let slot = |s: usize| format!("slot {s}\na{s}\nb{s}\nc{s}\nd{s}\n");
        let text = (0..SLOTS).map(slot).collect::<Vec<_>>().concat();
        bench.repo.write("kernel.cu", &text);
        bench.plain("Slots");
        Self { bench, dice: Dice(seed), roles: BTreeMap::new(), squashed: BTreeSet::new() }
    }

    /// A line at a place of its own, so that few commits are in each other's way.
    fn put(&mut self, line: &str) {
        let slot = format!("c{}", self.dice.below(SLOTS));
        let text = self.bench.repo.read("kernel.cu");
        self.bench.repo.write("kernel.cu", &text.replace(&format!("{slot}\n"), &format!("{slot}\n{line}\n")));
    }

    fn attempt(&mut self) {
        let n = self.roles.len() as u64 + 1;
        let (end, role) = [("--worked", "fix"), ("--failed", "failed")][self.dice.below(2)];
        self.bench.repo.incident(&["attempt", "start", "-H", &format!("attempt number {n}")]).expect(0);
        self.put(&format!("mark-{n}"));
        self.bench.git(&["commit", "-q", "-a", "-m", &format!("Attempt {n}")]);
        self.bench.repo.incident(&["attempt", "end", end, "-m", "told"]).expect(0);
        self.roles.insert(n, role);
    }

    fn branches(&self) -> Vec<String> {
        let text = self.bench.repo.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        text.lines().map(str::to_owned).collect()
    }

    fn any_branch(&mut self) -> String {
        let all = self.branches();
        all[self.dice.below(all.len())].clone()
    }

    /// What may meet a conflict; then nothing has happened.
    fn risky(&self, arguments: &[&str], editor: &str) -> bool {
        let went = self.bench.try_git(arguments, &[("GIT_SEQUENCE_EDITOR", editor)]).status == 0;
        if !went {
            for what in ["rebase", "cherry-pick"] {
                let _ = self.bench.try_git(&[what, "--abort"], &[]);
            }
            self.bench.git(&["reset", "-q", "--hard"]);
        }
        went
    }

    fn step(&mut self) -> String {
        let depth = self.bench.git(&["rev-list", "--count", "HEAD"]).parse::<usize>().expect("a number");
        let back = format!("HEAD~{}", (2 + self.dice.below(4)).min(depth - 2));
        match self.dice.below(9) {
            0..=2 => {
                self.attempt();
                "attempt".into()
            }
            3 => {
                self.put("more");
                self.bench.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
                "amend".into()
            }
            4 => {
                let (line, word) = (2 + self.dice.below(2), ["fixup", "squash", "drop"][self.dice.below(3)]);
                let todo = format!(r#"sh -c 'sed "{line}s/^pick/{word}/" "$1" >"$1.n"; mv "$1.n" "$1"' x"#);
                let went = self.risky(&["rebase", "-q", "-i", &back], &todo);
                format!("rebase -i {back}, line {line} {word}: {went}")
            }
            5 => {
                let name = format!("b{}", self.bench.clock.get());
                self.bench.git(&["checkout", "-q", "-b", &name, &back]);
                format!("branch {name} at {back}")
            }
            6 => {
                let to = self.any_branch();
                self.bench.git(&["checkout", "-q", &to]);
                let onto = self.any_branch();
                let went = self.risky(&["rebase", "-q", &onto], "true");
                format!("rebase {to} onto {onto}: {went}")
            }
            7 => {
                let from = self.any_branch();
                let x = ["-x", "--no-gpg-sign"][self.dice.below(2)];
                let went = self.risky(&["cherry-pick", x, &from], "true");
                format!("pick {x} {from}: {went}")
            }
            _ => {
                let from = self.any_branch();
                let listed = self.bench.repo.git(&["rev-list", &format!("HEAD..{from}")]);
                let held: Vec<u64> = listed.lines().flat_map(|c| self.held(c)).collect();
                let went = self.risky(&["merge", "-q", "--squash", &from], "true")
                    && self.risky(&["commit", "-q", "--no-edit"], "true");
                self.squashed.extend(held.iter().filter(|_| went));
                format!("squash {from}: {went}")
            }
        }
    }

    /// The attempts whose lines a commit adds.
    fn held(&self, commit: &str) -> Vec<u64> {
        let patch = self.bench.repo.git(&["show", "--format=", "-U0", commit]);
        patch.lines().filter_map(|l| l.strip_prefix("+mark-")?.parse().ok()).collect()
    }

    #[track_caller]
    fn check(&self, step: &str, known: &mut BTreeSet<(String, u64)>) {
        let links = self.bench.links();
        for (commit, role, n) in links.iter().filter(|l| l.1 != "related") {
            assert_eq!(
                self.roles.get(n),
                Some(&role.as_str()),
                "{step}: attempt {n}\n{}",
                self.bench.graph()
            );
            let fits = known.contains(&(commit.clone(), *n)) || self.held(commit).contains(n);
            assert!(
                fits || self.squashed.contains(n),
                "{step}: {commit} is no {role} of attempt {n}\n{}",
                self.bench.graph()
            );
            known.insert((commit.clone(), *n));
        }
        for commit in self.bench.repo.git(&["rev-list", "--branches", "--no-merges"]).lines() {
            for n in self.held(commit) {
                let linked =
                    links.iter().any(|(c, role, m)| c == commit && *m == n && role == self.roles[&n]);
                assert!(linked, "{step}: {commit} lost attempt {n}: {links:?}\n{}", self.bench.graph());
            }
        }
    }
}

#[test]
fn no_link_is_lost_or_wrong_on_a_long_walk() {
    for seed in [7, 20_261_121] {
        let mut walk = Walk::new(seed);
        (0..3).for_each(|_| walk.attempt());
        let mut known = BTreeSet::new();
        for n in 0..30 {
            let step = walk.step();
            walk.check(&format!("seed {seed}, step {n}, {step}"), &mut known);
        }
    }
}

//! What git tells a `pre-push` hook on standard input: one line for each ref that is pushed.

use crate::model::Oid;

/// No line that git writes is longer, in bytes; a longer one is not read.
const MAX_LINE: usize = 64 * 1024;

/// One ref that is pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The local ref, or whatever the user wrote: `HEAD~1`, an object id, `(delete)`.
    pub local_ref: String,
    /// What is pushed; zero for a deletion.
    pub local: Oid,
    /// The full name of the remote's ref.
    pub remote_ref: String,
    /// What the remote has there, as it says; zero when the ref is new.
    pub remote: Oid,
}

/// What to do about an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    /// Its tip is judged.
    Judge,
    /// A deletion: there is nothing to judge.
    Deletion,
    /// One of the two travelling notes refs: the notebook itself.
    Notebook,
}

impl Update {
    /// What to do about it.
    pub fn matter(&self) -> Matter {
        if self.local.is_zero() {
            Matter::Deletion
        } else if self.remote_ref.starts_with("refs/notes/incidents") {
            Matter::Notebook
        } else {
            Matter::Judge
        }
    }

    /// What the remote has there; `None` when the ref is new.
    pub fn former(&self) -> Option<&Oid> {
        (!self.remote.is_zero()).then_some(&self.remote)
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Push {
    /// The updates, in git's order.
    pub updates: Vec<Update>,
    /// Numbers of lines (from 1) that are not what git writes: a push with such a line cannot be judged.
    pub strange: Vec<usize>,
}

/// Reads all of it. Total: whatever is no update is reported as strange.
pub fn parse(input: &[u8]) -> Push {
    let mut push = Push::default();
    for (index, line) in input.split(|b| *b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        match update(line) {
            Some(update) => push.updates.push(update),
            None => push.strange.push(index + 1),
        }
    }
    push
}

/// Ref names hold no spaces, but what the user wrote as the source may (`HEAD@{2 days ago}`), so the
/// three fields behind it are taken from the end.
fn update(line: &[u8]) -> Option<Update> {
    if line.len() > MAX_LINE {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    let mut fields = text.rsplitn(4, ' ');
    let remote = Oid::parse(fields.next()?)?;
    let remote_ref = fields.next().filter(|name| !name.is_empty())?.to_owned();
    let local = Oid::parse(fields.next()?)?;
    let local_ref = fields.next()?.to_owned();
    Some(Update { local_ref, local, remote_ref, remote })
}

/// Whether the push goes to a bare URL: git then passes it as the remote's name, too.
pub fn is_url(remote_name: &str, url: &str) -> bool {
    !remote_name.is_empty() && remote_name == url
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";
    const ZERO: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn every_line_is_read() {
        let input = format!(
            "refs/heads/a {ONE} refs/heads/main {TWO}\n\
             (delete) {ZERO} refs/heads/gone {TWO}\n\
             refs/tags/v1 {ONE} refs/tags/v1 {ZERO}\n\
             refs/notes/incidents {ONE} refs/notes/incidents {TWO}\n\
             refs/notes/incidents-evidence {ONE} refs/notes/incidents-evidence {TWO}\n\
             HEAD@{{2 days ago}} {ONE} refs/heads/old {TWO}"
        );
        let push = parse(input.as_bytes());
        let matters: Vec<Matter> = push.updates.iter().map(Update::matter).collect();
        assert_eq!(
            matters,
            [
                Matter::Judge,
                Matter::Deletion,
                Matter::Judge,
                Matter::Notebook,
                Matter::Notebook,
                Matter::Judge
            ]
        );
        assert_eq!(push.updates[2].former(), None);
        assert_eq!(push.updates[5].local_ref, "HEAD@{2 days ago}");
        assert!(push.strange.is_empty());
    }

    #[test]
    fn nothing_pushed_and_strange_lines() {
        assert_eq!(parse(b""), Push::default());
        let push = parse(format!("nonsense\n\nrefs/heads/a {ONE} refs/heads/b xyz\n").as_bytes());
        assert_eq!(push.strange, [1, 3]);
    }

    #[test]
    fn a_url_stands_for_itself() {
        assert!(is_url("ssh://host/x", "ssh://host/x"));
        assert!(!is_url("origin", "ssh://host/x"));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let push = parse(&bytes);
            let lines = bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty() && *l != b"\r").count();
            prop_assert_eq!(push.updates.len() + push.strange.len(), lines);
        }

        #[test]
        fn what_git_writes_is_read_back(local_ref in "[a-z/ {}@~^0-9]{1,30}", name in "refs/[a-z/]{1,20}", a in "[0-9a-f]{40}", b in "[0-9a-f]{64}") {
            let push = parse(format!("{local_ref} {a} {name} {b}\n").as_bytes());
            prop_assert_eq!(push.updates.len(), 1);
            prop_assert_eq!(&push.updates[0].local_ref, &local_ref);
            prop_assert_eq!(&push.updates[0].remote_ref, &name);
        }
    }
}

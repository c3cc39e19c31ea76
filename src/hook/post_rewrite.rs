//! `post-rewrite`: links follow commits through amend and rebase. It may run twice for one rewrite.

use crate::model::{Oid, Result};
use crate::session::Session;

use super::{Line, Say, Tone};

/// Reads `old new` lines and moves what is linked.
///
/// # Errors
/// The repository cannot be read or written; the rewrite is done all the same.
pub fn run(session: &Session, input: &[u8], say: Say<'_>) -> Result<()> {
    for (id, moved) in session.follow_rewrites(&pairs(input))? {
        say(Line::new(
            Tone::Quiet,
            format!("{moved} link(s) of incident {} followed the rewrite", id.short()),
        ));
    }
    Ok(())
}

/// `old SP new [SP extra]`, as githooks(5) says. Whatever else stands there is passed over.
fn pairs(input: &[u8]) -> Vec<(Oid, Oid)> {
    String::from_utf8_lossy(input)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (old, new) = (Oid::parse(fields.next()?)?, Oid::parse(fields.next()?)?);
            (old != new && !new.is_zero()).then_some((old, new))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_git_writes() {
        let (a, b) = ("1".repeat(40), "2".repeat(40));
        let input = format!("{a} {b}\n{b} {a} extra words\nnonsense\n{a} {a}\n{a} {}\n", "0".repeat(40));
        assert_eq!(pairs(input.as_bytes()).len(), 2);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = pairs(&bytes);
        }
    }
}

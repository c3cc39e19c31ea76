//! `core.fsync`, which libgit2 ignores.
//!
//! git syncs what the setting names before it says "done"; libgit2 has one global switch for objects and
//! refs together. We set the switch whenever the repository asks for either: never less than was asked.

use super::Repo;

/// What a repository asks to be synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// Loose objects.
    pub objects: bool,
    /// Refs.
    pub references: bool,
}

/// Reads a value of `core.fsync` as git does: names added to, or with `-` taken from, the default, which
/// holds neither loose objects nor refs.
pub fn parse(value: &str) -> Asked {
    let mut asked = Asked::default();
    let mut negative = Asked::default();
    for word in value.split(',').map(str::trim) {
        let (target, name) = match word.strip_prefix('-') {
            Some(name) => (&mut negative, name),
            None => (&mut asked, word),
        };
        match name {
            "none" => *target = Asked::default(),
            "loose-object" | "objects" => target.objects = true,
            "reference" => target.references = true,
            "committed" | "added" | "all" => *target = Asked { objects: true, references: true },
            _ => {}
        }
    }
    Asked {
        objects: asked.objects && !negative.objects,
        references: asked.references && !negative.references,
    }
}

/// Makes libgit2 sync what this repository asks for, from now on in this process.
pub fn honour(repo: &Repo) {
    let asked = match repo.config_string("core.fsync") {
        Some(value) => parse(&value),
        None => {
            Asked { objects: repo.config_bool("core.fsyncObjectFiles").unwrap_or(false), references: false }
        }
    };
    if asked.objects || asked.references {
        #[expect(
            unsafe_code,
            reason = "git2 has no safe wrapper for this option; it only sets a global flag"
        )]
        // SAFETY: the call takes the option and one int, as libgit2's header says, and libgit2 is initialised,
        // since a repository is open.
        unsafe {
            libgit2_sys::git_libgit2_opts(libgit2_sys::GIT_OPT_ENABLE_FSYNC_GITDIR as i32, 1_i32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_git_does() {
        let both = Asked { objects: true, references: true };
        assert_eq!(parse("all"), both);
        assert_eq!(parse("committed,-loose-object"), Asked { objects: false, references: true });
        assert_eq!(parse("reference"), Asked { objects: false, references: true });
        assert_eq!(parse("none"), Asked::default());
        assert_eq!(parse("default"), Asked::default());
    }
}

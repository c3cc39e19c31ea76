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

/// Reads a value of `core.fsync` as git does: the default without what a `-` takes from it, and with what is named.
///
/// The default holds neither loose objects nor refs, and a name counts even where a `-` names it too (git 2.47,
/// measured in `tests/crashes.rs`): so only the names without `-` matter here.
pub fn parse(value: &str) -> Asked {
    let mut asked = Asked::default();
    for name in value.split(',').map(str::trim) {
        match name {
            "loose-object" | "objects" => asked.objects = true,
            "reference" => asked.references = true,
            "committed" | "added" | "all" => asked = Asked { objects: true, references: true },
            _ => {}
        }
    }
    asked
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
        assert_eq!(parse("committed,-loose-object"), both);
        assert_eq!(parse("-reference"), Asked::default());
        assert_eq!(parse("reference"), Asked { objects: false, references: true });
        assert_eq!(parse("none"), Asked::default());
        assert_eq!(parse("default"), Asked::default());
    }
}

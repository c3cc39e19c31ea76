//! The subcommands, one file each. To add one: write its file, and name it in the list below.

use crate::model::Result;

use super::Reply;

macro_rules! commands {
    ($($(#[doc = $doc:literal])+ $(#[command($($attribute:tt)*)])? $module:ident => $variant:ident),+ $(,)?) => {
        $(pub mod $module;)+

        /// A subcommand and its arguments.
        #[derive(Debug, clap::Subcommand)]
        pub enum Command {
            $($(#[doc = $doc])+ $(#[command($($attribute)*)])? $variant($module::Args)),+
        }

        /// Does it.
        ///
        /// # Errors
        /// Whatever the command refuses.
        pub fn run(command: Command, json: bool) -> Result<Reply> {
            match command { $(Command::$variant(args) => $module::run(args, json)),+ }
        }
    };
}

commands! {
    /// Open an incident and make it the active one
    open => Open,
    /// List incidents
    list => List,
    /// Show an incident: attempts, differences, cause, repro, links, evidence
    show => Show,
    /// Make an incident the active one in this worktree
    #[command(name = "use")]
    use_incident => Use,
    /// Reopen a closed incident
    reopen => Reopen,
    /// What to try next: list, add, done, drop
    next => Next,
    /// The table of key differences between a working and a broken case
    difference => Difference,
    /// Print shell completions
    completions => Completions,
    /// Print or install manual pages
    man => Man,
    /// Run the gates that are due for a commit, or find what they said before
    validate => Validate,
    /// Look at the commands of the configuration and approve them
    trust => Trust,
    /// Install the hooks and settings in this repository, or remove them
    init => Init,
    /// What the installed hooks call
    #[command(hide = true)]
    hook => Hook,
}

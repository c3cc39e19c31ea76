//! The subcommands, one file each. To add one: write its file, name its module, and name it in the list below.

pub mod attempt;
pub mod budget;
pub mod cause;
pub mod close;
pub mod compare;
pub mod completions;
pub mod demo;
pub mod device;
pub mod difference;
pub mod doctor;
pub mod edit;
pub mod evidence;
pub mod export;
pub mod fsck;
pub mod hook;
pub mod import;
pub mod init;
pub mod launch;
pub mod link;
pub mod list;
pub mod man;
pub mod next;
pub mod open;
pub mod postmortem;
pub mod pr;
pub mod purge;
pub mod relink;
pub mod reopen;
pub mod repro;
pub mod search;
pub mod show;
pub mod status;
pub mod sync;
pub mod tried;
pub mod trust;
pub mod try_command;
pub mod use_incident;
pub mod validate;
pub mod why;

use crate::model::Result;

use super::Reply;

macro_rules! commands {
    ($($(#[doc = $doc:literal])+ $(#[command($($attribute:tt)*)])? $module:ident => $variant:ident),+ $(,)?) => {
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
    /// Show what is active, what is missing, and what comes next
    status => Status,
    /// Was this tried before? Exits with 3 when it was and did not fix the bug
    tried => Tried,
    /// Look through everything that incidents and attempts say
    search => Search,
    /// Make an incident the active one in this worktree
    #[command(name = "use")]
    use_incident => Use,
    /// Change what is said of an incident
    edit => Edit,
    /// Close an incident: resolved, blocked (with evidence), or wont-fix
    close => Close,
    /// Reopen a closed incident
    reopen => Reopen,
    /// Start, note and end attempts
    attempt => Attempt,
    /// Run a command and record it; with -H it is a whole attempt in one line
    #[command(name = "try")]
    try_command => Try,
    /// What to try next: list, add, done, drop
    next => Next,
    /// The table of key differences between a working and a broken case
    difference => Difference,
    /// Propose, reject and confirm the root cause
    cause => Cause,
    /// The command that shows the bug, and how often it does
    repro => Repro,
    /// Store files with the incident, list, show and verify them
    evidence => Evidence,
    /// Share the ledgers: fetch, unite and push until it lands
    sync => Sync,
    /// Erase files, texts or a person for good
    purge => Purge,
    /// Link a commit to the incident
    link => Link,
    /// Find what became of linked commits after rewrites, and what messages ask for; --apply makes what is certain
    relink => Relink,
    /// Which incidents touched a file, a line or a function, what was tried there, and how it ended
    why => Why,
    /// Show the budget, or record time and money spent elsewhere
    budget => Budget,
    /// Read Markdown debug logs into the ledger
    import => Import,
    /// Print an incident as a Markdown debug log, or its ledger as JSON lines
    export => Export,
    /// Draft the post-mortem from what was recorded
    postmortem => Postmortem,
    /// Print the text of a draft pull request, or open it on GitHub with --open
    pr => Pr,
    /// Run the gates that a commit must pass
    validate => Validate,
    /// Compare two tensors: do they match, how far are they apart, where
    compare => Compare,
    /// Show and approve the commands that this repository's configuration can run
    trust => Trust,
    /// Check that ledgers, evidence and records are whole; --repair puts right what can be
    fsck => Fsck,
    /// Install hooks, fetch settings and note display; --uninstall takes them out
    init => Init,
    /// Find what can go wrong without anybody noticing, and the command that mends it
    doctor => Doctor,
    /// Called by git's hooks
    #[command(hide = true)]
    hook => Hook,
    /// Look at the GPUs that this program can use
    #[command(hide = true)]
    device => Device,
    /// Called by gates of kind `kernel`
    #[command(hide = true)]
    launch => Launch,
    /// A whole incident in a scratch repository: no GPU, network, compiler or configuration
    demo => Demo,
    /// Print shell completions
    completions => Completions,
    /// Print or install manual pages
    man => Man,
}

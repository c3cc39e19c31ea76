//! Row 5: what git calls, one file per hook. Nothing prints here: what is to be said goes through [`Say`].
//!
//! | hook | may stop the user | does |
//! |---|---|---|
//! | [`commit_msg`] | for an id that is certainly wrong | adds and checks the trailers |
//! | [`pre_push`] | as the policy says | looks gates up, runs the fast ones |
//! | [`post_commit`] | never | links a commit with our trailers |
//! | [`post_rewrite`] | never | lets links follow |

pub mod commit_msg;
pub mod post_commit;
pub mod post_rewrite;
pub mod pre_push;
pub mod table;

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// Beside the point.
    Quiet,
    /// Good.
    Good,
    /// Bad.
    Bad,
    /// To look at.
    Look,
}

/// A line for the person at the terminal, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// How it is meant.
    pub tone: Tone,
    /// The text.
    pub text: String,
}

impl Line {
    /// A line.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: text.into() }
    }
}

/// Where lines go, at once.
pub type Say<'a> = &'a mut dyn FnMut(Line);

/// Says an error as lines.
pub(crate) fn say_error(say: Say<'_>, tone: Tone, error: &crate::model::Error) {
    say(Line::new(tone, error.what()));
    for cause in error.causes() {
        say(Line::new(Tone::Plain, format!("  because: {cause}")));
    }
    for hint in error.hints() {
        say(Line::new(Tone::Look, format!("  hint: {hint}")));
    }
}

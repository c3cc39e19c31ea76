//! The up-the-org version of a post-mortem, from the document's own words: sentences are chosen, never made.
//!
//! Names of products, tickets and pull requests stay; functions, paths, commits, line numbers and code go. What cannot
//! be said without them is left for the writer, with the line where it stands. Nothing here posts anything.

mod plain;
mod shapes;
mod slots;
mod system;

#[cfg(test)]
mod tests;

pub use plain::holds_code;
use slots::Slots;

/// Where the brief goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// A comment on a ticket.
    Ticket,
    /// A message in a chat.
    Chat,
    /// A line or three for a stand-up.
    Standup,
    /// An e-mail.
    Email,
    /// Talking points.
    Meeting,
}

impl Channel {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ticket, Self::Chat, Self::Standup, Self::Email, Self::Meeting];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::Chat => "chat",
            Self::Standup => "standup",
            Self::Email => "email",
            Self::Meeting => "meeting",
        }
    }

    /// The most words it takes.
    pub fn most_words(self) -> usize {
        match self {
            Self::Ticket => 250,
            Self::Chat => 79,
            Self::Standup => 60,
            Self::Email => 300,
            Self::Meeting => 180,
        }
    }
}

/// Something that the writer has to say in their own words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// The line of the document, from 1; 0 when the document does not say it at all.
    pub line: usize,
    /// What it is about, and why it was left.
    pub why: String,
}

/// A brief.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    /// The text, a newline at its end.
    pub text: String,
    /// Its words, counted between white space.
    pub words: usize,
    /// What is left for the writer, in the order of the document.
    pub left: Vec<Left>,
}

/// Makes a brief of a document.
pub fn brief(markdown: &str, channel: Channel) -> Brief {
    let slots = Slots::read(markdown);
    let (text, mut left) = shapes::shape(&slots, channel);
    left.sort();
    left.dedup();
    let words = text.split_whitespace().count();
    Brief { text, words, left }
}

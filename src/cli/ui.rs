//! What a person sees: text with a few styles, made safe, paged, coloured when the terminal wants it.
//!
//! Text from ledgers, logs and remotes never reaches a terminal with its control characters: everything that
//! is printed goes through [`Text`], and styles are added after the cleaning.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use crate::model::Error;

/// How a piece of text looks on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// A heading or a name.
    Bold,
    /// Beside the point.
    Dim,
    /// Good.
    Green,
    /// Bad.
    Red,
    /// To look at.
    Yellow,
    /// An identifier.
    Cyan,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\u{1b}[1m",
            Self::Dim => "\u{1b}[2m",
            Self::Green => "\u{1b}[32m",
            Self::Red => "\u{1b}[31m",
            Self::Yellow => "\u{1b}[33m",
            Self::Cyan => "\u{1b}[36m",
        }
    }
}

/// Text to be shown.
#[derive(Debug, Clone, Default)]
pub struct Text(Vec<(Style, String)>);

impl Text {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A piece in a style.
    #[must_use]
    pub fn styled(mut self, style: Style, text: impl AsRef<str>) -> Self {
        self.push(style, text);
        self
    }

    /// A plain piece.
    #[must_use]
    pub fn plain(self, text: impl AsRef<str>) -> Self {
        self.styled(Style::Plain, text)
    }

    /// A plain line.
    #[must_use]
    pub fn line(self, text: impl AsRef<str>) -> Self {
        self.plain(text).plain("\n")
    }

    /// Adds a piece in a style.
    pub fn push(&mut self, style: Style, text: impl AsRef<str>) {
        self.0.push((style, clean(text.as_ref())));
    }

    /// Adds a plain line.
    pub fn add_line(&mut self, text: impl AsRef<str>) {
        self.push(Style::Plain, text);
        self.push(Style::Plain, "\n");
    }

    /// Adds a label and a text, its further lines indented below it.
    pub fn field(&mut self, label: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        self.push(Style::Dim, format!("{label:<12} "));
        self.add_line(text.trim_end().replace('\n', "\n             "));
    }

    /// Whether nothing would be printed.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, t)| t.is_empty())
    }

    /// The bytes for a terminal, or without styles for anything else.
    pub fn render(&self, colour: bool) -> String {
        let mut out = String::new();
        for (style, text) in &self.0 {
            if colour && *style != Style::Plain && !text.is_empty() {
                let _ = write!(out, "{}{text}\u{1b}[0m", style.code());
            } else {
                out.push_str(text);
            }
        }
        out
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new().plain(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::new().plain(text)
    }
}

/// Text without control characters: they show as `^[` and the like. Newlines and tabs stay. Characters that
/// turn the direction of text around are shown by their code point.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\u{0}'..='\u{1f}' => {
                out.push('^');
                out.push(char::from(c as u8 + 0x40));
            }
            '\u{7f}' => out.push_str("^?"),
            '\u{80}'..='\u{9f}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                let _ = write!(out, "<U+{:04X}>", c as u32);
            }
            _ => out.push(c),
        }
    }
    out
}

/// A JSON value on one line, its newline included. JSON itself escapes control characters below 0x20 only; those
/// above, and characters that turn the direction of text around, are escaped as well: programs read the same text.
pub fn json_line(value: &serde_json::Value) -> String {
    let plain = value.to_string();
    let mut out = String::with_capacity(plain.len() + 1);
    for c in plain.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out.push('\n');
    out
}

/// Whether a stream of ours takes colours: a terminal, and `NO_COLOR` not set.
pub fn colour(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Prints a result on stdout; a broken pipe is no error.
pub fn print(text: &Text) {
    let terminal = std::io::stdout().is_terminal();
    write_all(&mut std::io::stdout(), text.render(colour(terminal)).as_bytes());
}

/// Prints talk on stderr.
pub fn say(text: &Text) {
    let terminal = std::io::stderr().is_terminal();
    write_all(&mut std::io::stderr(), text.render(colour(terminal)).as_bytes());
}

/// Prints a remark on stderr.
pub fn remark(text: &str) {
    say(&Text::new().styled(Style::Dim, "git incident: ").line(text));
}

/// Prints an error: what, why, what to do.
pub fn error(error: &Error) {
    let mut text = Text::new().styled(Style::Red, "error: ").line(error.what());
    for cause in error.causes() {
        text = text.styled(Style::Bold, "caused by: ").line(cause.replace('\n', "\n           "));
    }
    for hint in error.hints() {
        text = text.styled(Style::Green, "hint: ").line(hint);
    }
    say(&text);
}

/// Writes what can be written: a reader that has gone away is not our trouble.
pub fn write_all(out: &mut dyn Write, bytes: &[u8]) {
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Whether there is a person at the terminal to ask.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A question to the person at the terminal; `None` without a terminal or an answer.
pub fn ask(question: &str) -> Option<String> {
    if !can_ask() {
        return None;
    }
    say(&Text::new().plain(question).plain(" "));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok()?;
    let answer = answer.trim().to_owned();
    (!answer.is_empty()).then_some(answer)
}

/// The screen's height in lines, when stdout is a terminal.
pub fn screen_lines() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(&out).ok().map(|w| usize::from(w.ws_row)).filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shows_escapes_as_what_they_are() {
        assert_eq!(clean("a\u{1b}[31mb\r\n\u{202e}c\u{9b}"), "a^[[31mb^M\n<U+202E>c<U+009B>");
    }

    proptest! {
        #[test]
        fn nothing_foreign_reaches_the_terminal(text in any::<String>()) {
            let shown = Text::new().styled(Style::Red, &text).render(false);
            let quiet = shown.chars().all(|c| c == '\n' || c == '\t' || !c.is_control());
            prop_assert!(quiet);
        }
    }
}

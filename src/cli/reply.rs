//! What a command answers: a view for programs, a text for people, an exit status.

use serde_json::{Map, Value};

use super::ui::{self, Text};

/// Version of the JSON views.
pub const SCHEMA: u64 = 1;

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    view: Map<String, Value>,
    text: Text,
    exit: i32,
    paged: bool,
    json: bool,
    silent: bool,
}

impl Reply {
    /// Nothing more to say: the command has printed its answer in a format of its own.
    pub fn silent(status: i32) -> Self {
        Self { exit: status, silent: true, ..Self::default() }
    }

    /// An answer in both forms. `view` must be a JSON object; `schema` is added to it.
    pub fn new(view: Value, text: impl Into<Text>) -> Self {
        let view = if let Value::Object(map) = view { map } else { Map::new() };
        Self { view, text: text.into(), ..Self::default() }
    }

    /// The same answer with another exit status.
    #[must_use]
    pub fn exit(mut self, status: i32) -> Self {
        self.exit = status;
        self
    }

    /// The same answer, through the pager when it is longer than the screen.
    #[must_use]
    pub fn paged(mut self) -> Self {
        self.paged = true;
        self
    }

    /// The same answer as JSON, whatever the global option says: for commands with a `--format` of their own.
    #[must_use]
    pub fn as_json(mut self) -> Self {
        self.json = true;
        self
    }

    /// Prints it and returns the exit status.
    pub fn print(self, json: bool) -> i32 {
        if self.silent {
            return self.exit;
        }
        if json || self.json {
            let mut view = self.view;
            view.insert("schema".to_owned(), SCHEMA.into());
            ui::write_all(&mut std::io::stdout(), ui::json_line(&Value::Object(view)).as_bytes());
        } else if !(self.paged && page(&self.text)) {
            ui::print(&self.text);
        }
        self.exit
    }
}

/// Shows a text in the user's pager; `false` when there is no need or no pager.
fn page(text: &Text) -> bool {
    let Some(lines) = ui::screen_lines() else {
        return false;
    };
    let shown = text.render(ui::colour(true));
    if shown.lines().count() < lines {
        return false;
    }
    crate::git::interactive::page(shown.as_bytes())
}

//! Ledgers as a stranger writes them: sealed rightly where that is wanted, put into the refs by plain git.

use std::collections::HashMap;
use std::io::Write;
use std::process::Stdio;

use git_incident::event::{Data, Event, line};
use git_incident::git::Repo as Opened;
use git_incident::model::incident::Author;
use git_incident::model::{EventId, Timestamp};

use super::{EVIDENCE, LEDGER, Ran, Repo, finish, notes_in};

/// A note's bytes: given whole, or one byte repeated so often, which is never held in memory.
pub enum Bytes {
    /// As they are.
    Whole(Vec<u8>),
    /// This byte, so often.
    Repeated(u8, usize),
}

/// A line that is an event of this type, sealed; the data is JSON.
///
/// # Panics
/// Data that the type does not take.
pub fn sealed(type_name: &str, json: &str, parents: &[EventId], at: i64, who: &str) -> Event {
    let by = Author { name: who.into(), email: who.into(), agent: who.into(), salt: "00".repeat(16) };
    let data = Data::decode(type_name, json).expect("a type").expect("data of it");
    line::seal(Timestamp::from_millis(at), &by, &data, parents, &"11".repeat(16)).expect("sealed")
}

/// A ledger in the making.
pub struct Ledger {
    /// Its lines.
    pub lines: Vec<Vec<u8>>,
    /// Its newest event.
    pub head: EventId,
    /// Its anchor.
    pub key: String,
    who: String,
    at: i64,
}

impl Ledger {
    /// Opens an incident; the title is a JSON string's inside.
    pub fn opened(title: &str, who: &str) -> Self {
        Self::opened_with(&serde_json::json!({"title": title}).to_string(), who)
    }

    /// Opens an incident with this data.
    pub fn opened_with(json: &str, who: &str) -> Self {
        let at = 1_772_000_000_000;
        let event = sealed("incident.opened", json, &[], at, who);
        let key = Opened::blob_name(&[&event.raw[..], b"\n"].concat()).expect("hashed").to_string();
        Self { lines: vec![event.raw], head: event.id, key, who: who.to_owned(), at }
    }

    /// Adds an event after the newest one; its id.
    pub fn says(&mut self, type_name: &str, json: &str) -> EventId {
        self.at += 1;
        let event = sealed(type_name, json, &[self.head], self.at, &self.who);
        self.head = event.id;
        self.lines.push(event.raw);
        event.id
    }

    /// Adds any line.
    pub fn line(&mut self, bytes: impl AsRef<[u8]>) {
        self.lines.push(bytes.as_ref().to_vec());
    }

    /// The note.
    pub fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect()
    }

    /// Puts it into both refs; its id.
    pub fn plant(&self, repo: &Repo) -> String {
        let anchor = [&self.lines[0][..], b"\n"].concat();
        plant(repo, EVIDENCE, vec![(fanned(&self.key), "100644", Bytes::Whole(anchor))]);
        plant(repo, LEDGER, vec![(fanned(&self.key), "100644", Bytes::Whole(self.bytes()))]);
        self.key.clone()
    }
}

/// A key's path.
pub fn fanned(key: &str) -> String {
    format!("{}/{}", &key[..2], &key[2..])
}

/// Adds entries (path, mode, bytes) to a notes ref, by `git fast-import`, as any program may.
pub fn plant(repo: &Repo, reference: &str, entries: Vec<(String, &str, Bytes)>) {
    let mut command = repo.command("git");
    command.args(["fast-import", "--quiet", "--force"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("git fast-import");
    let there = repo.try_git(&["rev-parse", "-q", "--verify", reference]).status == 0;
    {
        let mut input = std::io::BufWriter::new(child.stdin.take().expect("a pipe"));
        write!(input, "commit {reference}\ncommitter X <x@example.org> 1 +0000\ndata 1\nx").expect("written");
        if there {
            write!(input, "\nfrom {reference}^0").expect("written");
        }
        writeln!(input).expect("written");
        for (path, mode, bytes) in entries {
            let size = match &bytes {
                Bytes::Whole(bytes) => bytes.len(),
                Bytes::Repeated(_, times) => *times,
            };
            let name: String = path.chars().flat_map(char::escape_default).collect();
            write!(input, "M {mode} inline \"{name}\"\ndata {size}\n").expect("written");
            match bytes {
                Bytes::Whole(bytes) => input.write_all(&bytes).expect("written"),
                Bytes::Repeated(byte, mut times) => {
                    let block = vec![byte; 1 << 20];
                    while times > 0 {
                        let part = times.min(block.len());
                        input.write_all(&block[..part]).expect("written");
                        times -= part;
                    }
                }
            }
            writeln!(input).expect("written");
        }
    }
    finish(child.wait_with_output()).expect(0);
}

/// `git incident …` with bounded memory and processor time: whatever is beyond is killed.
pub fn bounded(repo: &Repo, arguments: &[&str]) -> Ran {
    let limits = "ulimit -v 1200000; ulimit -t 60; exec git-incident \"$@\"";
    let mut all = vec!["-c", limits, "bash"];
    all.extend(arguments);
    repo.run("bash", &all)
}

/// Moves the cursor, renames the window, erases the screen, turns text around, rings.
pub const EVIL: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}2J\u{202e}rtl\u{2066}\u{7f}\rback\u{8}s \u{0}\u{1b}[8m";

/// Commands that read; ID stands for the incident.
pub const READING: [&str; 18] = [
    "list",
    "--json list",
    "show ID",
    "--json show ID",
    "status ID",
    "--json status ID",
    "export ID",
    "export ID -f json",
    "evidence list -i ID",
    "evidence verify -i ID",
    "next -i ID",
    "difference -i ID",
    "cause -i ID",
    "budget -i ID",
    "repro show -i ID",
    "postmortem draft ID --print",
    "pr ID",
    "use ID",
];

/// Commands that write.
pub const WRITING: [&str; 4] = [
    "attempt note seen -i ID",
    "next add look -i ID",
    "link HEAD --as related -i ID",
    "evidence add own.log -i ID",
];

/// What a terminal would obey: every control character but the newline and the tab, and what turns text around.
pub fn obeyed(text: &str) -> Option<char> {
    text.chars().find(|c| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || (c.is_control() && !matches!(c, '\n' | '\t'))
    })
}

/// It ended by itself, said nothing that a terminal obeys, and knows what it did.
#[track_caller]
pub fn harmless(line: &str, ran: Ran) -> Ran {
    assert!(matches!(ran.status, 0..=5), "{line}: {} {}{}", ran.status, ran.stdout, ran.stderr);
    for said in [&ran.stdout, &ran.stderr] {
        assert_eq!(obeyed(said), None, "{line}: {said:?}");
        assert!(!said.contains("panicked"), "{line}: {said}");
    }
    if ran.status == 1 {
        assert!(ran.stderr.contains("error: ") || ran.stderr.is_empty() || line.contains("verify"), "{line}");
    }
    ran
}

/// Every command on an incident; what they said.
#[track_caller]
pub fn every_command(repo: &Repo, id: &str) -> HashMap<&'static str, Ran> {
    repo.write("own.log", "a line\n");
    let mut said = HashMap::new();
    for line in READING.iter().chain(&WRITING) {
        let words: Vec<&str> = line.split(' ').map(|word| if word == "ID" { id } else { word }).collect();
        let ran = harmless(line, bounded(repo, &words));
        assert_ne!(ran.status, 2, "it was not even tried: {line}: {}", ran.stderr);
        said.insert(*line, ran);
    }
    said
}

/// A repository with an incident of its own, and what shows that it is well.
pub fn with_own_incident() -> (Repo, String) {
    let repo = Repo::new();
    repo.commit("first");
    let own = repo.open("our own");
    repo.note("kept");
    (repo, own)
}

#[track_caller]
pub fn own_is_well(repo: &Repo, own: &str) {
    let view = repo.incident_json(&["show", own]);
    assert!(notes_in(&view).contains(&"kept".to_owned()));
    repo.incident(&["attempt", "note", "goes on", "-i", own]).expect(0);
    let listed = repo.view("list");
    let rows = listed["incidents"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["title"] == "our own"), "{listed}");
}

//! What is put into the index: the documents of incidents, each replaced only when it says something else.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, params};

use super::objects;
use crate::git::Repo;
use crate::model::incident::Incident;
use crate::model::status::Status;
use crate::model::{EventId, Oid, Timestamp, canonical};
use crate::report::listing::Row;
use crate::search::document::{self, Document};

/// By how much the counts have grown since they were written.
#[derive(Default)]
pub(super) struct Grown {
    /// The documents.
    pub(super) documents: i64,
    words: HashMap<String, i64>,
}

impl Grown {
    fn count<'k>(&mut self, keys: impl IntoIterator<Item = &'k String>, by: i64) {
        for key in keys {
            if let Some(count) = self.words.get_mut(key) {
                *count += by;
            } else {
                self.words.insert(key.clone(), by);
            }
        }
    }

    /// Adds it to the counts of words.
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut sorted: Vec<(&String, i64)> =
            self.words.iter().filter(|(_, by)| **by != 0).map(|(term, by)| (term, *by)).collect();
        // In the order of the table: a page is then filled once.
        sorted.sort_unstable();
        let mut add = connection.prepare(
            "INSERT INTO tally(term, docs) VALUES(?1, ?2) ON CONFLICT(term) DO UPDATE SET docs = docs + ?2",
        )?;
        let mut forget = connection.prepare("DELETE FROM tally WHERE term = ?1 AND docs <= 0")?;
        for (term, by) in sorted {
            add.execute(params![term, by])?;
            if by < 0 {
                forget.execute(params![term])?;
            }
        }
        Ok(())
    }
}

/// Puts an incident in, or brings it up to date.
pub(super) fn put(
    connection: &Connection,
    repo: &Repo,
    incident: &Incident,
    grown: &mut Grown,
) -> rusqlite::Result<()> {
    let Some(oid) = incident.id.as_ref() else { return Ok(()) };
    connection.execute("DELETE FROM absent WHERE incident = ?1", params![oid.as_str()])?;
    let mut trouble = None;
    let documents =
        document::documents(incident, &mut |source| match objects::facts(connection, repo, source) {
            Ok(Some(facts)) => facts,
            Ok(None) => {
                let absent = "INSERT OR IGNORE INTO absent(oid, incident) VALUES(?1, ?2)";
                trouble = connection.execute(absent, params![source.oid().as_str(), oid.as_str()]).err();
                document::Facts::default()
            }
            Err(error) => {
                trouble = Some(error);
                document::Facts::default()
            }
        });
    if let Some(error) = trouble {
        return Err(error);
    }
    let row = serde_json::to_string(&Row::of(incident)).unwrap_or_default();
    let ticket = incident.ticket.to_ascii_lowercase();
    connection
        .prepare(
            "INSERT INTO incident(oid, closed, last_at, ticket, row) VALUES(?1, ?2, ?3, ?4, ?5)
         ON CONFLICT(oid) DO UPDATE SET closed = ?2, last_at = ?3, ticket = ?4, row = ?5",
        )?
        .execute(params![
            oid.as_str(),
            *incident.status != Status::Open,
            incident.last_at.millis(),
            ticket,
            row
        ])?;
    let number: i64 = connection
        .prepare("SELECT number FROM incident WHERE oid = ?1")?
        .query_row(params![oid.as_str()], |row| row.get(0))?;
    let mut former: BTreeMap<String, (i64, String)> = BTreeMap::new();
    {
        let mut statement =
            connection.prepare("SELECT attempt, number, digest FROM doc WHERE incident = ?1")?;
        let mut rows = statement.query(params![number])?;
        while let Some(row) = rows.next()? {
            former.insert(row.get(0)?, (row.get(1)?, row.get(2)?));
        }
    }
    for document in &documents {
        let attempt = document.attempt.map(|a| a.to_string()).unwrap_or_default();
        let stored = Stored::of(document);
        match former.remove(&attempt) {
            Some((_, digest)) if digest == stored.digest => {}
            Some((at, _)) => {
                let keys = read(connection, at)?.map(|(_, d)| d.keys()).unwrap_or_default();
                stored.insert(connection, Some((at, keys)), number, document, grown)?;
            }
            None => {
                stored.insert(connection, None, number, document, grown)?;
                grown.documents += 1;
            }
        }
    }
    for (at, _) in former.into_values() {
        remove_document(connection, at, grown)?;
    }
    Ok(())
}

/// Takes an incident out.
pub(super) fn remove(connection: &Connection, incident: &Oid, grown: &mut Grown) -> rusqlite::Result<()> {
    let number: Option<i64> = connection
        .query_row("SELECT number FROM incident WHERE oid = ?1", params![incident.as_str()], |row| row.get(0))
        .optional()?;
    let Some(number) = number else { return Ok(()) };
    let documents: Vec<i64> = {
        let mut statement = connection.prepare("SELECT number FROM doc WHERE incident = ?1")?;
        statement.query_map(params![number], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
    };
    for document in &documents {
        remove_document(connection, *document, grown)?;
    }
    connection.execute("DELETE FROM incident WHERE number = ?1", params![number])?;
    connection.execute("DELETE FROM absent WHERE incident = ?1", params![incident.as_str()])?;
    Ok(())
}

fn remove_document(connection: &Connection, number: i64, grown: &mut Grown) -> rusqlite::Result<()> {
    let Some((_, document)) = read(connection, number)? else { return Ok(()) };
    let keys = document.keys();
    take_out(connection, number, &keys)?;
    grown.count(&keys, -1);
    grown.documents -= 1;
    connection.execute("DELETE FROM print WHERE doc = ?1", params![number])?;
    connection.execute("DELETE FROM doc WHERE number = ?1", params![number])?;
    Ok(())
}

/// Words without positions are taken out by saying once more which they were.
fn take_out<'k>(
    connection: &Connection,
    number: i64,
    keys: impl IntoIterator<Item = &'k String>,
) -> rusqlite::Result<()> {
    connection
        .prepare("INSERT INTO words(words, rowid, terms) VALUES('delete', ?1, ?2)")?
        .execute(params![number, joined(keys)])?;
    Ok(())
}

fn joined<'k>(keys: impl IntoIterator<Item = &'k String>) -> String {
    keys.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// A document as its row holds it.
struct Stored {
    fields: String,
    tags: String,
    digest: String,
}

impl Stored {
    fn of(document: &Document) -> Self {
        let fields = serde_json::to_string(&document.fields).unwrap_or_default();
        let tags = joined(&document.tags);
        let prints: Vec<String> = document.prints.iter().map(i64::to_string).collect();
        let all =
            format!("{}\n{}\n{fields}\n{tags}\n{}", document.at.millis(), document.ordinal, prints.join(" "));
        Self { digest: canonical::sha256_hex(all.as_bytes())[..32].to_owned(), fields, tags }
    }

    /// Puts the document in. `former` is the number under which it stood, and by what it was found there: only what
    /// has changed of that is written, for each word of a document costs.
    fn insert(
        &self,
        connection: &Connection,
        former: Option<(i64, BTreeSet<String>)>,
        incident: i64,
        document: &Document,
        grown: &mut Grown,
    ) -> rusqlite::Result<()> {
        let attempt = document.attempt.map(|a| a.to_string()).unwrap_or_default();
        let (number, before) = match &former {
            Some((number, keys)) => (*number, Some(keys)),
            None => (free_number(connection, document.at, &format!("{incident} {attempt}"))?, None),
        };
        connection
            .prepare(
                "INSERT OR REPLACE INTO doc(number, incident, attempt, ordinal, at, same, digest, tags, fields)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                number,
                incident,
                attempt,
                document.ordinal as i64,
                document.at.millis(),
                document.same(),
                self.digest,
                self.tags,
                self.fields
            ])?;
        let keys = document.keys();
        let none = BTreeSet::new();
        let before = before.unwrap_or(&none);
        if former.is_some() {
            let gone: Vec<&String> = before.difference(&keys).collect();
            take_out(connection, number, gone.iter().copied())?;
            grown.count(gone, -1);
            connection.prepare("DELETE FROM print WHERE doc = ?1")?.execute(params![number])?;
        }
        let new: Vec<&String> = keys.difference(before).collect();
        connection
            .prepare("INSERT INTO words(rowid, terms) VALUES(?1, ?2)")?
            .execute(params![number, joined(new.iter().copied())])?;
        grown.count(new, 1);
        for print in &document.prints {
            connection
                .prepare("INSERT OR IGNORE INTO print(value, doc) VALUES(?1, ?2)")?
                .execute(params![print, number])?;
        }
        Ok(())
    }
}

/// So many bits of a document's number tell documents of one second apart, to begin with.
const BITS: u32 = 10;

/// The number that a document of a time begins at.
pub(super) fn first_number(at: Timestamp) -> i64 {
    (at.millis() / 1000) << BITS
}

/// The number that no document of a time is above, but for seconds with more documents than anybody writes.
pub(super) fn last_number(at: Timestamp) -> i64 {
    first_number(at).saturating_add(1 << 24)
}

/// A number for a new document: by its time, so that the newest come last whatever was put in first, and by what it is,
/// so that it is the same in every index.
fn free_number(connection: &Connection, at: Timestamp, name: &str) -> rusqlite::Result<i64> {
    let hash = crate::search::hash(name.as_bytes());
    let mut statement = connection.prepare("SELECT 1 FROM doc WHERE number = ?1")?;
    for step in 0.. {
        // More room with every number that is taken: an import writes thousands of attempts in one second.
        let room = 1_u64 << (u64::from(BITS) + step).min(23);
        let number = first_number(at) + ((hash >> step.min(40)) % room) as i64 + (step as i64 / 24);
        if !statement.exists(params![number])? {
            return Ok(number);
        }
    }
    Ok(0)
}

/// The documents, to be read one after the other.
pub(super) struct Documents<'c> {
    statement: rusqlite::Statement<'c>,
}

impl<'c> Documents<'c> {
    pub(super) fn of(connection: &'c Connection) -> rusqlite::Result<Self> {
        let statement = connection
            .prepare("SELECT incident, attempt, ordinal, at, tags, fields FROM doc WHERE number = ?1")?;
        Ok(Self { statement })
    }

    /// A document, with the number of its incident.
    pub(super) fn read(&mut self, number: i64) -> rusqlite::Result<Option<(i64, Document)>> {
        self.statement.query_row(params![number], of_row).optional()
    }
}

/// A document, with the number of its incident.
fn read(connection: &Connection, number: i64) -> rusqlite::Result<Option<(i64, Document)>> {
    Documents::of(connection)?.read(number)
}

/// A document out of `incident, attempt, ordinal, at, tags, fields`.
pub(super) fn of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Document)> {
    let attempt: String = row.get(1)?;
    let tags: String = row.get(4)?;
    let fields: String = row.get(5)?;
    let fields = serde_json::from_str(&fields).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(5, rusqlite::types::Type::Text, Box::new(e))
    })?;
    let document = Document {
        attempt: EventId::parse(&attempt),
        ordinal: row.get::<_, i64>(2)? as usize,
        at: Timestamp::from_millis(row.get(3)?),
        fields,
        tags: tags.split(' ').filter(|t| !t.is_empty()).map(str::to_owned).collect(),
        prints: BTreeSet::new(),
    };
    Ok((row.get(0)?, document))
}

//! What the index is asked. It gives candidates and counts; what answers a query, and how well, is decided by
//! `search`, from the documents themselves.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use rusqlite::params;

use super::fill::{self, Documents};
use super::open::Index;
use super::update;
use crate::model::{Error, EventId, Oid, Result, Timestamp};
use crate::report::listing::Row;
use crate::search::document::{Document, concept_key, incident_tag, kind_tag};
use crate::search::query::{Query, path_tag};
use crate::search::rank::{Found, score, show};
use crate::search::similar::{Profile, likeness, rarity};

/// Of more documents than this, the newest are judged.
const MOST_JUDGED: usize = 1_000;
/// So many entries of the rarest words are counted together.
const MOST_POSTINGS: i64 = 8_000;
/// So many of those that share most are compared exactly.
const MOST_COMPARED: usize = 120;
/// So many of those that share errors or paths are read.
const MOST_READ: usize = 250;

/// A document that answers a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its incident.
    pub incident: Oid,
    /// The incident's row.
    pub row: Row,
    /// The document, without its marks.
    pub document: Document,
    /// How well, and where.
    pub found: Found,
}

/// What answers a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How many documents do; at least so many where not all were judged.
    pub total: usize,
    /// Whether all were judged.
    pub complete: bool,
    /// Those that were asked for, the best first.
    pub hits: Vec<Hit>,
}

/// An attempt that may be the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its incident.
    pub incident: Oid,
    /// The attempt.
    pub attempt: EventId,
    /// When it was started.
    pub at: Timestamp,
    /// How alike, from 0 to 1.
    pub score: f64,
}

/// A database that gives no answer: it is damaged in a way that opening it did not show.
fn damaged(error: rusqlite::Error) -> Error {
    Error::refused("the index gives no answer")
        .because(error)
        .hint("remove it, it is made anew: rm \"$(git rev-parse --git-common-dir)\"/incident/index*")
}

/// Words as FTS5 takes them: each a string of its own, whatever stands in it.
fn quoted(key: &str) -> String {
    format!("\"{}\"", key.replace('"', ""))
}

fn all_of<'k>(keys: impl IntoIterator<Item = &'k str>) -> String {
    keys.into_iter().map(quoted).collect::<Vec<_>>().join(" AND ")
}

impl Index {
    /// The rows of all incidents, in no order.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn rows(&self) -> Result<Vec<Row>> {
        let read = || -> rusqlite::Result<Vec<Row>> {
            let mut statement = self.connection.prepare("SELECT row FROM incident")?;
            let mut rows = statement.query([])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(row_of(row, 0)?);
            }
            Ok(all)
        };
        read().map_err(damaged)
    }

    /// The incidents with a ticket.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn with_ticket(&self, ticket: &str) -> Result<Vec<Oid>> {
        let read = || -> rusqlite::Result<Vec<Oid>> {
            let mut statement = self
                .connection
                .prepare("SELECT oid FROM incident WHERE ticket = ?1 AND ticket <> '' ORDER BY oid")?;
            let rows =
                statement.query_map(params![ticket.to_ascii_lowercase()], |row| row.get::<_, String>(0))?;
            Ok(rows.filter_map(|r| r.ok().and_then(|o| Oid::parse(&o))).collect())
        };
        read().map_err(damaged)
    }

    /// The documents that answer a query, the best first. `incidents` are those it is restricted to.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn search(
        &self,
        query: &Query,
        incidents: Option<&[Oid]>,
        offset: usize,
        limit: usize,
    ) -> Result<Answer> {
        self.answer(query, incidents, offset, limit).map_err(damaged)
    }

    fn answer(
        &self,
        query: &Query,
        incidents: Option<&[Oid]>,
        offset: usize,
        limit: usize,
    ) -> rusqlite::Result<Answer> {
        let expression = expression(query, incidents);
        let from = query.since.map_or(0, fill::first_number);
        let to = query.until.map_or(i64::MAX, fill::last_number);
        let in_time =
            |d: &Document| query.since.is_none_or(|t| d.at >= t) && query.until.is_none_or(|t| d.at <= t);
        let documents = update::documents(&self.connection)?.max(0) as u64;
        let mut weights: HashMap<&str, f64> = HashMap::new();
        let kernels: Vec<String> =
            query.kernels.iter().flat_map(|k| crate::search::words::terms(k)).collect();
        for term in query.with.iter().flat_map(|p| &p.0).chain(&kernels) {
            if !weights.contains_key(term.as_str()) {
                let with = self.frequency(term)? as f64;
                let idf = (1.0 + (documents as f64 - with + 0.5).max(0.0) / (with + 0.5)).ln();
                weights.insert(term, idf.max(0.01));
            }
        }
        let mut names: HashMap<i64, (Oid, Row)> = HashMap::new();
        let mut hits: Vec<((f64, usize), i64, Document)> = Vec::new();
        let mut judged = 0;
        let mut statement = self.connection.prepare(
            "SELECT doc.incident, doc.attempt, doc.ordinal, doc.at, '', doc.fields FROM words
             JOIN doc ON doc.number = words.rowid
             WHERE words MATCH ?1 AND words.rowid BETWEEN ?2 AND ?3 ORDER BY words.rowid DESC",
        )?;
        let mut rows = statement.query(params![expression, from, to])?;
        let mut complete = true;
        while let Some(row) = rows.next()? {
            if judged == MOST_JUDGED {
                complete = false;
                break;
            }
            let (number, document) = fill::of_row(row)?;
            judged += 1;
            let rarity = |term: &str| weights.get(term).copied().unwrap_or(1.0);
            if in_time(&document)
                && let Some(score) = score(&document, query, &rarity)
            {
                hits.push((score, number, document));
            }
        }
        let total = hits.len();
        hits.sort_by(|(a, _, x), (b, _, y)| {
            b.0.partial_cmp(&a.0)
                .unwrap_or(Ordering::Equal)
                .then(y.at.cmp(&x.at))
                .then(x.attempt.cmp(&y.attempt))
        });
        let mut shown = Vec::new();
        for ((score, field), number, document) in hits.into_iter().skip(offset).take(limit) {
            let found = show(&document, query, score, field);
            let (incident, row) = self.incident_of(&mut names, number)?;
            shown.push(Hit { incident, row, document, found });
        }
        Ok(Answer { total, complete, hits: shown })
    }

    fn incident_of(&self, known: &mut HashMap<i64, (Oid, Row)>, number: i64) -> rusqlite::Result<(Oid, Row)> {
        if let Some(found) = known.get(&number) {
            return Ok(found.clone());
        }
        let mut statement = self.connection.prepare("SELECT row FROM incident WHERE number = ?1")?;
        let row = statement.query_row(params![number], |row| row_of(row, 0))?;
        known.insert(number, (row.id.clone(), row.clone()));
        Ok((row.id.clone(), row))
    }

    /// In how many documents a key stands.
    fn frequency(&self, key: &str) -> rusqlite::Result<i64> {
        let mut statement = self.connection.prepare("SELECT docs FROM tally WHERE term = ?1")?;
        let mut rows = statement.query(params![key])?;
        rows.next()?.map_or(Ok(0), |row| row.get(0))
    }

    /// Attempts whose hypothesis is alike, the most alike first: by the rarest of its concepts, then compared exactly.
    /// Where paths are given, only those that touched one of them.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn alike(&self, text: &str, at_least: f64, below: &[String], limit: usize) -> Result<Vec<Claim>> {
        self.find_alike(text, at_least, below, limit).map_err(damaged)
    }

    fn find_alike(
        &self,
        text: &str,
        at_least: f64,
        below: &[String],
        limit: usize,
    ) -> rusqlite::Result<Vec<Claim>> {
        let asked = Profile::of(text);
        let attempts = self.frequency(&kind_tag(true))?.max(0) as u64;
        let mut keys: Vec<(i64, f64, &str)> = Vec::new();
        for concept in asked.concepts() {
            let with = self.frequency(&concept_key(concept))?;
            keys.push((with, rarity(with.max(0) as u64, attempts), concept));
        }
        keys.sort_by(|a, b| (a.0, a.2).cmp(&(b.0, b.2)));
        let rarities: HashMap<&str, f64> = keys.iter().map(|(_, r, c)| (*c, *r)).collect();
        let mut shared: BTreeMap<i64, f64> = BTreeMap::new();
        // The same hypothesis is found however common its words are.
        let same = asked.same();
        if same != 0 {
            // Without the second condition SQLite does not take the index, which has no zeros, and reads every document.
            let mut statement = self.connection.prepare(
                "SELECT number FROM doc WHERE same = ?1 AND same <> 0 ORDER BY number DESC LIMIT ?2",
            )?;
            let mut rows = statement.query(params![same, MOST_COMPARED as i64])?;
            while let Some(row) = rows.next()? {
                *shared.entry(row.get(0)?).or_default() += 1_000.0;
            }
        }
        let mut left = MOST_POSTINGS;
        let mut statement = self
            .connection
            .prepare("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?2")?;
        for (n, (with, rare, concept)) in keys.iter().enumerate().filter(|(_, (with, ..))| *with > 0) {
            // What is left of the common ones is read newest first.
            if *with > left && n > 0 && left < MOST_POSTINGS {
                break;
            }
            let mut rows = statement.query(params![quoted(&concept_key(concept)), left])?;
            while let Some(row) = rows.next()? {
                *shared.entry(row.get(0)?).or_default() += rare;
                left -= 1;
            }
            if left <= 0 {
                break;
            }
        }
        let mut best: Vec<(f64, i64)> = shared.into_iter().map(|(number, weight)| (weight, number)).collect();
        best.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then(b.1.cmp(&a.1)));
        best.truncate(MOST_COMPARED);
        // Words that only the other text has are as rare as most.
        let rarity = |concept: &str| rarities.get(concept).copied().unwrap_or(0.8);
        let mut claims = Vec::new();
        let mut documents = Documents::of(&self.connection)?;
        for (_, number) in best {
            let Some((incident, document)) = documents.read(number)? else { continue };
            let Some(attempt) = document.attempt.filter(|_| touches(&document, below)) else { continue };
            let score = document
                .claims()
                .iter()
                .map(|claim| likeness(&asked, &Profile::of(claim), &rarity))
                .fold(0.0, f64::max);
            if score >= at_least {
                claims.push((incident, attempt, document.at, score));
            }
        }
        self.claims(claims, limit)
    }

    /// Attempts that saw the same errors; the share of what was asked for, the rare ones weighing more.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn with_errors(&self, prints: &[i64], below: &[String], limit: usize) -> Result<Vec<Claim>> {
        let find = || -> rusqlite::Result<Vec<Claim>> {
            let attempts = self.frequency(&kind_tag(true))?.max(0) as u64;
            let mut scores: BTreeMap<i64, f64> = BTreeMap::new();
            let mut whole = 0.0;
            for print in prints {
                let with: i64 = self
                    .connection
                    .prepare("SELECT count(*) FROM print WHERE value = ?1")?
                    .query_row(params![print], |row| row.get(0))?;
                let weight = rarity(with as u64, attempts.max(2));
                whole += weight;
                let mut statement = self
                    .connection
                    .prepare("SELECT doc FROM print WHERE value = ?1 ORDER BY doc DESC LIMIT ?2")?;
                let mut rows = statement.query(params![print, MOST_JUDGED as i64])?;
                while let Some(row) = rows.next()? {
                    *scores.entry(row.get(0)?).or_default() += weight;
                }
            }
            let mut best: Vec<(f64, i64)> =
                scores.into_iter().map(|(d, s)| (s / whole.max(1e-9), d)).collect();
            best.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then(b.1.cmp(&a.1)));
            best.truncate(MOST_READ);
            let mut claims = Vec::new();
            let mut documents = Documents::of(&self.connection)?;
            for (score, number) in best {
                let Some((incident, document)) = documents.read(number)? else { continue };
                let attempt = document.attempt.filter(|_| touches(&document, below));
                claims.extend(attempt.map(|a| (incident, a, document.at, score.min(1.0))));
            }
            self.claims(claims, limit)
        };
        find().map_err(damaged)
    }

    /// The newest attempts that touched one of some paths, or something below them, with the share of the paths.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn touching(&self, paths: &[String], limit: usize) -> Result<Vec<Claim>> {
        let find = || -> rusqlite::Result<Vec<Claim>> {
            let tags: Vec<String> = paths.iter().map(|p| path_tag(p)).collect();
            if tags.is_empty() {
                return Ok(Vec::new());
            }
            let any = tags.iter().map(|t| quoted(t)).collect::<Vec<_>>().join(" OR ");
            let expression = format!("({any}) AND {}", quoted(&kind_tag(true)));
            let mut statement = self
                .connection
                .prepare("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?2")?;
            let numbers: Vec<i64> = statement
                .query_map(params![expression, MOST_READ as i64], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let mut claims = Vec::new();
            let mut documents = Documents::of(&self.connection)?;
            for number in numbers {
                let Some((incident, document)) = documents.read(number)? else { continue };
                let Some(attempt) = document.attempt else { continue };
                let touched = tags.iter().filter(|t| document.tags.contains(*t)).count();
                claims.push((incident, attempt, document.at, touched as f64 / tags.len() as f64));
            }
            self.claims(claims, limit)
        };
        find().map_err(damaged)
    }

    /// The best first, then the newest.
    fn claims(
        &self,
        found: Vec<(i64, EventId, Timestamp, f64)>,
        limit: usize,
    ) -> rusqlite::Result<Vec<Claim>> {
        let mut names = HashMap::new();
        let mut found = found;
        found.sort_by(|a, b| {
            b.3.partial_cmp(&a.3).unwrap_or(Ordering::Equal).then(b.2.cmp(&a.2)).then(a.1.cmp(&b.1))
        });
        let mut claims = Vec::new();
        for (number, attempt, at, score) in found.into_iter().take(limit) {
            let (incident, _) = self.incident_of(&mut names, number)?;
            claims.push(Claim { incident, attempt, at, score });
        }
        Ok(claims)
    }
}

/// Whether a document has to do with one of some paths, if there are any.
fn touches(document: &Document, below: &[String]) -> bool {
    below.is_empty() || below.iter().any(|path| document.tags.contains(&path_tag(path)))
}

fn row_of(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Row> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(e))
    })
}

/// A query as FTS5 takes it. Phrases are looked for as words side by side or not; the documents say the rest.
fn expression(query: &Query, incidents: Option<&[Oid]>) -> String {
    let kernels: Vec<String> = query.kernels.iter().flat_map(|k| crate::search::words::terms(k)).collect();
    let mut keys: Vec<&str> = query.with.iter().flat_map(|p| &p.0).map(String::as_str).collect();
    keys.extend(kernels.iter().map(String::as_str));
    keys.extend(query.tags.iter().map(String::as_str));
    let mut expression = if keys.is_empty() {
        format!("({} OR {})", quoted(&kind_tag(true)), quoted(&kind_tag(false)))
    } else {
        format!("({})", all_of(keys))
    };
    if let Some(incidents) = incidents {
        let any: Vec<String> = incidents.iter().map(|oid| quoted(&incident_tag(oid))).collect();
        expression.push_str(&format!(" AND ({})", any.join(" OR ")));
    }
    // A phrase that is left out says nothing of its words alone.
    for phrase in query.without.iter().filter(|p| p.0.len() == 1) {
        expression.push_str(&format!(" NOT {}", quoted(&phrase.0[0])));
    }
    for tags in &query.without_tags {
        expression.push_str(&format!(" NOT ({})", all_of(tags.split(' '))));
    }
    expression
}

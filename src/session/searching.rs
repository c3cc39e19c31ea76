//! Looking through the ledgers: the rows of `list`, and `search`.

use super::Session;
use crate::model::{Error, Oid, Result};
use crate::report::listing::Row;
use crate::search::query;
pub use crate::store::index::Hit;
use crate::store::index::{Answer, Index, Patience, forget};

/// What `list` shows: the rows in no order, and the notes that cannot be read.
pub type Rows = (Vec<Row>, Vec<(Oid, Error)>);

impl Session {
    /// What `list` shows of every incident, in no order, and the notes that cannot be read.
    ///
    /// # Errors
    /// An object is not here.
    pub fn rows(&self) -> Result<Rows> {
        // An index that had something to leave out cannot say why.
        if let Some(index) = Index::if_there(&self.repo).filter(|index| index.unread.is_empty())
            && let Ok(rows) = index.rows()
        {
            return Ok((rows, Vec::new()));
        }
        let all = self.incidents_and_unread()?;
        Ok((all.incidents.iter().filter_map(Row::of).collect(), all.unread))
    }

    /// Asks the index. One that gives no answer is damaged: it is made anew and asked once more. `None` when there is
    /// none and nobody wants to wait for it.
    ///
    /// # Errors
    /// The ledgers cannot be read.
    pub(super) fn ask<T>(
        &self,
        patience: Patience,
        question: &dyn Fn(&Index) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(index) = Index::open(&self.repo, patience)? else { return Ok(None) };
        match question(&index) {
            Ok(answer) => Ok(Some(answer)),
            Err(_) if index.path.is_some() => {
                drop(index);
                forget(&self.repo);
                let Some(index) = Index::open(&self.repo, patience)? else { return Ok(None) };
                question(&index).map(Some)
            }
            Err(error) => Err(error),
        }
    }

    /// The documents that answer a query.
    ///
    /// # Errors
    /// A query that says nothing or cannot be understood; ledgers that cannot be read.
    pub fn search(&self, text: &str, offset: usize, limit: usize) -> Result<Answer> {
        let query = query::parse(text, self.now())?;
        let incidents = if query.incidents.is_empty() {
            None
        } else {
            Some(
                query
                    .incidents
                    .iter()
                    .map(|named| self.incident_id(Some(named)))
                    .collect::<Result<Vec<Oid>>>()?,
            )
        };
        let question = |index: &Index| index.search(&query, incidents.as_deref(), offset, limit);
        self.ask(Patience::Endless, &question)?.ok_or_else(|| Error::bug("nobody waited for the index"))
    }
}

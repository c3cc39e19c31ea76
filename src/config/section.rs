//! Walks one table of the file key by key; what was never asked for is an unknown key.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::decimal::Decimal;
use super::problem::{Problems, suggestion};
use super::values::{self, described};

/// One table being read. Getters return `None` for a missing key and for a wrong one, which they report.
pub(super) struct Section<'a, 'i> {
    table: &'a DeTable<'i>,
    offset: usize,
    name: &'static str,
    asked: Vec<&'static str>,
    problems: &'a mut Problems,
}

impl<'a, 'i> Section<'a, 'i> {
    pub(super) fn new(
        table: &'a DeTable<'i>,
        offset: usize,
        name: &'static str,
        problems: &'a mut Problems,
    ) -> Self {
        Self { table, offset, name, asked: Vec::new(), problems }
    }

    /// The raw value of a key, which counts as known from now on.
    pub(super) fn value(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// Is the key there?
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// A table inside this one, as a section of its own.
    pub(super) fn table(&mut self, key: &'static str, name: &'static str) -> Option<Section<'_, 'i>> {
        let value = self.value(key)?;
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table");
            return None;
        };
        Some(Section::new(table, value.span().start, name, self.problems))
    }

    /// Reports a problem at a key's value, or at the table when the key is missing.
    pub(super) fn problem(&mut self, key: &str, what: impl Into<String>) {
        let offset = self.table.get(key).map_or(self.offset, |value| value.span().start);
        self.problems.add(offset, what.into());
    }

    /// Reports a problem at a key itself.
    pub(super) fn problem_at_key(&mut self, key: &str, what: impl Into<String>) {
        let offset = self.table.get_key_value(key).map_or(self.offset, |(key, _)| key.span().start);
        self.problems.add(offset, what.into());
    }

    /// Gives the last problem its hint.
    pub(super) fn hint(&mut self, hint: impl Into<String>) {
        self.problems.hint_last(hint);
    }

    fn wrong_type(&mut self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) {
        let found = described(value.get_ref());
        self.problems
            .add(value.span().start, format!("\"{key}\" in {} must be {expected}, not {found}", self.name));
    }

    /// Reads an array of tables, each as a section of its own; what is no table is reported.
    pub(super) fn tables<T>(
        &mut self,
        key: &'static str,
        name: &'static str,
        most: usize,
        mut read: impl FnMut(Section<'_, 'i>) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = self.value(key) else {
            return Vec::new();
        };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "an array of tables");
            return Vec::new();
        };
        if array.len() > most {
            self.invalid(key, value, &format!("has {} entries; at most {most} are read", array.len()));
            return Vec::new();
        }
        let mut list = Vec::with_capacity(array.len());
        for item in array {
            match item.get_ref().as_table() {
                Some(table) => {
                    list.extend(read(Section::new(table, item.span().start, name, self.problems)));
                }
                None => self.wrong_type(key, item, "an array of tables"),
            }
        }
        list
    }

    /// Every key that was not asked for, with its value: for tables whose keys are names that people choose.
    pub(super) fn rest(self) -> (Vec<(&'a str, &'a Spanned<DeValue<'i>>)>, &'a mut Problems) {
        let rest = self
            .table
            .iter()
            .filter(|(key, _)| !self.asked.contains(&key.get_ref().as_ref()))
            .map(|(key, value)| (key.get_ref().as_ref(), value))
            .collect();
        (rest, self.problems)
    }

    /// Reports what is wrong with a value of this table.
    pub(super) fn invalid(&mut self, key: &str, value: &Spanned<DeValue<'_>>, why: &str) {
        self.problems.add(value.span().start, format!("\"{key}\" in {} {why}", self.name));
    }

    /// A string that is not empty and holds no NUL.
    pub(super) fn string(&mut self, key: &'static str) -> Option<String> {
        let value = self.value(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(key, value, "a string");
            return None;
        };
        match values::text(text) {
            Ok(text) => Some(text),
            Err(why) => {
                self.invalid(key, value, &why);
                None
            }
        }
    }

    /// A string that `read` makes something of; `read` says what is wrong as "must be …".
    fn parsed<T>(&mut self, key: &'static str, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let value = self.value(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(key, value, "a string");
            return None;
        };
        match read(text) {
            Ok(read) => Some(read),
            Err(why) => {
                self.invalid(key, value, &why);
                None
            }
        }
    }

    /// One word of a closed list.
    pub(super) fn choice<T: Copy>(&mut self, key: &'static str, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.string(key)?;
        let found = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
        if found.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let shown = values::shown(&text);
            self.problem(
                key,
                format!("\"{key}\" in {} must be one of {}, not {shown}", self.name, words.join(", ")),
            );
            if let Some(hint) = suggestion(&text, words) {
                self.hint(hint);
            }
        }
        found
    }

    /// A path inside the repository.
    pub(super) fn path(&mut self, key: &'static str) -> Option<String> {
        self.parsed(key, values::path)
    }

    /// A duration like `"90s"` or `"1h30m"`, more than zero.
    pub(super) fn duration(&mut self, key: &'static str) -> Option<Duration> {
        self.parsed(key, values::duration)
    }

    /// A size like `"10MiB"`, in bytes.
    pub(super) fn size(&mut self, key: &'static str) -> Option<u64> {
        self.parsed(key, values::size)
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.wrong_type(key, value, "true or false");
        }
        flag
    }

    /// An integer within limits.
    pub(super) fn integer(&mut self, key: &'static str, low: u32, high: u32) -> Option<u32> {
        let value = self.value(key)?;
        let Some(integer) = value.get_ref().as_integer() else {
            self.wrong_type(key, value, "an integer");
            return None;
        };
        let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number =
            number.and_then(|number| u32::try_from(number).ok()).filter(|n| (low..=high).contains(n));
        if number.is_none() {
            self.invalid(key, value, &format!("must be between {low} and {high}, not {integer}"));
        }
        number
    }

    /// A number, kept as the exact decimal that was written; never negative.
    pub(super) fn decimal(&mut self, key: &'static str) -> Option<Decimal> {
        let value = self.value(key)?;
        let text = match value.get_ref() {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            DeValue::Float(float) => float.as_str(),
            _ => {
                self.wrong_type(key, value, "a decimal number");
                return None;
            }
        };
        match Decimal::parse(text) {
            Ok(decimal) if decimal.is_negative() => {
                self.invalid(key, value, "must not be negative");
                None
            }
            Ok(decimal) => Some(decimal),
            Err(why) => {
                self.invalid(key, value, why);
                None
            }
        }
    }

    /// An array of strings, each of which `read` checks and makes something of.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        const MOST: usize = 1000;
        let value = self.value(key)?;
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "an array of strings");
            return None;
        };
        if array.len() > MOST {
            self.invalid(key, value, &format!("has {} entries; at most {MOST} are read", array.len()));
            return None;
        }
        let mut list = Vec::with_capacity(array.len());
        for item in array {
            match item.get_ref().as_str().map(&read) {
                Some(Ok(entry)) => list.push(entry),
                Some(Err(why)) => self.invalid(key, item, &format!("has an entry that {why}")),
                None => {
                    let found = described(item.get_ref());
                    self.invalid(
                        key,
                        item,
                        &format!("must be an array of strings, but one entry is {found}"),
                    );
                }
            }
        }
        Some(list)
    }

    /// Reports every key that nothing asked for.
    pub(super) fn finish(self) {
        for key in self.table.keys() {
            if self.asked.contains(&key.get_ref().as_ref()) {
                continue;
            }
            let shown = values::shown(key.get_ref());
            self.problems.add(key.span().start, format!("unknown key {shown} in {}", self.name));
            if let Some(hint) = suggestion(key.get_ref(), self.asked.iter().copied()) {
                self.problems.hint_last(hint);
            }
        }
    }
}

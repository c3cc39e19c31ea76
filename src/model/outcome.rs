//! The two sides of an attempt's outcome.
//!
//! They are kept apart because they are independent: an attempt that confirms its hypothesis often
//! leaves the bug where it was, and a bug sometimes goes away for a reason nobody had guessed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Error;

/// What the attempt says about its hypothesis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hypothesis {
    /// What was seen is what the hypothesis predicted.
    Supported,
    /// What was seen contradicts the hypothesis.
    Refuted,
    /// Neither, or nobody has said.
    #[default]
    Undecided,
}

/// What the attempt says about the bug.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bug {
    /// The bug is gone with this attempt's change.
    Fixed,
    /// The bug is still there.
    Remains,
    /// Nobody has said.
    #[default]
    Unknown,
}

impl Hypothesis {
    /// Every value, in the order they are shown.
    pub const ALL: [Self; 3] = [Self::Supported, Self::Refuted, Self::Undecided];

    /// The word used in storage, on the command line and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Refuted => "refuted",
            Self::Undecided => "undecided",
        }
    }
}

impl Bug {
    /// Every value, in the order they are shown.
    pub const ALL: [Self; 3] = [Self::Fixed, Self::Remains, Self::Unknown];

    /// The word used in storage, on the command line and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Remains => "remains",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Hypothesis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Hypothesis {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|value| value.as_str() == word)
            .ok_or_else(|| {
                Error::usage(format!("{word:?} is not an outcome of a hypothesis"))
                    .hint("use supported, refuted or undecided")
            })
    }
}

impl FromStr for Bug {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|value| value.as_str() == word)
            .ok_or_else(|| {
                Error::usage(format!("{word:?} is not an outcome of a bug"))
                    .hint("use fixed, remains or unknown")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_json_agree() {
        for value in Hypothesis::ALL {
            assert_eq!(value.as_str().parse::<Hypothesis>().unwrap(), value);
            assert_eq!(serde_json::to_string(&value).unwrap(), format!("\"{value}\""));
        }
        for value in Bug::ALL {
            assert_eq!(value.as_str().parse::<Bug>().unwrap(), value);
            assert_eq!(serde_json::to_string(&value).unwrap(), format!("\"{value}\""));
        }
        assert_eq!(
            (Hypothesis::default(), Bug::default()),
            (Hypothesis::Undecided, Bug::Unknown)
        );
        assert!("maybe".parse::<Hypothesis>().is_err() && "gone".parse::<Bug>().is_err());
    }
}

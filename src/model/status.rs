//! Where an incident stands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Error;

/// Where an incident stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Under investigation.
    #[default]
    Open,
    /// The bug is fixed.
    Resolved,
    /// Nobody can go on before something outside changes.
    Blocked,
    /// Known, and left as it is.
    WontFix,
}

impl Status {
    /// Every status, in the order they are shown.
    pub const ALL: [Self; 4] = [Self::Open, Self::Resolved, Self::Blocked, Self::WontFix];

    /// The word used in storage, on the command line and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
            Self::Blocked => "blocked",
            Self::WontFix => "wont-fix",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Status {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == word)
            .ok_or_else(|| {
                Error::usage(format!("{word:?} is not a status"))
                    .hint("use open, resolved, blocked or wont-fix")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_json_agree() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse::<Status>().unwrap(), status);
            assert_eq!(serde_json::to_string(&status).unwrap(), format!("\"{status}\""));
        }
        assert!("fixed".parse::<Status>().is_err());
    }
}

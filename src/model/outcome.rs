//! The two sides of an attempt's outcome: what it says of the hypothesis, and of the bug.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::object::object_only;

macro_rules! word_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? } default $default:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// The word a ledger, the JSON views and people use.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Every word.
            pub const WORDS: &[&str] = &[$($word),+];
        }

        impl Default for $name {
            fn default() -> Self { Self::$default }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        // By hand: the derived one reads a word from `{"word":null}` too.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Word;
                impl serde::de::Visitor<'_> for Word {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "one of {}", $name::WORDS.join(", "))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Word)
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(format!("{text:?} is none of {}", Self::WORDS.join(", "))),
                }
            }
        }
    };
}
pub(crate) use word_enum;

word_enum! {
    /// What an attempt's result says of its hypothesis.
    Hypothesis {
        /// The result speaks for it.
        Supported = "supported",
        /// The result speaks against it.
        Refuted = "refuted",
        /// The result decides nothing.
        Undecided = "undecided",
    } default Undecided
}

word_enum! {
    /// What an attempt did to the bug.
    Bug {
        /// It is gone.
        Fixed = "fixed",
        /// It is still there.
        Remains = "remains",
        /// Nobody looked.
        Unknown = "unknown",
    } default Unknown
}

object_only!(Outcome);

/// Both sides together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Outcome {
    /// Of the hypothesis.
    #[serde(default)]
    pub hypothesis: Hypothesis,
    /// Of the bug.
    #[serde(default)]
    pub bug: Bug,
}

//! One opaque error type for the whole crate: what happened, why, and what to do about it.
//!
//! A single type with a [`Kind`] (instead of an enum per module) keeps the promise that every error
//! carries a hint and maps to one documented exit code, and lets a lower row attach the cause while
//! a door attaches the hint.

use std::fmt;

/// What class of trouble an error is; each class has one documented exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request was understood and refused, or a check found problems (exit 1).
    Refused,
    /// The command line or the configuration is wrong (exit 2).
    Usage,
    /// A gate failed (exit 4).
    GateFailed,
    /// A gate was not run, or could not decide (exit 5).
    GateNotRun,
    /// A remote or GitHub said no (exit 6).
    Remote,
    /// A bug of ours (exit 70).
    Bug,
}

impl Kind {
    /// The public exit code of this class.
    pub const fn exit_code(self) -> i32 {
        match self {
            Self::Refused => 1,
            Self::Usage => 2,
            Self::GateFailed => 4,
            Self::GateNotRun => 5,
            Self::Remote => 6,
            Self::Bug => 70,
        }
    }
}

/// What went wrong, why (outermost cause first) and what the user can do next.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: Kind,
    what: String,
    causes: Vec<String>,
    hints: Vec<String>,
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of the given class.
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, what: what.into(), causes: Vec::new(), hints: Vec::new() }))
    }

    /// A refusal (exit 1).
    pub fn refused(what: impl Into<String>) -> Self {
        Self::new(Kind::Refused, what)
    }

    /// A wrong command line or configuration (exit 2).
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Kind::Usage, what)
    }

    /// A bug of ours (exit 70).
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(Kind::Bug, what)
    }

    /// Adds a cause below those already there.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.0.causes.push(cause.to_string());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Says in what larger task this happened; the former message becomes the first cause.
    #[must_use]
    pub fn while_doing(mut self, what: impl Into<String>) -> Self {
        let inner = std::mem::replace(&mut self.0.what, what.into());
        self.0.causes.insert(0, inner);
        self
    }

    /// The class.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The same error in another class.
    #[must_use]
    pub fn with_kind(mut self, kind: Kind) -> Self {
        self.0.kind = kind;
        self
    }

    /// What happened, in one line.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// Why, outermost first.
    pub fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// What to do next.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)?;
        for cause in &self.0.causes {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::refused("an operating-system call failed").because(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_outside_in() {
        let error = Error::refused("the blob is missing")
            .because("odb: not found")
            .while_doing("cannot show evidence");
        assert_eq!(error.to_string(), "cannot show evidence: the blob is missing: odb: not found");
        assert_eq!(error.kind().exit_code(), 1);
    }
}

//! What a record proves, and views and texts made from it: JSON for programs, Markdown for people.

pub mod blocked;
pub mod codeowners;
pub mod listing;
pub mod pull_request;
pub mod standing;
pub mod views;
pub mod workflows;

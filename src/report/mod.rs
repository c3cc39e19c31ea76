//! Views and texts made from an incident: JSON for programs, the text of a pull request for people.

pub mod blocked;
pub mod standing;
pub mod views;

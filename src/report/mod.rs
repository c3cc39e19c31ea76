//! Views and texts made from an incident: JSON for programs, the text of a pull request for people.

pub mod standing;
pub mod views;

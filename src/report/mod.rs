//! What a record proves, and texts for other people's eyes: values in, values and Markdown out.

pub mod codeowners;
pub mod pull_request;
pub mod standing;
pub mod workflows;

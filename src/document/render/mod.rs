//! Post-mortems for readers: one HTML page, Jira's document format, plain text; and a page of the folder.
//!
//! Documents come from strangers: raw HTML is off, links lead to safe schemes only, and nothing is loaded from anywhere.

pub mod html;
pub mod links;
pub mod tree;

#[cfg(test)]
mod tests;

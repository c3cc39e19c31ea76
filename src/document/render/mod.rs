//! Post-mortems for readers: one HTML page, Jira's document format, plain text; and a page of the folder.
//!
//! Documents come from strangers: raw HTML is off, links lead to safe schemes only, and nothing is loaded from anywhere.

pub mod adf;
mod adf_cut;
pub mod base64;
pub mod html;
pub mod index;
pub mod links;
pub mod page;
pub mod pictures;
pub mod text;
pub mod tree;

/// The longest document that is rendered, in bytes: a hundred times the longest that people have written.
pub const MOST_BYTES: usize = 8 * 1024 * 1024;

#[cfg(test)]
mod tests;

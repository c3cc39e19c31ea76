//! `git incident`: the lab notebook inside git.
//!
//! Whoever debugs something hard records each attempt as it happens; the evidence stays with the
//! repository; the post-mortem and the text of the draft pull request are made from what was
//! recorded. `docs/ARCHITECTURE.md` shows the house; the rows below are its walls, and
//! `tests/tidy.rs` keeps them standing:
//!
//! | row | modules | rule |
//! |---|---|---|
//! | 0 words | [`model`], [`event`], [`fold`] | pure: no I/O, no clock |
//! | 1 engines | [`config`], [`document`], [`links`], [`redact`], [`report`], [`search`], [`validate`] | bytes in, values and findings out; total |
//! | 2 git | [`git`] | the only place that runs the `git` program |
//! | 3 outside | [`device`], [`forge`], [`runner`], [`store`] | typed errors |
//! | 4 session | [`session`] | opened repository, configuration, identity, clock, randomness |
//! | 5 doors | [`cli`], [`hook`] | thin; printing happens here alone |

pub mod model;

pub mod event;
pub mod fold;

pub mod config;
pub mod document;
pub mod links;
pub mod redact;
pub mod report;
pub mod search;
pub mod validate;

pub mod git;

pub mod device;
pub mod forge;
pub mod runner;
pub mod store;

pub mod session;

pub mod cli;
pub mod hook;

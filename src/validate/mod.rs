//! Row 1: what a push must show, and what the runs of a gate mean. Pure: no repository, no clock.
//!
//! | file | what it knows |
//! |---|---|
//! | [`push`] | what git tells a `pre-push` hook |
//! | [`plan`] | which gates are due, and in whose version |
//! | [`gate`] | what the results of a gate's runs mean, one file per kind |
//! | [`verdict`] | what several verdicts mean together, as an exit status |

pub mod gate;
pub mod plan;
pub mod push;
pub mod verdict;

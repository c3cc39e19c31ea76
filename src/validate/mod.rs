//! Row 1: what a push must show, what the runs of a gate mean, how tensors compare. Pure: no repository, no clock.
//!
//! | file | what it knows |
//! |---|---|
//! | [`push`] | what git tells a `pre-push` hook |
//! | [`plan`] | which gates are due, and in whose version |
//! | [`gate`] | what the results of a gate's runs mean, one file per kind |
//! | [`kernel`] | launching a kernel: what is launched, with which inputs, and what the launches say |
//! | [`tensor`] | element types, shapes, and the files that tensors come in |
//! | [`compare`] | what comparing two tensors finds, and what a device must be able to do for it |
//! | [`verdict`] | what several verdicts mean together, as an exit status |

pub mod compare;
pub mod gate;
pub mod kernel;
pub mod plan;
pub mod push;
pub mod tensor;
pub mod verdict;

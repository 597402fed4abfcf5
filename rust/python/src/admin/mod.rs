//! `Admin` and `AsyncAdmin`: topics, the offsets of groups, and transactions.
//!
//! - `sync` and `asynchronous`: the two classes, whose operations are written in Python (`ottla/admin/`).
//! - `call`: requests that Python builds and reads, for these operations.
//! - `transactions`: the operations on transactions and their results.

pub(crate) mod asynchronous;
pub(crate) mod call;
pub(crate) mod sync;
pub(crate) mod transactions;

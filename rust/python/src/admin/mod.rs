//! `Admin` and `AsyncAdmin`: topics, the offsets of groups, and transactions.
//!
//! - `admin_ops`: each operation once, as a future; `sync` blocks on it, `asynchronous` returns it to
//!   asyncio.
//! - `call`: requests that Python builds and reads, for the operations that are written in Python.
//! - `item_errors`: the argument `errors` of calls about many items.
//! - `transactions`: the operations on transactions and their results.

mod admin_ops;
pub(crate) mod asynchronous;
pub(crate) mod call;
mod item_errors;
pub(crate) mod sync;
pub(crate) mod transactions;

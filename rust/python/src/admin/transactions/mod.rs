//! Operations on transactions: list, describe, find the open ones of partitions, and abort them.

mod asynchronous;
mod docs;
mod operations;
mod results;
mod sync;

pub(crate) use results::{OpenTransaction, ProducerState, TransactionDescription, TransactionListing};

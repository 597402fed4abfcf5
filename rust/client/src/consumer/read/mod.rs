//! Reading: from completed fetches to records and Arrow batches, and the positions that move with them.
//!
//! - `fetch_collector`: takes completed fetches and marks records as delivered: the only way to a position.
//! - `record_decoder`, `record_set`, `read_limit`: records of one batch, up to a limit; `record_buffer`: those that were not delivered yet.
//! - `arrow_decoding`, `arrow_buffer`: the same as Arrow batches (feature `arrow`).
//! - `typed_set`: the same with typed keys and values.
//! - `partition_filter`: the partitions whose records a poll returns.
//! - `buffered`: waits until records or a batch are buffered, and pops them.
//!
//! Invariant: what a call has buffered and not delivered, the next call returns, or it is fetched again.

#[cfg(feature = "arrow")]
pub(super) mod arrow_buffer;
#[cfg(feature = "arrow")]
pub(super) mod arrow_decoding;
pub(super) mod buffered;
mod fetch_collector;
pub(super) mod partition_filter;
pub(super) mod read_limit;
pub(super) mod record_buffer;
pub(super) mod record_decoder;
pub(super) mod record_set;
#[cfg(feature = "arrow")]
pub(super) mod typed_set;

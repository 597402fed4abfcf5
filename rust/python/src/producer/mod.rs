//! `Producer` and `AsyncProducer`.
//!
//! - `sync`, `asynchronous`: the two classes over one `producer_handle`; `backlog`: records that wait for room.
//! - `hooks`: `interceptors`, `serializers` and `partitioner` of the application, in this order.
//! - `send_batch`: many records in one call, from `arrow_rows` or `list_rows`; `row_results`: the result of each row.
//! - `delivery`, `batch_delivery`, `delivery_groups`, `callbacks`: how the application learns of results.
//! - `exit`: producers that are open when the interpreter ends.

pub(crate) mod arrow_array;
pub(crate) mod arrow_rows;
pub(crate) mod async_producer_handle;
pub(crate) mod asynchronous;
pub(crate) mod backlog;
pub(crate) mod batch_args;
pub(crate) mod batch_delivery;
pub(crate) mod callbacks;
pub(crate) mod delivery;
pub(crate) mod delivery_groups;
pub(crate) mod exit;
pub(crate) mod hooks;
pub(crate) mod intercepted_rows;
pub(crate) mod interceptors;
pub(crate) mod list_rows;
pub(crate) mod owned_rows;
pub(crate) mod partitioner;
pub(crate) mod producer_handle;
pub(crate) mod record_metadata;
pub(crate) mod row_results;
pub(crate) mod send_batch;
pub(crate) mod serializers;
pub(crate) mod sync;

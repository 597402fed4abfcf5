//! `Producer` and `AsyncProducer`.
//!
//! - `base`: methods that do not wait; `sync` and `asynchronous`: those that do, over `producer_handle` and
//!   `async_producer_handle`; `docs`: the docstrings of both; `backlog`: asyncio records that wait for their topic or
//!   for memory.
//! - `hooks`: the application's `interceptors`, `serializers` and `partitioner`, in this order.
//! - `record`: the arguments of `send`. `send_batch`: many records in one call, given as `batch_args`, read by `arrow_rows` or
//!   `list_rows` into `owned_rows`; `intercepted_rows` are sent one by one; `row_results`: their results.
//! - `delivery`, `batch_delivery`, `record_metadata`: what the application gets for its records;
//!   `delivery_groups` and `callbacks` complete futures and call callbacks.
//! - `transactions`: the calls of both classes about transactions; `transactional_id`: of a producer on a
//!   shared client; `prepared_transaction`: one that another process ends.

pub(crate) mod arrow_array;
pub(crate) mod arrow_rows;
pub(crate) mod async_producer_handle;
pub(crate) mod asynchronous;
pub(crate) mod backlog;
pub(crate) mod base;
pub(crate) mod batch_args;
pub(crate) mod batch_delivery;
pub(crate) mod callbacks;
pub(crate) mod delivery;
pub(crate) mod delivery_groups;
mod docs;
pub(crate) mod hooks;
pub(crate) mod intercepted_rows;
pub(crate) mod interceptors;
pub(crate) mod list_rows;
pub(crate) mod owned_rows;
pub(crate) mod partitioner;
mod plain_columns;
pub(crate) mod prepared_transaction;
pub(crate) mod producer_handle;
pub(crate) mod record;
pub(crate) mod record_metadata;
pub(crate) mod row_results;
pub(crate) mod send_batch;
pub(crate) mod serializers;
pub(crate) mod sync;
mod transactional_id;
pub(crate) mod transactions;

pub(crate) use prepared_transaction::PreparedTransaction;

//! `Consumer` and `AsyncConsumer`, over one `consumer_handle`.
//!
//! - `base`: methods that do not wait; `sync` and `asynchronous`: those that do; `blocking`: the
//!   blocking consumer's poll loop.
//! - `consumer_handle`: the core's consumer and its buffers: `record_buffer`, `arrow_buffer`.
//! - `record`, `deserializers`: records as objects; `partitions`: partitions and offsets.
//! - `rebalance_listener`, `rebalance_change`: rebalances and their callbacks; `assignors`: custom ones.
//! - `poll_guard`: one poll at a time; `commit_callbacks`: asynchronous commits.

mod arrow_buffer;
mod assignors;
mod asynchronous;
mod base;
mod blocking;
mod commit_callbacks;
mod consumer_handle;
mod deserializers;
mod partitions;
mod poll_guard;
mod rebalance_change;
mod rebalance_listener;
mod record;
mod record_buffer;
mod sync;

pub(crate) use assignors::MemberSubscription;
pub(crate) use asynchronous::AsyncConsumerBase;
pub(crate) use base::ConsumerBase;
pub(crate) use partitions::{GroupMetadata, OffsetAndMetadata};
pub(crate) use rebalance_change::RebalanceChange;
pub(crate) use record::Record;
pub(crate) use sync::Consumer;

//! `Consumer` and `AsyncConsumer`, over one engine.
//!
//! - `base`: what neither has to wait for; `sync` and `asynchronous`: what they wait for, each in its way.
//! - `engine`: the consumer with what is on its way to the program; `held`: records, `columns`: Arrow.
//! - `record`: what a program gets; `deserializers`: what makes objects of its key and value.
//! - `assignors`: those that are written in Python.
//! - `change`: rebalances and their callbacks; `turn`: one poll at a time; `outcomes`: commits that
//!   nobody waits for.
//! - `partitions`: how partitions and offsets come from Python and go there.

mod arrow_buffer;
mod assignors;
mod asynchronous;
mod base;
mod commit_callbacks;
mod consumer_handle;
mod deserializers;
mod partitions;
mod poll_guard;
mod rebalance_change;
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

//! `Consumer` and `AsyncConsumer`, over one `consumer_handle`.
//!
//! - `base`: methods that do not wait; `sync` and `asynchronous`: those that do; `docs`: the docstrings of both.
//! - `blocking`, `async_call`: run the steps of a call on a thread or for a coroutine; `steps`: what the core
//!   does in each step. The order of the steps is the core's.
//! - `subscription_arg`: the argument of `subscribe`.
//! - `consumer_handle`: the core's consumer and what Python adds to it.
//! - `hooks`: the application's `deserializers`, `interceptors` and `assignors`.
//! - `share`: the share consumers, which acquire records instead of partitions.
//! - `record`: records as objects; `partitions`: partitions and offsets; `watermarks`: the bounds of a log.
//! - `rebalance_listener`, `rebalance_change`: rebalances and their callbacks.
//! - `poll_guard`: one poll at a time; `commit_callbacks`: asynchronous commits.

mod assignors;
mod async_call;
mod asynchronous;
mod base;
pub(crate) mod blocking;
mod commit_callbacks;
pub(crate) mod consumer_handle;
mod deserializers;
mod docs;
mod hooks;
mod interceptors;
pub(crate) mod partitions;
pub(crate) mod poll_guard;
mod rebalance_change;
mod rebalance_listener;
pub(crate) mod record;
pub(crate) mod share;
mod steps;
mod subscription_arg;
mod sync;
mod watermarks;

pub(crate) use assignors::MemberSubscription;
pub(crate) use async_call::ConsumerCall;
pub(crate) use asynchronous::AsyncConsumerBase;
pub(crate) use base::ConsumerBase;
pub(crate) use partitions::{GroupMetadata, OffsetAndMetadata};
pub(crate) use rebalance_change::RebalanceChange;
pub(crate) use record::Record;
pub(crate) use sync::Consumer;
pub(crate) use watermarks::Watermarks;

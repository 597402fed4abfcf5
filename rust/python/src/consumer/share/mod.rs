//! `ShareConsumer` and `AsyncShareConsumer`, over one `handle`.
//!
//! - `base`: methods that do not wait; `sync` and `asynchronous`: those that do.
//! - `handle`: the core's share consumer and what Python adds to it.

mod asynchronous;
mod base;
mod handle;
mod sync;

pub(crate) use asynchronous::AsyncShareConsumerBase;
pub(crate) use base::ShareConsumerBase;
pub(crate) use sync::ShareConsumer;

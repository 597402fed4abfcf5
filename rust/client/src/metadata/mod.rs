//! What the client knows of the cluster: an immutable snapshot, replaced as a whole.
//!
//! `snapshot.rs` is the data and how an answer is merged into it; `cache.rs` holds the current
//! one and refreshes it.

mod cache;
mod snapshot;

pub(crate) use cache::Turn;
pub use cache::{Cache, Want};
pub use snapshot::{Broker, Partition, Snapshot, Topic};

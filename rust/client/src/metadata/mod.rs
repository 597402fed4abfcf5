//! What the client knows of the cluster: an immutable snapshot, replaced as a whole.
//!
//! `snapshot.rs` is the data and how an answer is merged into it; `cache.rs` holds the current
//! one and refreshes it; `events.rs` says what changed from one to the next.

mod cache;
mod events;
mod snapshot;

pub(crate) use cache::Turn;
pub use cache::{Cache, Want};
pub use events::{Event, changes};
pub use snapshot::{Broker, Partition, Snapshot, Topic};

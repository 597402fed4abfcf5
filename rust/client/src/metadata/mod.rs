//! What the client knows of the cluster: an immutable snapshot, replaced as a whole.
//!
//! `snapshot.rs`, `topic.rs` and `table.rs` are the data and how an answer is merged into it;
//! `interest.rs` is which topics it is kept fresh for; `cache.rs` holds the current one and refreshes
//! it; `events.rs` says what changed from one to the next.

mod cache;
mod events;
mod interest;
mod pattern;
mod snapshot;
mod table;
mod topic;

pub(crate) use cache::Turn;
pub use cache::{Cache, Want};
pub use events::{Event, changes};
pub use interest::Pattern;
pub(crate) use snapshot::brokers;
pub use snapshot::{Broker, NewLeader, Snapshot};
pub use topic::{Partition, Topic};

//! The cluster's metadata: an immutable snapshot, replaced as a whole.
//!
//! `snapshot.rs`, `topic.rs` and `topic_index.rs` hold the data and merge responses. `tracked_topics.rs`
//! decides which topics refreshes ask for. `cache.rs` holds the current snapshot and coordinates
//! refreshes; `events.rs` computes what changed.

mod cache;
mod events;
pub(crate) mod no_leader;
mod pattern;
mod snapshot;
mod topic;
mod topic_index;
mod tracked_topics;

pub(crate) use cache::RefreshPermit;
pub use cache::{Cache, TopicSelector};
pub use events::{Event, diff};
pub(crate) use snapshot::brokers;
pub use snapshot::{Broker, NewLeader, Snapshot};
pub use topic::{Partition, Topic};
pub use tracked_topics::Pattern;

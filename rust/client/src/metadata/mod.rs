//! What the client knows of the cluster: an immutable snapshot, replaced as a whole.
//!
//! `snapshot.rs`, `topic.rs` and `table.rs` are the data and how an answer is merged into it;
//! `interest.rs` is which topics it is kept fresh for; `cache.rs` holds the current one and refreshes
//! it; `events.rs` says what changed from one to the next.

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

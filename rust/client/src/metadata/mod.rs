//! The cluster's metadata: an immutable snapshot, replaced as a whole.
//!
//! `snapshot.rs`, `topic.rs` and `topic_index.rs` hold the data and merge responses. `tracked_topics.rs`
//! decides which topics refreshes ask for, `refresh_schedule.rs` when the next one is due, and
//! `refresh_state.rs` lets one at a time run. `leader_hints.rs` takes leaders from other responses. `cache.rs` holds the current snapshot; `events.rs` computes
//! what changed.

mod cache;
mod events;
mod leader_hints;
pub(crate) mod no_leader;
mod pattern;
mod refresh_schedule;
mod refresh_state;
mod snapshot;
mod topic;
mod topic_index;
mod tracked_topics;

pub(crate) use cache::RefreshPermit;
pub use cache::{Cache, TopicSelector};
pub use events::{Event, diff};
pub(crate) use leader_hints::LeaderHints;
pub(crate) use refresh_schedule::{NextRefresh, Pace, RefreshNeed};
pub(crate) use refresh_state::RefreshOutcome;
pub use snapshot::{Broker, NewLeader, Snapshot};
pub use topic::{Partition, Topic};
pub use tracked_topics::Pattern;

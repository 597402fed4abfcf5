//! Requests that the leader of each partition serves: one request per leader, repeated until each
//! partition has a result.

mod leader_requests;
mod list_offsets;
mod offset_for_leader_epoch;

pub(crate) use leader_requests::{PartitionRequests, PartitionResults};
pub use list_offsets::{ListedOffset, OffsetSpec};
pub(crate) use offset_for_leader_epoch::EpochEnd;

//! Requests that each partition's leader results for itself: one request per leader, repeated until each
//! partition has its result.

mod leader_requests;
mod list_offsets;
mod offset_for_leader_epoch;

pub(crate) use leader_requests::{PartitionRequests, PartitionResults};
pub use list_offsets::{ListedOffset, OffsetSpec};
pub(crate) use offset_for_leader_epoch::EpochEnd;

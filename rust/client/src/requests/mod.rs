//! Requests to many brokers at once: to the leader of each partition, the coordinator of each group or
//! transactional id, or all brokers. One request per broker, repeated until everything has a result.

mod broker_requests;
mod coordinator_fan_out;
mod leader_requests;
mod list_offsets;
mod offset_for_leader_epoch;
#[cfg(feature = "untyped")]
pub mod untyped;

pub use broker_requests::no_broker_to_ask;
pub(crate) use leader_requests::{PartitionRequests, PartitionResults};
pub use list_offsets::{ListedOffset, OffsetSpec};
pub(crate) use offset_for_leader_epoch::EpochEnd;

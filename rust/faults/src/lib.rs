//! Faults as data: a condition on requests, and a reaction to the requests that meet it. No I/O, no clock.
//!
//! - [`Fault`], [`Match`], [`Reaction`]: a fault.
//! - [`FaultRegistry`]: the injected faults, and which of them hit a request.
//! - [`document`]: faults as JSON, in the words of `ottla.testing.Fault`.
//!
//! Faults are tried in the order of their injection. Of several faults with the same kind of reaction and the same
//! target, a request meets only the first, so that a script of errors hits one request each. Faults of different kinds
//! or for different partitions act together.

pub mod document;
mod registry;

use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, ErrorCode};

pub use registry::{FaultRegistry, FaultTarget, Hit, InjectedFault, RequestInfo};

/// A fault: a condition on requests and a reaction to those that meet it.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The requests that it may hit.
    pub on: Match,
    /// What happens to a request that it hits.
    pub then: Reaction,
    /// The maximum number of hits; `None` means no limit.
    pub times: Option<u64>,
}

impl Fault {
    /// A fault that hits every matching request.
    #[must_use]
    pub fn new(on: Match, then: Reaction) -> Self {
        Self { on, then, times: None }
    }

    /// A fault that hits one request.
    #[must_use]
    pub fn once(on: Match, then: Reaction) -> Self {
        Self { on, then, times: Some(1) }
    }
}

/// A condition on requests: all fields that are set must match.
#[derive(Debug, Clone, Default)]
pub struct Match {
    /// Requests to this broker.
    pub broker: Option<i32>,
    /// Requests of this API.
    pub api: Option<ApiKey>,
    /// Requests in these versions.
    pub versions: Option<RangeInclusive<i16>>,
    /// Requests with this client id.
    pub client_id: Option<String>,
    /// Requests with this topic; [`Reaction::Error`] applies to that topic's part only.
    pub topic: Option<String>,
    /// Requests with this partition.
    pub partition: Option<i32>,
    /// The number of matching requests to leave unharmed first.
    pub skip: u64,
}

impl Match {
    /// Matches every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Matches the requests of one API.
    #[must_use]
    pub fn api(api: ApiKey) -> Self {
        Self { api: Some(api), ..Self::default() }
    }

    /// Restricts the condition to one broker.
    #[must_use]
    pub fn broker(mut self, id: i32) -> Self {
        self.broker = Some(id);
        self
    }

    /// Restricts the condition to one client id.
    #[must_use]
    pub fn client_id(mut self, client_id: impl Into<String>) -> Self {
        self.client_id = Some(client_id.into());
        self
    }

    /// Restricts the condition to one topic.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// Restricts the condition to one partition.
    #[must_use]
    pub fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// Restricts the condition to a range of versions.
    #[must_use]
    pub fn versions(mut self, versions: RangeInclusive<i16>) -> Self {
        self.versions = Some(versions);
        self
    }

    /// Leaves the first `count` matching requests unharmed.
    #[must_use]
    pub fn skip(mut self, count: u64) -> Self {
        self.skip = count;
        self
    }
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// Respond with this error code, per partition or topic if the response has those, else once. The part
    /// with the error is not applied.
    Error(ErrorCode),
    /// Apply the request, but respond with this error code. A leader does so that loses its leadership
    /// while it waits for its followers, and a controller or coordinator that resigns. A request that
    /// changes nothing is rejected, as with [`Reaction::Error`].
    ErrorAfterHandling(ErrorCode),
    /// Close the connection instead of responding.
    Disconnect(When),
    /// Handle the request after this delay, even if the client has disconnected. Later requests on the
    /// connection wait, too.
    Delay(Duration),
    /// Respond with this `throttle_time_ms`. The broker itself does not throttle.
    Throttle(i32),
    /// Never respond again on this connection, and keep it open. The request is not handled.
    Silence,
    /// Make this broker the leader of the matching partitions, then handle the request.
    MoveLeader {
        /// The new leader.
        to: i32,
    },
    /// Omit this partition of each matching topic from a Metadata response, as a broker does that does not
    /// know all of a topic yet. Other requests do not count as hits.
    OmitPartition(i32),
    /// Send these bytes instead of a response. The request is not handled.
    Bytes(Bytes),
    /// Flip one bit of the records in the response. A response without records does not count as a hit.
    CorruptRecords,
    /// Handle the request, send half of the response, and close the connection.
    TruncateFrame,
    /// Cut the connection once this many more bytes of responses were sent, wherever in a response that is.
    Cut(u64),
    /// Move this many bytes a second at most, in each direction of the connection, until the fault is removed.
    Slow(NonZeroU64),
    /// Move no byte on the connections of the broker, existing and new ones, until the fault is removed.
    Freeze,
}

impl Reaction {
    /// The name in lower case, with underscores, as in [`document`].
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Error(_) => "error",
            Self::ErrorAfterHandling(_) => "error_after_handling",
            Self::Disconnect(_) => "disconnect",
            Self::Delay(_) => "delay",
            Self::Throttle(_) => "throttle",
            Self::Silence => "silence",
            Self::MoveLeader { .. } => "move_leader",
            Self::OmitPartition(_) => "omit_partition",
            Self::Bytes(_) => "bytes",
            Self::CorruptRecords => "corrupt_records",
            Self::TruncateFrame => "truncate_frame",
            Self::Cut(_) => "cut",
            Self::Slow(_) => "slow",
            Self::Freeze => "freeze",
        }
    }

    /// Whether it is a fault of the link between a client and a broker, which a gateway has and the mock cluster has
    /// not.
    #[must_use]
    pub fn is_of_a_link(&self) -> bool {
        matches!(self, Self::Cut(_) | Self::Slow(_) | Self::Freeze)
    }

    /// Whether it needs the cluster's own state, which the mock cluster has and a gateway has not.
    #[must_use]
    pub fn is_of_a_cluster(&self) -> bool {
        matches!(self, Self::MoveLeader { .. } | Self::OmitPartition(_))
    }
}

/// When a fault closes the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Nothing of the request is applied.
    BeforeHandling,
    /// The request is applied and its response lost.
    AfterHandling,
}

/// The id of an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(pub u64);

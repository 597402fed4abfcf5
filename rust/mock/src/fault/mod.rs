//! Faults as data: a condition on requests, and what happens to a request that meets it.
//!
//! A fault is injected with [`crate::MockCluster::inject`]. Faults are tried in the order of their
//! injection. Of those with the same kind of reaction and the same target, one request meets only
//! the first, so that a script of errors is met one request at a time; faults of different kinds or
//! for different partitions act together.

mod book;

use std::ops::RangeInclusive;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, ErrorCode};

pub(crate) use book::{Arrival, FaultBook, Plan, Target};

/// Something that goes wrong.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Which requests.
    pub on: Match,
    /// What happens to them.
    pub then: Reaction,
    /// How often, or always.
    pub times: Option<u64>,
}

impl Fault {
    /// A fault that happens always.
    #[must_use]
    pub fn new(on: Match, then: Reaction) -> Self {
        Self { on, then, times: None }
    }

    /// A fault that happens once.
    #[must_use]
    pub fn once(on: Match, then: Reaction) -> Self {
        Self { on, then, times: Some(1) }
    }
}

/// Which requests a fault is for: those that agree with everything that is set.
#[derive(Debug, Clone, Default)]
pub struct Match {
    /// Requests to this broker.
    pub broker: Option<i32>,
    /// Requests of this API.
    pub api: Option<ApiKey>,
    /// Requests in these versions.
    pub versions: Option<RangeInclusive<i16>>,
    /// Requests of the client of this name.
    pub client_id: Option<String>,
    /// Requests that concern this topic (or, in an [`Reaction::Error`], that topic's part of them).
    pub topic: Option<String>,
    /// Requests that concern this partition.
    pub partition: Option<i32>,
    /// How many matching requests pass unharmed first.
    pub skip: u64,
}

impl Match {
    /// Every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests of one API.
    #[must_use]
    pub fn api(api: ApiKey) -> Self {
        Self { api: Some(api), ..Self::default() }
    }

    /// The same, to one broker only.
    #[must_use]
    pub fn broker(mut self, id: i32) -> Self {
        self.broker = Some(id);
        self
    }

    /// The same, for one topic only.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// The same, for one partition only.
    #[must_use]
    pub fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// The same, in some versions only.
    #[must_use]
    pub fn versions(mut self, versions: RangeInclusive<i16>) -> Self {
        self.versions = Some(versions);
        self
    }

    /// The same, after `count` requests have passed.
    #[must_use]
    pub fn skip(mut self, count: u64) -> Self {
        self.skip = count;
        self
    }
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// It is refused with this code: at its partitions or topics where it has some, else as a whole.
    /// What is refused is not applied.
    Error(ErrorCode),
    /// It is applied, and its response has this code all the same: a leader that loses its place while
    /// it waits for its followers answers so, and so does a controller or coordinator that resigns. A
    /// request that changes nothing is refused, as by [`Reaction::Error`].
    ErrorAfterHandling(ErrorCode),
    /// The connection ends.
    Disconnect(When),
    /// It is held this long and then handled, whether or not the client is still there; what follows
    /// on the connection waits too.
    Delay(Duration),
    /// Its answer carries this `throttle_time_ms`. The broker itself does not hold back.
    Throttle(i32),
    /// It is not handled, and the connection stays open without another answer.
    Silence,
    /// The matching partitions get this leader before it is handled.
    MoveLeader {
        /// The new leader.
        to: i32,
    },
    /// Its Metadata response leaves out this partition of each matching topic, as one from a broker does
    /// that has not heard of all of a topic yet. Other requests do not count.
    OmitPartition(i32),
    /// It is not handled; these bytes go to the socket instead of an answer.
    Bytes(Bytes),
    /// One bit of the records in its answer is flipped. An answer without records does not count.
    CorruptRecords,
    /// It is handled, half of its answer is sent, and the connection ends.
    TruncateFrame,
}

/// When a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Nothing of the request is applied.
    BeforeHandling,
    /// The request is applied and its answer lost.
    AfterHandling,
}

/// Names an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FaultId(pub u64);

//! [`InFlight`]: the requests of a connection that wait for their responses.
//!
//! Invariant: first in, first out, as brokers respond. A response that the gateway gives itself waits for its turn.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use ottla_protocol::ApiKey;
use tokio::sync::oneshot;

use crate::faults::ResponseFault;
use crate::rules::Filter;
use crate::session::Coordinated;

/// Where a response comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// From the broker.
    Broker,
    /// From the broker, to a token: another token, which has no header.
    Token,
    /// From the gateway: the whole frame.
    Gateway(Bytes),
    /// From the gateway: bytes that are no response.
    Raw(Bytes),
    /// None: the connection closes.
    Close,
    /// None, and no other request of the connection has one any more.
    Silence,
    /// From the broker, to a request of the gateway's own, which gets it without its length.
    Own(oneshot::Sender<Bytes>),
}

/// A request that waits for its response.
#[derive(Debug)]
pub(crate) struct PendingResponse {
    /// The API.
    pub(crate) api: ApiKey,
    /// The version.
    pub(crate) version: i16,
    /// The client's number of the request.
    pub(crate) correlation_id: i32,
    /// When the request arrived.
    pub(crate) since: Instant,
    /// Where the response comes from.
    pub(crate) source: Source,
    /// What the request names that the broker coordinates.
    pub(crate) named: Option<Box<Coordinated>>,
    /// What happens to the response.
    pub(crate) fault: Option<Box<ResponseFault>>,
    /// What its response must not show.
    pub(crate) filter: Option<Filter>,
}

impl PendingResponse {
    /// A response to which nothing happens.
    pub(crate) fn new(
        api: ApiKey,
        version: i16,
        correlation_id: i32,
        since: Instant,
        source: Source,
    ) -> Self {
        Self { api, version, correlation_id, since, source, named: None, fault: None, filter: None }
    }
}

/// The requests that wait for their responses, the oldest first.
#[derive(Debug)]
pub(crate) struct InFlight {
    pending: VecDeque<PendingResponse>,
    max: usize,
}

impl InFlight {
    /// Is full with `max` requests.
    pub(crate) fn new(max: usize) -> Self {
        Self { pending: VecDeque::new(), max }
    }

    /// Adds a request.
    pub(crate) fn push(&mut self, pending: PendingResponse) {
        self.pending.push_back(pending);
    }

    /// Whether a request of the client must wait until another one has its response.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= self.max
    }

    /// The oldest request.
    pub(crate) fn front(&self) -> Option<&PendingResponse> {
        self.pending.front()
    }

    /// Removes the oldest request.
    pub(crate) fn pop(&mut self) -> Option<PendingResponse> {
        self.pending.pop_front()
    }

    /// Whether the next frame of the broker is a token.
    pub(crate) fn token_is_next(&self) -> bool {
        self.front().is_some_and(|pending| matches!(pending.source, Source::Token))
    }

    /// Whether the newest request is a token.
    pub(crate) fn ends_with_token(&self) -> bool {
        self.pending.back().is_some_and(|pending| matches!(pending.source, Source::Token))
    }

    /// Removes the newest request if it is a token.
    pub(crate) fn pop_last_token(&mut self) -> Option<PendingResponse> {
        if self.ends_with_token() { self.pending.pop_back() } else { None }
    }

    /// Whether no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether the oldest request has its response, or the end of the connection, from the gateway.
    pub(crate) fn gateway_is_next(&self) -> bool {
        let source = self.front().map(|pending| &pending.source);
        matches!(source, Some(Source::Gateway(_) | Source::Raw(_) | Source::Close))
    }

    /// Whether no request of the connection gets a response any more.
    pub(crate) fn is_silent(&self) -> bool {
        self.front().is_some_and(|pending| matches!(pending.source, Source::Silence))
    }

    /// Whether no further request is served.
    pub(crate) fn is_over(&self) -> bool {
        let last = self.pending.back().map(|pending| &pending.source);
        matches!(last, Some(Source::Silence | Source::Close))
    }

    /// Takes what happens to the oldest response.
    pub(crate) fn take_fault(&mut self) -> Option<Box<ResponseFault>> {
        self.pending.front_mut()?.fault.take()
    }
}

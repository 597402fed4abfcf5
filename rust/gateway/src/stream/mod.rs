//! The bytes of a connection as frames: which of them go through, which change, which are answered here. No I/O.
//!
//! - `requests.rs`: from the client to the broker.
//! - `responses.rs`: from the broker to the client.
//! - `tokens.rs`: the messages of a login without headers, in both directions.
//! - `faulty.rs`: responses to which an injected fault happens.
//! - `in_flight.rs`: the requests that wait for their responses, in order.
//! - `output.rs`: the bytes to send.
//! - `fuzzing.rs`: both directions with bytes that nobody has checked.
//!
//! Invariant: nothing is gathered but the first bytes of a request, short responses, and the brokers or endpoints in
//! longer ones; all of these have a limit. What is passed on has the bytes of the peer.

mod faulty;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod in_flight;
mod output;
mod requests;
mod responses;
mod tokens;

pub(crate) use in_flight::{InFlight, PendingResponse, Source};
pub(crate) use output::{Output, Segment};
pub(crate) use requests::{LENGTH_MIN, RequestHead, RequestStream, Verdict, read_head};
pub(crate) use responses::ResponseStream;
pub(crate) use tokens::tokens_follow;

/// The longest frame of a client that is not logged in, and of a login.
pub(crate) const FRAME_MAX_BEFORE_LOGIN: usize = 64 * 1024;

use crate::rewrite::RewriteError;

#[cfg(test)]
mod tests;

/// How far a stream has come in its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The bytes that were examined; the next input starts after them.
    pub(crate) consumed: usize,
    /// The bytes that the next input must have at least.
    pub(crate) wanted: usize,
}

/// Bytes that no Kafka client or broker sends; the connection is closed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Violation {
    /// A frame of a length that is not allowed.
    #[error("a frame of {length} bytes, where {min} to {max} are allowed")]
    FrameLength {
        /// The announced length.
        length: i32,
        /// The least length.
        min: usize,
        /// The greatest length.
        max: usize,
    },
    /// A request whose header cannot be read.
    #[error("the header of a request cannot be read")]
    RequestHeader,
    /// A request that the gateway does not know.
    #[error(
        "a request of API key {api_key} in version {version}, which the gateway does not support and has not offered"
    )]
    UnsupportedRequest {
        /// The key.
        api_key: i16,
        /// The version.
        version: i16,
    },
    /// A request that only a client that is logged in may send, or one of a login that is out of turn.
    #[error("{0} before it was logged in, or out of turn in a login")]
    BeforeLogin(&'static str),
    /// A request that is not allowed, and for which there is no response.
    #[error("a request of {0}, which is not allowed here")]
    Denied(&'static str),
    /// A request that cannot be decoded.
    #[error("a malformed request of {0}")]
    MalformedRequest(&'static str),
    /// A response to nothing.
    #[error("a response with correlation id {0} without a request")]
    UnexpectedResponse(i32),
    /// A response to another request.
    #[error("a response with correlation id {found} instead of {expected}")]
    CorrelationId {
        /// That of the response.
        found: i32,
        /// That of the request.
        expected: i32,
    },
    /// A response whose part with addresses is too long to rewrite.
    #[error("the addresses in the response to {api} take more than {max} bytes")]
    TooLongToRewrite {
        /// The API.
        api: &'static str,
        /// The limit.
        max: usize,
    },
    /// A malformed response.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

//! The destination of a request, which [`Client::connection`](super::Client::connection) resolves.

/// The destination of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'a> {
    /// Any broker.
    Any,
    /// The controller; any broker if it is unknown, because brokers forward to it.
    Controller,
    /// The broker with this id.
    Broker(i32),
    /// The leader of this partition.
    Leader(&'a str, i32),
}

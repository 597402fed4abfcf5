//! The kind of an error, by which callers tell errors apart.

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A configuration key or an argument is invalid.
    Config,
    /// No bootstrap server was reachable.
    Bootstrap,
    /// A connection could not be opened, or was lost.
    Connection,
    /// The broker refused the credentials.
    Authentication,
    /// The principal is not authorized.
    Authorization,
    /// A deadline passed.
    Timeout,
    /// A broker returned an error.
    Broker,
    /// The topic or partition does not exist.
    UnknownTopic,
    /// The topic exists already.
    TopicExists,
    /// A record exceeds the size that the configuration or the broker allows.
    RecordTooLarge,
    /// The member is no longer in the group: its offsets were not committed.
    CommitFailed,
    /// Requested records are no longer in the log.
    DataLoss,
    /// Fenced by a newer instance with the same id.
    Fenced,
    /// The transaction can only be aborted; the producer is usable after that.
    TransactionAbortable,
    /// The record was not written, because its transaction was aborted.
    TransactionAborted,
    /// The application has given the record up.
    Purged,
    /// The peer sent malformed data.
    Protocol,
    /// A schema does not exist, is invalid or refused, or data does not fit it.
    Schema,
    /// The key or the value of a record cannot be decoded.
    Serialization,
    /// There is no offset to start from: none is committed or it is not in the log, and no reset policy
    /// is configured.
    Offset,
    /// The call is not allowed in the object's current state.
    State,
    /// Another thread interrupted the call.
    Wakeup,
    /// The object is closed.
    Closed,
    /// One of ottla's tasks panicked: a bug.
    Internal,
}

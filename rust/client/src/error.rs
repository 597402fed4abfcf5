//! What can go wrong, told once: kind, words, where, the broker's code, and the cause.
//!
//! Invariant: an error is cheap to clone, because everyone who waited on the same thing gets the
//! same one, and it never holds a secret.

use std::fmt;
use std::sync::Arc;

use ottla_protocol::records::RecordError;
use ottla_protocol::{ApiKey, ErrorCode, WireError};

use crate::printable::printable;
use crate::security::TlsFault;

/// The result of anything that the client does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What sort of thing went wrong: what a caller would want to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A configuration key or an argument is wrong.
    Config,
    /// No bootstrap server could be reached.
    Bootstrap,
    /// A connection could not be made, or ended.
    Connection,
    /// Credentials were refused.
    Authentication,
    /// The principal may not do this.
    Authorization,
    /// A deadline passed.
    Timeout,
    /// A broker answered with an error.
    Broker,
    /// A topic or a partition does not exist.
    UnknownTopic,
    /// A topic exists already.
    TopicExists,
    /// A record is larger than the configuration or the broker allows.
    RecordTooLarge,
    /// The group has gone on without this member: its offsets were not committed.
    CommitFailed,
    /// Records that were asked for are gone.
    DataLoss,
    /// Somebody newer has taken this client's place.
    Fenced,
    /// Bytes do not hold what they should.
    Protocol,
    /// There is no offset to read from: none is committed, or it is not in the log, and nothing says
    /// where to go on.
    Offset,
    /// The call does not fit the state the object is in.
    State,
    /// The call was ended by another thread.
    Wakeup,
    /// The object was closed.
    Closed,
    /// A task of ottla's own has died: a bug.
    Internal,
}

/// The phases in which a connection comes up; and `Request`, when it is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Resolving the host name.
    Dns,
    /// Connecting.
    Tcp,
    /// The TLS handshake.
    Tls,
    /// Asking for the broker's API versions.
    ApiVersions,
    /// Authenticating.
    Sasl,
    /// Asking for the cluster's metadata.
    Metadata,
    /// A request on a connection that is up.
    Request,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dns => "DNS",
            Self::Tcp => "TCP",
            Self::Tls => "TLS",
            Self::ApiVersions => "ApiVersions",
            Self::Sasl => "SASL",
            Self::Metadata => "Metadata",
            Self::Request => "request",
        })
    }
}

/// Where it went wrong; what is not known stays empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The topic.
    pub topic: Option<Arc<str>>,
    /// The partition.
    pub partition: Option<i32>,
    /// The broker's id.
    pub broker: Option<i32>,
    /// The address, as `host:port`.
    pub address: Option<String>,
    /// The API that was called.
    pub api: Option<ApiKey>,
    /// The phase of the connection.
    pub phase: Option<Phase>,
}

/// Whether what caused an error can go away without anybody's doing. In the order of rising certainty
/// that it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Outlook {
    /// It may pass: a broker is restarting, a network is down.
    #[default]
    Transient,
    /// It looks like a setting that does not fit the server, but a server in trouble looks alike.
    ProbablyPermanent,
    /// It stays until somebody changes something.
    Permanent,
}

/// An error of the client.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: Kind,
    message: String,
    code: Option<ErrorCode>,
    context: Context,
    /// Whether what was asked for may have happened all the same.
    maybe_done: bool,
    outlook: Outlook,
    /// What is wrong with TLS, where that is known.
    tls_fault: Option<TlsFault>,
    /// What was tried, where it was more than one thing.
    attempts: Vec<Error>,
}

impl Error {
    /// An error of `kind`, told in words: what happened and what to do.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            code: None,
            context: Context::default(),
            maybe_done: false,
            outlook: Outlook::default(),
            tls_fault: None,
            attempts: Vec::new(),
        }))
    }

    /// A broker's error code, as the error that it means to a caller.
    #[must_use]
    pub fn from_code(code: ErrorCode) -> Self {
        use ErrorCode as E;
        let kind = match code {
            E::UnknownTopicOrPartition | E::UnknownTopicId | E::InvalidTopicException => Kind::UnknownTopic,
            E::TopicAlreadyExists => Kind::TopicExists,
            E::MessageTooLarge | E::RecordListTooLarge => Kind::RecordTooLarge,
            E::TopicAuthorizationFailed
            | E::GroupAuthorizationFailed
            | E::ClusterAuthorizationFailed
            | E::TransactionalIdAuthorizationFailed
            | E::DelegationTokenAuthorizationFailed => Kind::Authorization,
            E::SaslAuthenticationFailed | E::UnsupportedSaslMechanism | E::IllegalSaslState => {
                Kind::Authentication
            }
            E::ProducerFenced | E::FencedInstanceId | E::InvalidProducerEpoch => Kind::Fenced,
            E::OffsetOutOfRange => Kind::DataLoss,
            E::RequestTimedOut => Kind::Timeout,
            _ => Kind::Broker,
        };
        Self::new(kind, code.to_string()).with(|inner| inner.code = Some(code))
    }

    /// A broker's error code, in other words.
    #[must_use]
    pub(crate) fn with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::from_code(code).with_message(message)
    }

    /// The same error in other words.
    #[must_use]
    pub(crate) fn with_message(self, message: impl Into<String>) -> Self {
        self.with(|inner| inner.message = message.into())
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Adds the topic and the partition.
    #[must_use]
    pub fn at(self, topic: &Arc<str>, partition: i32) -> Self {
        self.with(|inner| {
            inner.context.topic = Some(Arc::clone(topic));
            inner.context.partition = Some(partition);
        })
    }

    /// Adds the topic.
    #[must_use]
    pub fn topic(self, topic: &str) -> Self {
        self.with(|inner| inner.context.topic = Some(topic.into()))
    }

    /// Adds the broker.
    #[must_use]
    pub fn broker(self, id: i32) -> Self {
        self.with(|inner| inner.context.broker = Some(id))
    }

    /// Adds the address.
    #[must_use]
    pub fn address(self, address: impl Into<String>) -> Self {
        self.with(|inner| inner.context.address = Some(address.into()))
    }

    /// Adds the API.
    #[must_use]
    pub fn api(self, api: ApiKey) -> Self {
        self.with(|inner| inner.context.api = Some(api))
    }

    /// Adds the phase.
    #[must_use]
    pub fn phase(self, phase: Phase) -> Self {
        self.with(|inner| inner.context.phase = Some(phase))
    }

    /// Says that what was asked for may have happened.
    #[must_use]
    pub fn maybe_done(self) -> Self {
        self.with(|inner| inner.maybe_done = true)
    }

    /// Adds what was tried, one error for each address.
    #[must_use]
    pub(crate) fn with_attempts(self, attempts: Vec<Self>) -> Self {
        self.with(|inner| inner.attempts = attempts)
    }

    /// What was tried in vain to find the cluster or to connect: one error for each address, with
    /// its phase. Empty for other errors.
    #[must_use]
    pub fn attempts(&self) -> &[Self] {
        &self.0.attempts
    }

    /// Puts words in front of the message.
    #[must_use]
    pub fn prefixed(self, what: impl fmt::Display) -> Self {
        self.with(|inner| inner.message = format!("{what}: {}", inner.message))
    }

    /// What sort of error it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The same error as another kind.
    #[must_use]
    pub fn as_kind(self, kind: Kind) -> Self {
        self.with(|inner| inner.kind = kind)
    }

    /// The broker's code, where a broker gave one.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.0.code
    }

    /// Where it happened.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The words alone, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether what was asked for may have happened all the same (a produce request whose answer
    /// was lost, say).
    #[must_use]
    pub fn is_maybe_done(&self) -> bool {
        self.0.maybe_done
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        match self.0.code {
            Some(code) => code.is_retriable(),
            None => matches!(self.0.kind, Kind::Connection | Kind::Timeout | Kind::Bootstrap),
        }
    }
}

impl Error {
    /// Says whether the cause can go away.
    #[must_use]
    pub(crate) fn with_outlook(self, outlook: Outlook) -> Self {
        self.with(|inner| inner.outlook = outlook)
    }

    /// Adds what is wrong with TLS.
    #[must_use]
    pub(crate) fn with_tls_fault(self, fault: Option<TlsFault>) -> Self {
        self.with(|inner| inner.tls_fault = fault)
    }

    /// What is wrong with TLS, where that is known.
    #[must_use]
    pub(crate) fn tls_fault(&self) -> Option<TlsFault> {
        self.0.tls_fault
    }

    /// Whether the cause can go away. Of several attempts, one that may succeed is enough.
    #[must_use]
    pub(crate) fn outlook(&self) -> Outlook {
        if !self.is_transient() {
            return Outlook::Permanent;
        }
        self.attempts().iter().map(Self::outlook).min().unwrap_or(self.0.outlook)
    }

    /// Whether the client goes on by itself after this. More than what it tells others to try
    /// again: bytes that made no sense may make sense on another connection.
    #[must_use]
    pub(crate) fn is_transient(&self) -> bool {
        match self.0.code {
            Some(code) => code.is_retriable() || crate::retry::recovery::recovery(code).retries(),
            None => self.is_retriable() || self.0.kind == Kind::Protocol,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        let context = &self.0.context;
        let mut place = Vec::new();
        match (&context.topic, context.partition) {
            (Some(topic), Some(partition)) => place.push(format!("{}-{partition}", printable(topic))),
            (Some(topic), None) => place.push(format!("topic {}", printable(topic))),
            _ => {}
        }
        if let Some(api) = context.api {
            place.push(api.name().to_owned());
        }
        match (context.broker, &context.address) {
            (Some(id), Some(address)) => place.push(format!("broker {id} at {address}")),
            (Some(id), None) => place.push(format!("broker {id}")),
            (None, Some(address)) => place.push(address.clone()),
            (None, None) => {}
        }
        if let Some(phase) = context.phase.filter(|phase| *phase != Phase::Request) {
            place.push(format!("phase {phase}"));
        }
        if !place.is_empty() {
            write!(f, " [{}]", place.join(", "))?;
        }
        if self.0.maybe_done {
            f.write_str(" (it is not known whether it was written)")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

impl From<WireError> for Error {
    fn from(error: WireError) -> Self {
        Self::new(Kind::Protocol, error.to_string())
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::TooLarge { .. } => {
                let advice = "if these records are wanted, raise decompressed.batch.max.bytes";
                Self::new(Kind::Config, format!("{error}: {advice}"))
            }
            _ => Self::new(Kind::Protocol, error.to_string()),
        }
    }
}

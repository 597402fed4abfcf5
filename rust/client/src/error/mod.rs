//! The client's error type: kind, message, context, a broker's code, and what was attempted.
//!
//! Invariants: an error is cheap to clone, because all waiters for the same result get the same error, and it
//! never contains a secret.

mod context;
mod convert;
mod kind;
mod outlook;
pub mod permission;
pub mod proof;
mod proxy_fault;
pub mod recovery;
pub mod repetition;
mod tls_fault;

use std::fmt;
use std::sync::Arc;

use ottla_protocol::{ApiKey, ErrorCode};

pub use context::{Context, Phase};
pub use kind::Kind;
pub(crate) use outlook::Outlook;
pub(crate) use proxy_fault::ProxyFault;
pub(crate) use tls_fault::TlsFault;

/// The result of the client's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the client.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: Kind,
    message: String,
    code: Option<ErrorCode>,
    context: Context,
    /// Whether the operation may have taken effect all the same.
    maybe_done: bool,
    /// Whether the object that reported the error cannot be used any more.
    fatal: bool,
    outlook: Outlook,
    /// Whether a response did not come in time, which ended the connection.
    overdue: bool,
    /// The fault in TLS, if it is known.
    tls_fault: Option<TlsFault>,
    /// The failure at a proxy, if it is one.
    proxy_fault: Option<ProxyFault>,
    /// The failures of the attempts that this error sums up.
    attempts: Vec<Error>,
}

impl Error {
    /// Creates an error. The message says what happened and how to fix it.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            code: None,
            context: Context::default(),
            maybe_done: false,
            fatal: false,
            outlook: Outlook::default(),
            overdue: false,
            tls_fault: None,
            proxy_fault: None,
            attempts: Vec::new(),
        }))
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Replaces the message.
    #[must_use]
    pub(crate) fn with_message(self, message: impl Into<String>) -> Self {
        self.with(|inner| inner.message = message.into())
    }

    /// Puts `prefix` and a colon in front of the message.
    #[must_use]
    pub fn prefixed(self, prefix: impl fmt::Display) -> Self {
        self.with(|inner| inner.message = format!("{prefix}: {}", inner.message))
    }

    /// Marks the error of a response that did not come in time.
    #[must_use]
    pub(crate) fn overdue(self) -> Self {
        self.with(|inner| inner.overdue = true)
    }

    /// Whether a response did not come in time.
    #[must_use]
    pub(crate) fn is_overdue(&self) -> bool {
        self.0.overdue
    }

    /// Replaces the kind.
    #[must_use]
    pub fn as_kind(self, kind: Kind) -> Self {
        self.with(|inner| inner.kind = kind)
    }

    /// Adds the topic and the partition.
    #[must_use]
    pub fn at(self, topic: &Arc<str>, partition: i32) -> Self {
        self.with(|inner| {
            inner.context.topic = Some(Arc::clone(topic));
            inner.context.partition = Some(partition);
        })
    }

    /// Adds the offset of the record.
    #[must_use]
    pub fn offset(self, offset: i64) -> Self {
        self.with(|inner| inner.context.offset = Some(offset))
    }

    /// Adds the topic.
    #[must_use]
    pub fn topic(self, topic: &str) -> Self {
        self.with(|inner| inner.context.topic = Some(topic.into()))
    }

    /// Adds the broker's id.
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

    /// Adds the subject and the id of a schema, and the registry's error code.
    #[cfg(feature = "arrow")]
    #[must_use]
    pub(crate) fn schema(
        self,
        subject: Option<&str>,
        id: Option<ottla_schema::SchemaId>,
        code: Option<i64>,
    ) -> Self {
        self.with(|inner| {
            inner.context.subject = subject.map(Arc::from);
            inner.context.schema_id = id.map(|id| id.to_string());
            inner.context.registry_code = code;
        })
    }

    /// Marks the operation as possibly done.
    #[must_use]
    pub fn maybe_done(self) -> Self {
        self.with(|inner| inner.maybe_done = true)
    }

    /// Marks the object that reported the error as unusable.
    #[must_use]
    pub(crate) fn fatal(self) -> Self {
        self.with(|inner| inner.fatal = true)
    }

    /// Adds the failed attempts, one error per address.
    #[must_use]
    pub(crate) fn with_attempts(self, attempts: Vec<Self>) -> Self {
        self.with(|inner| inner.attempts = attempts)
    }

    /// Adds the failure at a proxy.
    #[must_use]
    pub(crate) fn with_proxy_fault(self, fault: Option<ProxyFault>) -> Self {
        self.with(|inner| inner.proxy_fault = fault)
    }

    /// Adds the fault in TLS.
    #[must_use]
    pub(crate) fn with_tls_fault(self, fault: Option<TlsFault>) -> Self {
        self.with(|inner| inner.tls_fault = fault)
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The message without the context.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The broker's error code, if a broker returned one.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.0.code
    }

    /// Where the error occurred.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// Whether the operation may have taken effect all the same (a produce request whose response was
    /// lost, for example).
    #[must_use]
    pub fn is_maybe_done(&self) -> bool {
        self.0.maybe_done
    }

    /// Whether the object that reported the error cannot be used any more: close it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self.0.kind {
            // A group refuses commits of non-members only while it has members.
            Kind::Fenced => self.0.code != Some(ErrorCode::UnknownMemberId),
            kind => self.0.fatal || matches!(kind, Kind::Closed | Kind::Internal),
        }
    }

    /// The failed attempts to find the cluster or to connect: one error per address, with its phase. Empty
    /// for other errors.
    #[must_use]
    pub fn attempts(&self) -> &[Self] {
        &self.0.attempts
    }

    /// The failure at a proxy, if it is one.
    #[must_use]
    pub(crate) fn proxy_fault(&self) -> Option<ProxyFault> {
        self.0.proxy_fault
    }

    /// The fault in TLS, if it is known.
    #[must_use]
    pub(crate) fn tls_fault(&self) -> Option<TlsFault> {
        self.0.tls_fault
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        let context = self.0.context.to_string();
        if !context.is_empty() {
            write!(f, " [{context}]")?;
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

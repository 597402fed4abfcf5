//! Conversions into [`Error`]: from brokers' error codes, and from errors of the protocol crate.

use ottla_protocol::records::RecordError;
use ottla_protocol::{ErrorCode, WireError};

use super::{Error, Kind};

impl Error {
    /// The error for a broker's error code, with the code's own message.
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

    /// The error for a broker's error code, with another message.
    #[must_use]
    pub(crate) fn with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::from_code(code).with_message(message)
    }
}

impl From<WireError> for Error {
    fn from(error: WireError) -> Self {
        // The only one that the application causes, by what it passed: no attempt will succeed.
        let kind = if matches!(error, WireError::TooLong { .. }) { Kind::Config } else { Kind::Protocol };
        Self::new(kind, error.to_string())
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

//! The types of the rows about security.

use super::value::{Setting, Value};
use crate::secret::Secret;

/// What a listener speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecurityProtocol {
    /// Kafka's protocol over TCP.
    #[default]
    Plaintext,
    /// Over TLS.
    Ssl,
    /// Over TCP, after authenticating.
    SaslPlaintext,
    /// Over TLS, after authenticating.
    SaslSsl,
}

impl SecurityProtocol {
    /// All of them, by their names.
    const NAMES: [(&str, Self); 4] = [
        ("PLAINTEXT", Self::Plaintext),
        ("SSL", Self::Ssl),
        ("SASL_PLAINTEXT", Self::SaslPlaintext),
        ("SASL_SSL", Self::SaslSsl),
    ];

    /// Kafka's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, protocol)| *protocol == self).map_or("", |(name, _)| name)
    }

    /// Whether it is over TLS.
    #[must_use]
    pub fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether one authenticates.
    #[must_use]
    pub fn has_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

impl Setting for SecurityProtocol {
    const TYPE: &'static str = "PLAINTEXT | SSL | SASL_PLAINTEXT | SASL_SSL";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        let found = match value {
            Value::Str(text) => Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim())),
            _ => None,
        };
        found.map(|(_, protocol)| *protocol).ok_or_else(|| format!("expected {}", Self::TYPE))
    }
    fn shown(&self) -> String {
        self.name().to_owned()
    }
}

impl Setting for Secret {
    const TYPE: &'static str = "password";
    const SECRET: bool = true;
    fn parse(value: &Value, bounds: (i64, i64)) -> Result<Self, String> {
        String::parse(value, bounds).map(Self::new)
    }
    fn shown(&self) -> String {
        // Only defaults are shown, and no secret has one.
        String::new()
    }
}

//! Types of the keys about security.

use super::value::{ConfigType, Value};
use crate::security::Secret;

/// What a broker's listener speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecurityProtocol {
    /// Kafka's protocol over plain TCP.
    #[default]
    Plaintext,
    /// Over TLS.
    Ssl,
    /// Over plain TCP, with SASL authentication.
    SaslPlaintext,
    /// Over TLS, with SASL authentication.
    SaslSsl,
}

impl SecurityProtocol {
    /// All protocols by name.
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

    /// Whether it uses TLS.
    #[must_use]
    pub fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether it uses SASL.
    #[must_use]
    pub fn has_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

impl ConfigType for SecurityProtocol {
    const TYPE: &'static str = "PLAINTEXT | SSL | SASL_PLAINTEXT | SASL_SSL";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        let found = match value {
            Value::Str(text) => Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim())),
            _ => None,
        };
        found.map(|(_, protocol)| *protocol).ok_or_else(|| format!("expected {}", Self::TYPE))
    }
    fn to_text(&self) -> String {
        self.name().to_owned()
    }
}

impl ConfigType for Secret {
    const TYPE: &'static str = "password";
    const SECRET: bool = true;
    fn parse(value: &Value, bounds: (i64, i64)) -> Result<Self, String> {
        String::parse(value, bounds).map(Self::new)
    }
    fn to_text(&self) -> String {
        // Only defaults are printed, and secrets have none.
        String::new()
    }
}

//! Types of the keys that say how a client finds its cluster.

use super::value::{ConfigType, Value};

/// What to do when no known broker responds (KIP-899).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataRecovery {
    /// Find the cluster again from the bootstrap servers.
    Rebootstrap,
    /// Keep trying the known brokers.
    None,
}

impl ConfigType for MetadataRecovery {
    const TYPE: &'static str = "rebootstrap | none";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text.eq_ignore_ascii_case("rebootstrap") => Ok(Self::Rebootstrap),
            Value::Str(text) if text.eq_ignore_ascii_case("none") => Ok(Self::None),
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn to_text(&self) -> String {
        match self {
            Self::Rebootstrap => "rebootstrap",
            Self::None => "none",
        }
        .to_owned()
    }
}

/// Which addresses a name in `bootstrap.servers` stands for (KIP-302, KIP-602).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsLookup {
    /// All addresses that the name resolves to, tried in turn.
    UseAllDnsIps,
    /// The addresses of the canonical names behind them: for one name in front of many brokers
    /// that have to be addressed by their own names (Kerberos, certificates).
    ResolveCanonicalBootstrapServersOnly,
}

impl ConfigType for DnsLookup {
    const TYPE: &'static str = "use_all_dns_ips | resolve_canonical_bootstrap_servers_only";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text == "use_all_dns_ips" => Ok(Self::UseAllDnsIps),
            Value::Str(text) if text == "resolve_canonical_bootstrap_servers_only" => {
                Ok(Self::ResolveCanonicalBootstrapServersOnly)
            }
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn to_text(&self) -> String {
        match self {
            Self::UseAllDnsIps => "use_all_dns_ips",
            Self::ResolveCanonicalBootstrapServersOnly => "resolve_canonical_bootstrap_servers_only",
        }
        .to_owned()
    }
}

//! The context of an error: topic, partition, broker, address, API and phase of the connection; subject and
//! schema.

use std::fmt;
use std::sync::Arc;

use ottla_protocol::ApiKey;

use crate::printable::printable;

/// The phases of a connection's setup, and `Request` for an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Resolving the host name.
    Dns,
    /// Connecting.
    Tcp,
    /// The proxy's handshake.
    Proxy,
    /// The TLS handshake.
    Tls,
    /// Requesting the broker's API versions.
    ApiVersions,
    /// Authenticating.
    Sasl,
    /// Requesting the cluster's metadata.
    Metadata,
    /// A request on an open connection.
    Request,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dns => "DNS",
            Self::Tcp => "TCP",
            Self::Proxy => "Proxy",
            Self::Tls => "TLS",
            Self::ApiVersions => "ApiVersions",
            Self::Sasl => "SASL",
            Self::Metadata => "Metadata",
            Self::Request => "request",
        })
    }
}

/// Where an error occurred. Unknown fields are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The topic.
    pub topic: Option<Arc<str>>,
    /// The partition.
    pub partition: Option<i32>,
    /// The offset of the record.
    pub offset: Option<i64>,
    /// The broker's id.
    pub broker: Option<i32>,
    /// The address, as `host:port`.
    pub address: Option<String>,
    /// The API of the request.
    pub api: Option<ApiKey>,
    /// The phase of the connection.
    pub phase: Option<Phase>,
    /// The subject in the schema registry. The message contains it.
    pub subject: Option<Arc<str>>,
    /// The id or the GUID of the schema. The message contains it.
    pub schema_id: Option<String>,
    /// The schema registry's own error code. The message contains it.
    pub registry_code: Option<i64>,
}

/// The known fields, as in `orders-3, Produce, broker 2 at kafka2:9092`; nothing if none is known.
impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = Vec::new();
        match (&self.topic, self.partition) {
            (Some(topic), Some(partition)) => fields.push(format!("{}-{partition}", printable(topic))),
            (Some(topic), None) => fields.push(format!("topic {}", printable(topic))),
            _ => {}
        }
        if let Some(offset) = self.offset {
            fields.push(format!("offset {offset}"));
        }
        if let Some(api) = self.api {
            fields.push(api.name().to_owned());
        }
        match (self.broker, &self.address) {
            (Some(id), Some(address)) => fields.push(format!("broker {id} at {address}")),
            (Some(id), None) => fields.push(format!("broker {id}")),
            (None, Some(address)) => fields.push(address.clone()),
            (None, None) => {}
        }
        if let Some(phase) = self.phase.filter(|phase| *phase != Phase::Request) {
            fields.push(format!("phase {phase}"));
        }
        f.write_str(&fields.join(", "))
    }
}

//! A broker's host and port, as configured or advertised.

use crate::error::{Error, Kind, Result};
use crate::printable::printable;

/// A broker's host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Host name or IP address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The host may come from a broker.
        let host = printable(&self.host);
        if host.contains(':') {
            write!(f, "[{host}]:{}", self.port)
        } else {
            write!(f, "{host}:{}", self.port)
        }
    }
}

impl std::str::FromStr for Endpoint {
    type Err = Error;

    /// Parses `host:port` or `[v6]:port`, with an optional listener name in front (`PLAINTEXT://`).
    fn from_str(text: &str) -> Result<Self> {
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let wrong = |why: &str| {
            Error::new(
                Kind::Config,
                format!("bootstrap.servers: {text:?} is not an address: {why} (expected host:port)"),
            )
        };
        let (host, port) = bare.rsplit_once(':').ok_or_else(|| wrong("it has no port"))?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || host.contains([' ', '/']) {
            return Err(wrong("its host is not a name"));
        }
        match port.parse() {
            Ok(port) if port > 0 => Ok(Self { host: host.to_owned(), port }),
            _ => Err(wrong("its port is not a number from 1 to 65535")),
        }
    }
}

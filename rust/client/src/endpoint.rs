//! A broker's host and port, as configured or advertised.

use std::net::IpAddr;

use crate::error::{Error, Kind, Result};
use crate::ip_zone::without_zone;
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

    /// Parses `host:port` or `[v6]:port`, with an optional listener name in front (`PLAINTEXT://`). An IPv6
    /// address may have a zone (`[fe80::1%eth0]:9092`).
    fn from_str(text: &str) -> Result<Self> {
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let wrong = |why: &str| {
            // What is no address may be anything, such as a URL with a token.
            let shown = if text.contains(['@', '?', '=']) { "the value" } else { &format!("{text:?}") };
            let message = format!("bootstrap.servers: {shown} is not an address: {why} (expected host:port)");
            Error::new(Kind::Config, message)
        };
        let (host, port) = match bare.strip_prefix('[') {
            Some(literal) => {
                let (host, rest) = literal
                    .split_once(']')
                    .ok_or_else(|| wrong("a bracket is not closed; an IPv6 address is written [::1]:9092"))?;
                if !is_ip(host) {
                    return Err(wrong("what is in brackets is not an IPv6 address, as in [::1]:9092"));
                }
                let port = rest.strip_prefix(':');
                (host, port.ok_or_else(|| wrong("it has no port; an IPv6 address is written [::1]:9092"))?)
            }
            None => {
                let (host, port) = bare.rsplit_once(':').ok_or_else(|| wrong("it has no port"))?;
                if host.contains(':') {
                    return Err(wrong(&several_colons(bare, host, port)));
                }
                (host, port)
            }
        };
        let is_name = |c: char| !(c.is_whitespace() || c.is_control() || "/\\;,[]?#\"'".contains(c));
        if host.is_empty() || !host.chars().all(is_name) {
            return Err(wrong("its host is not a name"));
        }
        match port.parse() {
            Ok(port) if port > 0 => Ok(Self { host: host.to_owned(), port }),
            _ => Err(wrong("its port is not a number from 1 to 65535")),
        }
    }
}

fn is_ip(host: &str) -> bool {
    without_zone(host).parse::<IpAddr>().is_ok()
}

/// What is wrong with an address of several colons: mostly an IPv6 address without brackets.
fn several_colons(bare: &str, host: &str, port: &str) -> String {
    let has_port = is_ip(host) && port.parse::<u16>().is_ok_and(|port| port > 0);
    if has_port && !host.ends_with(':') {
        return format!("an IPv6 address is written in brackets: [{host}]:{port}");
    }
    if is_ip(bare) {
        return format!("an IPv6 address is written in brackets, with a port: [{bare}]:9092");
    }
    "it has several colons; addresses are separated by commas, and an IPv6 address is written [::1]:9092"
        .to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names_ipv4_or_ipv6_with_a_zone() {
        for (text, host, shown) in [
            ("kafka:9092", "kafka", "kafka:9092"),
            ("SASL_SSL://k-1.example_.com:9092", "k-1.example_.com", "k-1.example_.com:9092"),
            ("127.0.0.1:9092", "127.0.0.1", "127.0.0.1:9092"),
            ("[::1]:9092", "::1", "[::1]:9092"),
            ("PLAINTEXT://[::1]:9092", "::1", "[::1]:9092"),
            ("[fe80::1%eth0]:9092", "fe80::1%eth0", "[fe80::1%eth0]:9092"),
            ("[::ffff:127.0.0.1]:9092", "::ffff:127.0.0.1", "[::ffff:127.0.0.1]:9092"),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!((endpoint.host.as_str(), endpoint.port), (host, 9092));
            assert_eq!(endpoint.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_right_form() {
        for (text, expected) in [
            ("kafka", "it has no port (expected host:port)"),
            ("::1", "with a port: [::1]:9092"),
            ("::1:9093", "in brackets: [::1]:9093"),
            ("fe80::1%eth0:9093", "in brackets: [fe80::1%eth0]:9093"),
            ("fe80::1%eth0", "with a port: [fe80::1%eth0]:9092"),
            ("2001:db8::ff", "with a port: [2001:db8::ff]:9092"),
            ("[::1", "a bracket is not closed"),
            (
                "::1]:9092",
                "several colons; addresses are separated by commas, and an IPv6 address is written [::1]:9092",
            ),
            ("[::1]", "it has no port; an IPv6 address is written [::1]:9092"),
            ("[kafka]:9092", "what is in brackets is not an IPv6 address"),
            ("a:1 b:1", "several colons"),
            ("a b:1", "its host is not a name"),
            ("a\nb:1", "its host is not a name"),
            ("a;b:1", "its host is not a name"),
            ("kafka:0", "its port is not a number"),
            ("kafka:", "its port is not a number"),
        ] {
            let message = text.parse::<Endpoint>().unwrap_err().message().to_owned();
            assert!(message.contains(expected) && message.contains(&format!("{text:?}")), "{message}");
        }
        for text in ["kafka:9092?password=hunter2", "me:hunter2@kafka:9092", "kafka;password=hunter2"] {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}

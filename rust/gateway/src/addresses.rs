//! [`Addresses`]: the addresses that the gateway has for the brokers. No I/O.
//!
//! Invariants: an address depends on the broker's id alone, unless the system chooses the port, so that all gateways with
//! the same settings have the same addresses, before and after a restart; two brokers never share one.

use std::num::NonZeroU16;

use ottla_client::Endpoint;

/// The placeholder of the broker's id in the pattern of host names.
const ID: &str = "{id}";

/// How clients name the broker to which they connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Routing {
    /// By port: the broker `first_broker + n` has the port `first + n`.
    Ports {
        /// The first port.
        first: NonZeroU16,
        /// The last port.
        last: NonZeroU16,
        /// The id of the broker that has the first port.
        first_broker: i32,
    },
    /// By port: the system chooses a free one when a broker is first seen. For tests; other gateways have other ports.
    FreePorts,
    /// By the server name of TLS (SNI): the pattern with the broker's id in place of `{id}`. All brokers have the
    /// port of the bootstrap address.
    ServerName {
        /// A host name that contains `{id}` once.
        pattern: String,
    },
}

/// The reason why a broker has no address or a setting cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The broker's port lies outside of the range.
    #[error(
        "broker {broker} needs port {needed}, outside of the ports {first}-{last}: the range must have a port for each id from {first_broker} to the highest (--ports, --first-broker)"
    )]
    OutsideRange {
        /// The broker.
        broker: i32,
        /// The port that it would have.
        needed: i64,
        /// The first port.
        first: u16,
        /// The last port.
        last: u16,
        /// The id that has the first port.
        first_broker: i32,
    },
    /// The range is empty.
    #[error("the ports {first}-{last} are no range: the first port must not be above the last")]
    EmptyRange {
        /// The first port.
        first: u16,
        /// The last port.
        last: u16,
    },
    /// The bootstrap port belongs to a broker.
    #[error("port {port} is the bootstrap port, and also one of the brokers' ports {first}-{last}")]
    BootstrapPort {
        /// The port.
        port: u16,
        /// The first port.
        first: u16,
        /// The last port.
        last: u16,
    },
    /// The pattern of host names has no `{id}`, or several.
    #[error("the host name {pattern:?} must contain {{id}} exactly once")]
    Pattern {
        /// The pattern.
        pattern: String,
    },
}

/// The addresses of the brokers behind the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// The host that clients resolve; for a broker only without server names.
    host: String,
    routing: Routing,
    bootstrap_port: u16,
}

impl Addresses {
    /// Checks the settings. `bootstrap_port` is the port of the bootstrap address.
    ///
    /// # Errors
    /// If the range is empty or contains the bootstrap port, or the pattern does not contain `{id}` once.
    pub fn new(host: String, routing: Routing, bootstrap_port: u16) -> Result<Self, AddressError> {
        match &routing {
            Routing::Ports { first, last, .. } => {
                let (first, last) = (first.get(), last.get());
                if first > last {
                    return Err(AddressError::EmptyRange { first, last });
                }
                if (first..=last).contains(&bootstrap_port) {
                    return Err(AddressError::BootstrapPort { port: bootstrap_port, first, last });
                }
            }
            Routing::ServerName { pattern } if pattern.matches(ID).count() != 1 => {
                return Err(AddressError::Pattern { pattern: pattern.clone() });
            }
            Routing::ServerName { .. } | Routing::FreePorts => {}
        }
        Ok(Self { host, routing, bootstrap_port })
    }

    /// The address at which clients bootstrap.
    #[must_use]
    pub fn bootstrap(&self) -> Endpoint {
        Endpoint { host: self.host.clone(), port: self.bootstrap_port }
    }

    /// How clients name the broker.
    #[must_use]
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// The address at which clients reach a broker. The port is 0 if the system chooses it.
    ///
    /// # Errors
    /// If the broker's port is outside of the range.
    pub fn of(&self, broker: i32) -> Result<Endpoint, AddressError> {
        match &self.routing {
            Routing::Ports { first, last, first_broker } => {
                let (first, last, first_broker) = (first.get(), last.get(), *first_broker);
                let needed = i64::from(first) + i64::from(broker) - i64::from(first_broker);
                match u16::try_from(needed) {
                    Ok(port) if (first..=last).contains(&port) => {
                        Ok(Endpoint { host: self.host.clone(), port })
                    }
                    _ => Err(AddressError::OutsideRange { broker, needed, first, last, first_broker }),
                }
            }
            Routing::FreePorts => Ok(Endpoint { host: self.host.clone(), port: 0 }),
            Routing::ServerName { pattern } => {
                Ok(Endpoint { host: pattern.replace(ID, &broker.to_string()), port: self.bootstrap_port })
            }
        }
    }

    /// The broker that a server name of TLS names; `None` for every other name, which is the bootstrap address.
    #[must_use]
    pub fn broker_of(&self, server_name: &str) -> Option<i32> {
        let Routing::ServerName { pattern } = &self.routing else { return None };
        let (before, after) = pattern.split_once(ID)?;
        let id = strip_suffix_ignore_case(strip_prefix_ignore_case(server_name, before)?, after)?;
        // Only the way in which `of` writes it: not +1 or 01.
        id.parse::<i32>().ok().filter(|number| number.to_string() == id)
    }
}

fn strip_prefix_ignore_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn strip_suffix_ignore_case<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let (rest, tail) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    tail.eq_ignore_ascii_case(suffix).then_some(rest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    fn ports(first: u16, last: u16, first_broker: i32) -> Routing {
        let port = |number| NonZeroU16::new(number).unwrap();
        Routing::Ports { first: port(first), last: port(last), first_broker }
    }

    fn names(pattern: &str) -> Result<Addresses, AddressError> {
        Addresses::new(String::new(), Routing::ServerName { pattern: pattern.to_owned() }, 443)
    }

    #[test]
    fn a_port_depends_on_the_id_alone() {
        let addresses = Addresses::new("gw".to_owned(), ports(19093, 19100, 0), 19092).unwrap();
        assert_eq!(addresses.of(0).unwrap().to_string(), "gw:19093");
        assert_eq!(addresses.of(7).unwrap().to_string(), "gw:19100");
        for outside in [8, -1, i32::MAX, i32::MIN] {
            assert!(matches!(addresses.of(outside), Err(AddressError::OutsideRange { .. })), "{outside}");
        }
        let high = Addresses::new("gw".to_owned(), ports(19093, 19095, 1001), 19092).unwrap();
        assert_eq!(high.of(1003).unwrap().port, 19095);
        assert!(high.of(1000).unwrap_err().to_string().contains("needs port 19092"));
    }

    #[test]
    fn ranges_that_cannot_be_used_are_errors() {
        let new = |routing, port| Addresses::new(String::new(), routing, port).unwrap_err();
        assert_eq!(new(ports(10, 9, 0), 1), AddressError::EmptyRange { first: 10, last: 9 });
        assert_eq!(new(ports(10, 12, 0), 11), AddressError::BootstrapPort { port: 11, first: 10, last: 12 });
        for pattern in ["gw", "{id}-{id}.gw"] {
            assert!(matches!(names(pattern), Err(AddressError::Pattern { .. })), "{pattern}");
        }
    }

    #[test]
    fn a_server_name_leads_back_to_its_broker() {
        let addresses = names("b-{id}.gw.example.com").unwrap();
        for id in [0, 1, 1001, i32::MAX] {
            assert_eq!(addresses.broker_of(&addresses.of(id).unwrap().host), Some(id));
        }
        assert_eq!(addresses.broker_of("B-3.GW.example.com"), Some(3));
        for other in [
            "gw.example.com",
            "b-.gw.example.com",
            "b-01.gw.example.com",
            "b-+1.gw.example.com",
            "b-1",
            "",
            "é",
        ] {
            assert_eq!(addresses.broker_of(other), None, "{other}");
        }
    }
}

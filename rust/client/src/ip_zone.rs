//! Zones of IPv6 addresses, as in `fe80::1%eth0`: a link-local address is one on a certain network
//! interface only.
//!
//! Invariant: a zone is part of where to connect to, and never of a name that a peer sees or proves.

use std::net::{Ipv6Addr, SocketAddr};

/// The host without the zone, if it is an IPv6 address that has one.
pub(crate) fn without_zone(host: &str) -> &str {
    match host.split_once('%') {
        Some((address, _)) if address.parse::<Ipv6Addr>().is_ok() => address,
        _ => host,
    }
}

/// The host of a socket address, with its zone as a number.
pub(crate) fn host_of(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
        other => other.ip().to_string(),
    }
}

/// The host of a URL without its brackets; a zone is written `%25eth0` there (RFC 6874).
pub(crate) fn host_in_url(host: &str) -> String {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(literal) => literal.replacen("%25", "%", 1),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_stays_with_an_address_and_leaves_its_name() {
        for (url, host, name) in [
            ("[fe80::1%25eth0]", "fe80::1%eth0", "fe80::1"),
            ("[fe80::1%eth0]", "fe80::1%eth0", "fe80::1"),
            ("[::1]", "::1", "::1"),
            ("kafka%1", "kafka%1", "kafka%1"),
        ] {
            assert_eq!(host_in_url(url), host);
            assert_eq!(without_zone(host), name);
        }
        let address = SocketAddr::from((Ipv6Addr::LOCALHOST, 1));
        assert_eq!(host_of(address), "::1");
    }
}

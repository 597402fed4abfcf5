//! Which requests are refused because a page of a browser may have made them.
//!
//! Invariant: a page gets nothing from a gateway that only its own machine reaches, and changes nothing at any gateway.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::{Method, StatusCode};

use super::routes::Response;

/// Why a request at an address of this machine is refused, if it is.
pub(super) fn refusal(method: &Method, headers: &HeaderMap, local: IpAddr) -> Option<Response> {
    // A browser sends the header with each request of a page that may change something.
    if *method != Method::GET && headers.contains_key(ORIGIN) {
        return Some(Response::message(StatusCode::FORBIDDEN, "pages of browsers may only read"));
    }
    // A page's name may lead to loopback (DNS rebinding), which nobody else reaches.
    if !is_loopback(local) || names_this_host(headers) {
        return None;
    }
    let message = "this address serves requests to an IP address or to localhost";
    Some(Response::message(StatusCode::FORBIDDEN, message))
}

fn is_loopback(address: IpAddr) -> bool {
    // What a socket of both protocols has in place of an address of IPv4.
    address.to_canonical().is_loopback()
}

/// Whether the host in a request is an IP address or localhost, which no name of a page is.
fn names_this_host(headers: &HeaderMap) -> bool {
    let authority = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    let host = host.unwrap_or_default();
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use hyper::header::HeaderValue;

    use super::*;

    fn is_refused(
        method: Method,
        headers: &[(hyper::header::HeaderName, &'static str)],
        local: IpAddr,
    ) -> bool {
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        refusal(&method, &headers.collect(), local).is_some()
    }

    #[test]
    fn names_of_pages_are_refused_at_loopback() {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mapped = IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        for local in [loopback, mapped, IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            for (host, expected) in [
                ("localhost:1", false),
                ("LocalHost", false),
                ("127.0.0.1:19092", false),
                ("[::1]:19092", false),
                ("evil.example.com", true),
                ("127.0.0.1.example.com", true),
                ("localhost.example.com:1", true),
                ("", true),
            ] {
                assert_eq!(is_refused(Method::GET, &[(HOST, host)], local), expected, "{host}");
            }
            assert!(is_refused(Method::GET, &[], local));
        }
        let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        assert!(!is_refused(Method::GET, &[(HOST, "gateway.example.com")], other));
    }

    #[test]
    fn pages_change_nothing() {
        let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let host = (HOST, "10.0.0.1");
        assert!(!is_refused(Method::POST, std::slice::from_ref(&host), other));
        assert!(is_refused(Method::POST, &[host, (ORIGIN, "null")], other));
    }
}

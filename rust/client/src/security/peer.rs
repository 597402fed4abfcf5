//! What a peer's certificate says, for errors and for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::printable::printable;

/// The broker's own certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Whom it is for, as `CN=…,O=…`.
    pub subject: String,
    /// Who issued it.
    pub issuer: String,
    /// The host names and addresses that it is for.
    pub names: Vec<String>,
    /// From when on it is valid.
    pub not_before: SystemTime,
    /// Until when it is valid.
    pub not_after: SystemTime,
}

impl PeerCertificate {
    /// Reads a certificate; `None` if it is malformed.
    #[must_use]
    pub fn from_der(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?;
        let of = certificate.tbs_certificate();
        let names = match of.get_extension::<SubjectAltName>() {
            Ok(Some((_, names))) => names.0.iter().filter_map(shown_name).collect(),
            _ => Vec::new(),
        };
        let validity = of.validity();
        Some(Self {
            subject: printable(&of.subject().to_string()),
            issuer: printable(&of.issuer().to_string()),
            names,
            not_before: UNIX_EPOCH + validity.not_before.to_unix_duration(),
            not_after: UNIX_EPOCH + validity.not_after.to_unix_duration(),
        })
    }
}

fn shown_name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(printable(name.as_str())),
        GeneralName::IpAddress(bytes) => match *bytes.as_bytes() {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(a, b, c, d).to_string()),
            ref bytes => Some(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()),
        },
        _ => None,
    }
}

/// A time as people write it, in UTC: `2026-11-21 03:00`.
pub(super) fn shown_time(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    match x509_cert::der::DateTime::from_unix_duration(since) {
        Ok(at) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02} UTC",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minutes()
        ),
        Err(_) => "another age".to_owned(),
    }
}

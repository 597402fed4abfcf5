//! The contents of a peer's certificate, for errors and the doctor.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::printable::printable;

/// The broker's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The subject, as `CN=…,O=…`.
    pub subject: String,
    /// The issuer.
    pub issuer: String,
    /// The host names and addresses that it is valid for (subject alternative names).
    pub names: Vec<String>,
    /// The start of its validity.
    pub not_before: SystemTime,
    /// The end of its validity.
    pub not_after: SystemTime,
}

impl PeerCertificate {
    /// Parses a certificate; `None` if it is malformed.
    #[must_use]
    pub fn from_der(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?;
        let body = certificate.tbs_certificate();
        let names = match body.get_extension::<SubjectAltName>() {
            Ok(Some((_, names))) => names.0.iter().filter_map(format_name).collect(),
            _ => Vec::new(),
        };
        let validity = body.validity();
        Some(Self {
            subject: printable(&body.subject().to_string()),
            issuer: printable(&body.issuer().to_string()),
            names,
            not_before: UNIX_EPOCH + validity.not_before.to_unix_duration(),
            not_after: UNIX_EPOCH + validity.not_after.to_unix_duration(),
        })
    }
}

fn format_name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(printable(name.as_str())),
        GeneralName::IpAddress(bytes) => match *bytes.as_bytes() {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(a, b, c, d).to_string()),
            ref bytes => Some(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()),
        },
        _ => None,
    }
}

/// Formats a time in UTC: `2026-11-21 03:00 UTC`.
pub(super) fn format_time(time: SystemTime) -> String {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    match x509_cert::der::DateTime::from_unix_duration(since_epoch) {
        Ok(at) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02} UTC",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minutes()
        ),
        Err(_) => "a date out of range".to_owned(),
    }
}

//! Why a TLS handshake failed, in words: what is wrong, on which side, and what to do.

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use rustls::{AlertDescription, CertificateError, PeerIncompatible};

use super::peer::shown_time;
use super::{TlsFault, TlsInfo};
use crate::error::{Error, Kind, Outlook, Phase};

/// The error of TLS inside an error of a stream, if that is what it is; told in words.
pub(crate) fn tls_error_in(error: &io::Error, info: Option<&TlsInfo>, address: &str) -> Option<Error> {
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let (kind, words) = describe(inner, info);
    let error = Error::new(kind, words).phase(Phase::Tls).address(address);
    Some(error.with_outlook(outlook(inner)).with_tls_fault(fault(inner, info)))
}

/// What the two sides cannot agree on, they cannot agree on the next time.
fn outlook(error: &rustls::Error) -> Outlook {
    use AlertDescription as A;
    use rustls::Error as E;
    match error {
        E::InvalidMessage(_)
        | E::PeerIncompatible(_)
        | E::AlertReceived(
            A::ProtocolVersion | A::HandshakeFailure | A::InsufficientSecurity | A::UnrecognisedName,
        ) => Outlook::Permanent,
        _ => Outlook::Transient,
    }
}

/// What is wrong, where it is one of the failures that have a remedy of their own.
fn fault(error: &rustls::Error, info: Option<&TlsInfo>) -> Option<TlsFault> {
    use rustls::Error as E;
    match error {
        E::InvalidCertificate(why) => certificate_fault(why),
        E::AlertReceived(alert) => alert_fault(*alert, info),
        E::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => Some(TlsFault::Version),
        _ => None,
    }
}

fn certificate_fault(why: &CertificateError) -> Option<TlsFault> {
    use CertificateError as C;
    Some(match why {
        C::Expired | C::ExpiredContext { .. } => TlsFault::Expired,
        C::NotValidYet | C::NotValidYetContext { .. } => TlsFault::NotYetValid,
        C::UnknownIssuer => TlsFault::UnknownIssuer,
        C::NotValidForName | C::NotValidForNameContext { .. } => TlsFault::WrongName,
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => TlsFault::Purpose,
        C::Other(other) if is_authority(other) => TlsFault::Purpose,
        C::Revoked => TlsFault::Revoked,
        _ => return None,
    })
}

fn alert_fault(alert: AlertDescription, info: Option<&TlsInfo>) -> Option<TlsFault> {
    use AlertDescription as A;
    Some(match alert {
        _ if wants_certificate(alert, info) => TlsFault::ClientCertificateMissing,
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied => TlsFault::ClientCertificateRefused,
        A::ProtocolVersion => TlsFault::Version,
        A::HandshakeFailure | A::InsufficientSecurity => TlsFault::Cipher,
        A::UnrecognisedName => TlsFault::ServerName,
        _ => return None,
    })
}

/// Whether the broker requires a client certificate and none is configured.
fn wants_certificate(alert: AlertDescription, info: Option<&TlsInfo>) -> bool {
    use AlertDescription as A;
    let requested = info.is_some_and(|info| info.client_certificate_requested);
    let configured = info.is_some_and(|info| info.client_certificate_configured);
    match alert {
        A::CertificateRequired => true,
        A::BadCertificate | A::HandshakeFailure | A::AccessDenied | A::CertificateUnknown => {
            requested && !configured
        }
        _ => false,
    }
}

fn is_authority(error: &rustls::OtherError) -> bool {
    error.to_string().contains("CaUsedAsEndEntity")
}

fn describe(error: &rustls::Error, info: Option<&TlsInfo>) -> (Kind, String) {
    use rustls::Error as E;
    match error {
        E::InvalidCertificate(why) => (Kind::Authentication, certificate(why, info)),
        E::AlertReceived(alert) => alerted(*alert, info),
        E::InvalidMessage(_) => (Kind::Connection, not_tls(info).to_owned()),
        E::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => (
            Kind::Connection,
            "the broker speaks only versions of TLS before 1.2, which are unsafe".to_owned(),
        ),
        other => (Kind::Connection, format!("the TLS handshake failed: {other}")),
    }
}

fn not_tls(info: Option<&TlsInfo>) -> &'static str {
    match info.map(|info| info.heard.as_slice()) {
        Some(b"HTTP") => "this is not Kafka: it answered HTTP; use the address of a Kafka listener",
        Some(b"SSH-") => "this is not Kafka: it answered SSH; use the address of a Kafka listener",
        _ => {
            "the answer is not TLS: set security.protocol to what this listener speaks (PLAINTEXT or SASL_PLAINTEXT, if it is Kafka)"
        }
    }
}

fn certificate(why: &CertificateError, info: Option<&TlsInfo>) -> String {
    use CertificateError as C;
    let peer = info.and_then(|info| info.peer.as_ref());
    let whose = peer.map(|peer| format!(" ({})", peer.subject)).unwrap_or_default();
    let at = |seconds: u64| shown_time(UNIX_EPOCH + Duration::from_secs(seconds));
    let clock = "renew it on the broker, or set this machine's clock right";
    match why {
        C::ExpiredContext { not_after, .. } => {
            format!("the broker's certificate{whose} expired on {}: {clock}", at(not_after.as_secs()))
        }
        C::Expired => format!("the broker's certificate{whose} has expired: {clock}"),
        C::NotValidYetContext { not_before, .. } => {
            format!(
                "the broker's certificate{whose} is valid only from {}: {clock}",
                at(not_before.as_secs())
            )
        }
        C::NotValidYet => format!("the broker's certificate{whose} is not valid yet: {clock}"),
        C::UnknownIssuer => {
            let issuer = peer.map(|peer| format!(", {:?},", peer.issuer)).unwrap_or_default();
            format!(
                "the broker's certificate{whose} is not trusted: its issuer{issuer} is not among the trusted authorities. Name the issuer's certificate (PEM) in ssl.truststore.location"
            )
        }
        C::NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            // rustls has the names as Rust prints them.
            let names = peer.map_or(presented, |peer| &peer.names);
            let presented = match names.is_empty() {
                true => "for no name at all".to_owned(),
                false => format!("for {}", crate::printable::printable(&names.join(", "))),
            };
            format!(
                "the broker's certificate{whose} is {presented}, not for {expected:?}: connect by a name that it has, or have one issued with the subject alternative name {expected:?}"
            )
        }
        C::NotValidForName => {
            format!("the broker's certificate{whose} is not for the host that was connected to")
        }
        C::Revoked => format!("the broker's certificate{whose} was revoked"),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            format!(
                "the broker's certificate{whose} is not meant for servers: it needs the extended key usage serverAuth"
            )
        }
        C::Other(other) if is_authority(other) => format!(
            "the broker's certificate{whose} is an authority's, which may not be a server's too: have one issued for the server"
        ),
        other => format!("the broker's certificate{whose} cannot be accepted: {other}"),
    }
}

/// What the broker did not like.
fn alerted(alert: AlertDescription, info: Option<&TlsInfo>) -> (Kind, String) {
    use AlertDescription as A;
    let name = format!("{alert:?}");
    match alert {
        _ if wants_certificate(alert, info) => (Kind::Authentication, client_certificate_missing(&name)),
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied => {
            let why = match alert {
                A::UnknownCA | A::CertificateUnknown => ": its issuer is not in the broker's trust store",
                A::CertificateExpired => ": it has expired",
                A::CertificateRevoked => ": it was revoked",
                _ => "",
            };
            (
                Kind::Authentication,
                format!(
                    "the broker refused this client's certificate{why} (TLS alert {name}); see ssl.keystore.location"
                ),
            )
        }
        A::ProtocolVersion => (
            Kind::Connection,
            format!("the broker speaks none of the versions in ssl.enabled.protocols (TLS alert {name})"),
        ),
        A::HandshakeFailure | A::InsufficientSecurity => (
            Kind::Connection,
            format!(
                "the broker found no common cipher or certificate (TLS alert {name}); see ssl.enabled.protocols"
            ),
        ),
        A::UnrecognisedName => (
            Kind::Connection,
            format!("the broker does not know the host name that was asked for (TLS alert {name})"),
        ),
        _ => (Kind::Connection, format!("the broker ended the TLS handshake (TLS alert {name})")),
    }
}

/// What to do about a broker that wants a certificate.
pub(crate) fn client_certificate_missing(alert: &str) -> String {
    format!(
        "the broker wants a client certificate, and none is configured (TLS: {alert}): give one in ssl.keystore.location, or in ssl.keystore.certificate.chain and ssl.keystore.key"
    )
}

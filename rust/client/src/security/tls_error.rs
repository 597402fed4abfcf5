//! Errors of TLS handshakes: what is wrong, on which side, and what to do.

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use rustls::{AlertDescription, CertificateError, PeerIncompatible};

use super::TlsInfo;
use super::peer::format_time;
use crate::error::TlsFault;
use crate::error::{Error, Kind, Outlook, Phase};

/// Explains the TLS error inside an error of a stream; `None` if it is not a TLS error.
pub(crate) fn tls_error_in(error: &io::Error, info: Option<&TlsInfo>, address: &str) -> Option<Error> {
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let (kind, message) = describe(inner, info);
    let error = Error::new(kind, message).phase(Phase::Tls).address(address);
    Some(error.with_outlook(outlook(inner)).with_tls_fault(fault(inner, info)))
}

/// Whether a retry may succeed: a failed negotiation will fail again.
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

/// The fault, if it is one of those with a fix of their own.
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
        | A::AccessDenied => TlsFault::ClientCertificateRejected,
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
            "the broker supports only TLS versions before 1.2, which are insecure: enable TLSv1.2 or TLSv1.3 on the broker (ssl.enabled.protocols)".to_owned(),
        ),
        other => (Kind::Connection, format!("the TLS handshake failed: {other}")),
    }
}

fn not_tls(info: Option<&TlsInfo>) -> &'static str {
    match info.map(|info| info.first_bytes.as_slice()) {
        Some(b"HTTP") => "this is not Kafka: it speaks HTTP; use the address of a Kafka listener",
        Some(b"SSH-") => "this is not Kafka: it speaks SSH; use the address of a Kafka listener",
        _ => {
            "the response is not TLS: set security.protocol to the protocol of this listener (PLAINTEXT or SASL_PLAINTEXT, if it is Kafka)"
        }
    }
}

fn certificate(why: &CertificateError, info: Option<&TlsInfo>) -> String {
    use CertificateError as C;
    let peer = info.and_then(|info| info.peer.as_ref());
    let subject = peer.map(|peer| format!(" ({})", peer.subject)).unwrap_or_default();
    let at = |seconds: u64| format_time(UNIX_EPOCH + Duration::from_secs(seconds));
    let clock = "renew it on the broker, or correct this machine's clock";
    match why {
        C::ExpiredContext { not_after, .. } => {
            format!("the broker's certificate{subject} expired on {}: {clock}", at(not_after.as_secs()))
        }
        C::Expired => format!("the broker's certificate{subject} has expired: {clock}"),
        C::NotValidYetContext { not_before, .. } => {
            format!(
                "the broker's certificate{subject} is not valid before {}: {clock}",
                at(not_before.as_secs())
            )
        }
        C::NotValidYet => format!("the broker's certificate{subject} is not valid yet: {clock}"),
        C::UnknownIssuer => {
            let issuer = peer.map(|peer| format!(", {:?},", peer.issuer)).unwrap_or_default();
            format!(
                "the broker's certificate{subject} is not trusted: its issuer{issuer} is not among the trusted authorities. Add the issuer's certificate (PEM) to ssl.truststore.location"
            )
        }
        C::NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            // rustls formats the names as Rust literals; the certificate's own are readable.
            let names = peer.map_or(presented, |peer| &peer.names);
            let presented = match names.is_empty() {
                true => "for no host name".to_owned(),
                false => format!("for {}", crate::printable::printable(&names.join(", "))),
            };
            format!(
                "the broker's certificate{subject} is {presented}, not for {expected:?}: connect by a name in the certificate, or issue one with the subject alternative name {expected:?}"
            )
        }
        C::NotValidForName => {
            format!("the broker's certificate{subject} is not for the host that the client connects to")
        }
        C::Revoked => format!("the broker's certificate{subject} was revoked"),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            format!(
                "the broker's certificate{subject} is not meant for servers: issue one with the extended key usage serverAuth"
            )
        }
        C::Other(other) if is_authority(other) => format!(
            "the broker's certificate{subject} is that of a certificate authority, which a server may not use: issue one for the server"
        ),
        other => format!("the broker's certificate{subject} cannot be accepted: {other}"),
    }
}

/// Explains an alert that the broker sent.
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
                    "the broker rejected this client's certificate{why} (TLS alert {name}); check ssl.keystore.location"
                ),
            )
        }
        A::ProtocolVersion => (
            Kind::Connection,
            format!("the broker supports none of the versions in ssl.enabled.protocols (TLS alert {name})"),
        ),
        A::HandshakeFailure | A::InsufficientSecurity => (
            Kind::Connection,
            format!(
                "the broker found no common cipher suite or certificate (TLS alert {name}); check ssl.enabled.protocols"
            ),
        ),
        A::UnrecognisedName => {
            (Kind::Connection, format!("the broker does not know the requested host name (TLS alert {name})"))
        }
        _ => (Kind::Connection, format!("the broker ended the TLS handshake (TLS alert {name})")),
    }
}

/// The message for a broker that requires a client certificate when none is configured.
pub(crate) fn client_certificate_missing(alert: &str) -> String {
    format!(
        "the broker requires a client certificate, and none is configured (TLS: {alert}): set ssl.keystore.location, or ssl.keystore.certificate.chain and ssl.keystore.key"
    )
}

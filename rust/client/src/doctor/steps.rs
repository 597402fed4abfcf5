//! One check: run within its time, and its failure sorted.

use std::future::Future;
use std::io;

use ottla_protocol::ErrorCode;
use tokio::time::{Instant, timeout_at};

use super::Probe;
use super::check::{Check, Reason};
use super::facts::{Failure, Step};
use crate::error::{Error, Kind, Phase};
use crate::security::TlsFault;

/// Runs a check within its time.
pub(super) async fn step<T>(
    probe: &Probe,
    check: Check,
    look: impl Future<Output = Result<T, Failure>>,
) -> (Step, Option<T>) {
    let (started, end) = (Instant::now(), probe.phase_end());
    let outcome = if end <= started {
        Err(failure(Reason::OutOfTime, "not checked: the time was over"))
    } else {
        timeout_at(end, look).await.unwrap_or_else(|_| {
            let millis = (end - started).as_secs_f64() * 1e3;
            // A step that the doctor's own deadline cut short proves nothing about the broker.
            let (reason, whose) = match end - started < probe.step {
                true => (Reason::OutOfTime, ", then the time was over"),
                false => (Reason::TimedOut, ""),
            };
            Err(failure(reason, format!("no response within {millis:.0} ms{whose}")))
        })
    };
    let took = started.elapsed();
    match outcome {
        Ok(value) => (Step { check, took, failure: None }, Some(value)),
        Err(failure) => (Step { check, took, failure: Some(failure) }, None),
    }
}

pub(super) fn failure(reason: Reason, message: impl Into<String>) -> Failure {
    Failure { reason, message: message.into(), code: None }
}

/// The failure that an error code is.
pub(super) fn of_code(code: ErrorCode) -> Failure {
    Failure { reason: Reason::Code, message: code.to_string(), code: Some(code) }
}

/// The failure that an error of the socket is.
pub(super) fn of_io(kind: Option<io::ErrorKind>, error: &Error) -> Failure {
    use io::ErrorKind as E;
    let reason = match kind {
        Some(E::ConnectionRefused) => Reason::Refused,
        Some(E::TimedOut) => Reason::TimedOut,
        Some(E::HostUnreachable | E::NetworkUnreachable | E::AddrNotAvailable) => Reason::Unreachable,
        Some(E::ConnectionReset | E::ConnectionAborted) => Reason::Closed,
        _ => Reason::Other,
    };
    failure(reason, error.message())
}

/// The failure that an error of a connection is; `ended` if the other side had ended it.
pub(super) fn of_error(error: &Error, ended: bool) -> Failure {
    let tls = error.context().phase == Some(Phase::Tls);
    let reason = match (error.code(), error.kind()) {
        (Some(ErrorCode::UnsupportedSaslMechanism), _) => Reason::Mechanism,
        (Some(ErrorCode::IllegalSaslState), _) => Reason::WithoutSasl,
        (Some(ErrorCode::SaslAuthenticationFailed), _) => Reason::Credentials,
        (Some(_), _) => Reason::Code,
        (None, _) if let Some(fault) = error.tls_fault() => of_tls_fault(fault),
        (None, Kind::Authentication) if tls => Reason::Certificate,
        // It is not the broker that refuses.
        (None, Kind::Authentication) => Reason::Other,
        _ if ended => Reason::Closed,
        (None, Kind::Protocol | Kind::Connection) if !tls => Reason::NotKafka,
        (None, Kind::Timeout) => Reason::TimedOut,
        (None, _) => Reason::Other,
    };
    Failure { reason, message: error.message().to_owned(), code: error.code() }
}

fn of_tls_fault(fault: TlsFault) -> Reason {
    match fault {
        TlsFault::Expired => Reason::CertificateExpired,
        TlsFault::NotYetValid => Reason::CertificateNotYetValid,
        TlsFault::WrongName => Reason::CertificateName,
        TlsFault::UnknownIssuer => Reason::CertificateIssuer,
        TlsFault::Purpose => Reason::CertificatePurpose,
        TlsFault::Revoked => Reason::CertificateRevoked,
        TlsFault::ClientCertificateMissing => Reason::ClientCertificateMissing,
        TlsFault::ClientCertificateRefused => Reason::ClientCertificateRefused,
        TlsFault::Version => Reason::TlsVersion,
        TlsFault::Cipher => Reason::TlsCipher,
        TlsFault::ServerName => Reason::TlsServerName,
    }
}

//! Runs a single check within its timeout and classifies its failure.

use std::future::Future;
use std::io;

use ottla_protocol::{ErrorCode, Request};
use tokio::time::{Instant, timeout_at};

use super::ProbeContext;
use super::check::{Check, Reason};
use super::facts::{Failure, Step};
use super::progress::Subject;
use crate::connection::Connection;
use crate::error::{Error, Kind, Phase, ProxyFault, TlsFault};

/// Runs a check; its result is `None` if it failed or timed out.
pub(super) async fn step<T>(
    probe: &ProbeContext,
    subject: &Subject,
    check: Check,
    run: impl Future<Output = Result<T, Failure>>,
) -> (Step, Option<T>) {
    let (step, result) = begin_step(probe, subject, check, run).await;
    probe.report_end(subject, &step);
    (step, result)
}

/// Runs a check whose failure still has to be explained: the caller reports its end.
pub(super) async fn begin_step<T>(
    probe: &ProbeContext,
    subject: &Subject,
    check: Check,
    run: impl Future<Output = Result<T, Failure>>,
) -> (Step, Option<T>) {
    probe.report_start(subject, check);
    let (started, end) = (Instant::now(), probe.step_deadline());
    let result = if end <= started {
        Err(failure(Reason::OutOfTime, "not checked: the doctor's timeout had ended"))
    } else {
        timeout_at(end, run).await.unwrap_or_else(|_| {
            let millis = (end - started).as_secs_f64() * 1e3;
            // A step cut short by the doctor's own deadline proves nothing about the broker.
            let (reason, suffix) = match end - started < probe.step_timeout {
                true => (Reason::OutOfTime, ", then the doctor's timeout ended"),
                false => (Reason::TimedOut, ""),
            };
            Err(failure(reason, format!("no response within {millis:.0} ms{suffix}")))
        })
    };
    let duration = started.elapsed();
    match result {
        Ok(value) => (Step { check, duration, failure: None }, Some(value)),
        Err(failure) => (Step { check, duration, failure: Some(failure) }, None),
    }
}

/// Sends a request in the highest version up to `max` that the broker supports.
pub(super) async fn exchange<R: Request>(
    connection: &Connection,
    request: &R,
    max: i16,
) -> Result<R::Response, Failure> {
    let version = supported_version::<R>(connection, max)?;
    let failed = |error| of_error(&error, connection.close_reason().is_some());
    connection.request(request, version).await.map_err(failed)
}

/// The highest version of a request up to `max` that the broker supports.
pub(super) fn supported_version<R: Request>(connection: &Connection, max: i16) -> Result<i16, Failure> {
    connection.version::<R>(max).map_err(|error| of_error(&error, false))
}

/// A failure without an error code.
pub(super) fn failure(reason: Reason, message: impl Into<String>) -> Failure {
    Failure { reason, message: message.into(), code: None }
}

/// The failure for an error code of the broker.
pub(super) fn of_code(code: ErrorCode) -> Failure {
    Failure { reason: Reason::Code, message: code.to_string(), code: Some(code) }
}

/// The failure for an error of connecting.
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

/// The failure for an error of the proxy's handshake.
pub(super) fn of_proxy(error: &Error) -> Failure {
    let reason = match error.proxy_fault() {
        Some(ProxyFault::Credentials) => Reason::ProxyCredentials,
        Some(ProxyFault::Refused) => Reason::ProxyRefused,
        Some(ProxyFault::ServerUnreachable) => Reason::ProxyCannotConnect,
        Some(ProxyFault::NotAProxy) => Reason::NotAProxy,
        None => Reason::ProxyUnreachable,
    };
    failure(reason, error.message())
}

/// The failure for an error of a connection; `closed` says whether the peer had closed it.
pub(super) fn of_error(error: &Error, closed: bool) -> Failure {
    let tls = error.context().phase == Some(Phase::Tls);
    let reason = match (error.code(), error.tls_fault(), error.kind()) {
        (Some(ErrorCode::UnsupportedSaslMechanism), ..) => Reason::Mechanism,
        (Some(ErrorCode::IllegalSaslState), ..) => Reason::WithoutSasl,
        (Some(ErrorCode::SaslAuthenticationFailed), ..) => Reason::Credentials,
        (Some(_), ..) => Reason::Code,
        (None, Some(fault), _) => of_tls_fault(fault),
        (None, None, Kind::Authentication) if tls => Reason::Certificate,
        // This client's own error, not a rejection by the broker.
        (None, None, Kind::Authentication) => Reason::Other,
        _ if closed => Reason::Closed,
        (None, None, Kind::Protocol | Kind::Connection) if !tls => Reason::NotKafka,
        (None, None, Kind::Timeout) => Reason::TimedOut,
        (None, None, _) => Reason::Other,
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
        TlsFault::ClientCertificateRejected => Reason::ClientCertificateRejected,
        TlsFault::Version => Reason::TlsVersion,
        TlsFault::Cipher => Reason::TlsCipher,
        TlsFault::ServerName => Reason::TlsServerName,
    }
}

//! Detects the protocol of a port that accepted a connection but did not respond to Kafka's.
//!
//! Many servers wait for the end of a line or record that never comes, or close the connection when they
//! do not understand the request. A request in their own protocol gets a response.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Duration, Instant, timeout_at};

use super::ProbeContext;
use super::check::Reason;
use crate::connection::setup::open_stream;
use crate::doctor::recording_network::detect_protocol;
use crate::endpoint::Endpoint;

/// How long to wait: a server responds quickly to its own protocol.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// The smallest TLS 1.2 client hello: one cipher suite, no extensions. Any TLS server responds to it, if
/// only with an alert.
const TLS_HELLO: &[u8] = &{
    let mut hello = [0x5a_u8; 50];
    let start = [0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3];
    let end = [0, 0, 2, 0xc0, 0x2f, 1, 0];
    let mut i = 0;
    while i < start.len() {
        hello[i] = start[i];
        i += 1;
    }
    let mut j = 0;
    while j < end.len() {
        hello[50 - end.len() + j] = end[j];
        j += 1;
    }
    hello
};

const HTTP_REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// The protocol at `address`, if it can be detected.
pub(super) async fn probe_protocol(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Option<Reason> {
    let deadline = (Instant::now() + TIMEOUT).min(probe.deadline);
    let (tls, http) = tokio::join!(
        send_probe(probe, endpoint, address, TLS_HELLO, deadline),
        send_probe(probe, endpoint, address, HTTP_REQUEST, deadline)
    );
    // A TLS server may respond to HTTP in plain text ("you're speaking plain HTTP to a TLS port").
    tls.filter(|reason| *reason == Reason::SpeaksTls).or(http)
}

async fn send_probe(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
    request: &[u8],
    deadline: Instant,
) -> Option<Reason> {
    let detection = async {
        let opening = open_stream(endpoint, address, &probe.settings, &probe.environment);
        let mut stream = opening.await.ok()?;
        stream.write_all(request).await.ok()?;
        let mut head = [0; 4];
        stream.read_exact(&mut head).await.ok()?;
        detect_protocol(&head)
    };
    timeout_at(deadline, detection).await.ok()?
}

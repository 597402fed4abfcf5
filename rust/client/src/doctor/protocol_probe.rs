//! A second look at a port that accepted a connection and then said nothing of use: what does it
//! speak, if not Kafka?
//!
//! Many servers wait for the end of a line or of a record that never comes, or close without a word
//! on what they do not understand. Asked in their own tongue, they answer.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Duration, Instant, timeout_at};

use super::Probe;
use super::check::Reason;
use crate::doctor::recording_network::speaks;

/// A server that speaks what it is asked in answers at once.
const PATIENCE: Duration = Duration::from_millis(1500);

/// The smallest TLS 1.2 client hello: one cipher, no extensions. Any TLS server answers it, if only
/// with an alert.
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

/// What listens at `address`, if it tells.
pub(super) async fn second_look(probe: &Probe, address: SocketAddr) -> Option<Reason> {
    let deadline = (Instant::now() + PATIENCE).min(probe.deadline);
    let (tls, http) = tokio::join!(
        answer(probe, address, TLS_HELLO, deadline),
        answer(probe, address, HTTP_REQUEST, deadline)
    );
    // A TLS server may answer HTTP in plain words ("you're speaking plain HTTP to a TLS port").
    tls.filter(|reason| *reason == Reason::SpeaksTls).or(http)
}

async fn answer(probe: &Probe, at: SocketAddr, question: &[u8], deadline: Instant) -> Option<Reason> {
    let asked = async {
        let mut stream = probe.environment.network.connect(at, probe.settings.socket).await.ok()?;
        stream.write_all(question).await.ok()?;
        let mut head = [0; 4];
        stream.read_exact(&mut head).await.ok()?;
        speaks(&head)
    };
    timeout_at(deadline, asked).await.ok()?
}

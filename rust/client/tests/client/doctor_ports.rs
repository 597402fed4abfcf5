//! Proves: whatever listens at a port (a web server, SSH, TLS where plaintext is configured or the other
//! way round, a server that is silent, closes connections or sends garbage), the doctor identifies it at
//! the right step and in time.

use std::net::SocketAddr;
use std::time::Duration;

use crate::support::*;
use ottla_client::doctor::{Check, Failure, Reason, Targets, examine};
use tokio::io::DuplexStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const TIMEOUT: Duration = Duration::from_millis(10_000);
const TLS: &[(&str, &str)] = &[("security.protocol", "SSL")];
const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
const TLS_ALERT: &[u8] = &[0x15, 3, 3, 0, 2, 2, 40];

/// The check that fails at a port, and its failure.
async fn fails(port: SocketAddr, pairs: &[(&str, &str)]) -> (Check, Failure) {
    let started = Instant::now();
    let config = config(&port.to_string(), pairs);
    let facts =
        within_deadline(examine(config, memory_environment(), Targets::default(), TIMEOUT)).await.unwrap();
    // Each step gets a quarter; the rest is tolerance for a slow machine.
    assert!(started.elapsed() < TIMEOUT + Duration::from_secs(3), "{:?}", started.elapsed());
    assert!(facts.cluster.is_none() && facts.brokers.is_empty());
    let steps = &facts.bootstrap[0].addresses[0].steps;
    let failed = steps.iter().find_map(|step| Some((step.check, step.failure.clone()?)));
    failed.unwrap_or_else(|| panic!("nothing failed: {steps:?}"))
}

async fn fails_with(port: SocketAddr, pairs: &[(&str, &str)], check: Check, reason: Reason) -> String {
    let (failed, failure) = fails(port, pairs).await;
    assert_eq!((failed, failure.reason), (check, reason), "{}", failure.message);
    failure.message
}

/// A server that reads once, responds with these bytes and closes the connection.
async fn respond_once(bytes: &'static [u8]) -> SocketAddr {
    server(move |mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(bytes).await;
    })
}

/// Keeps a connection open until the client closes it.
async fn hold(mut stream: DuplexStream) {
    let mut sink = [0; 4096];
    while matches!(stream.read(&mut sink).await, Ok(1..)) {}
}

#[tokio::test(start_paused = true)]
async fn web_servers() {
    for pairs in [&[][..], TLS] {
        let check = if pairs.is_empty() { Check::ApiVersions } else { Check::Tls };
        fails_with(respond_once(HTTP).await, pairs, check, Reason::SpeaksHttp).await;
    }
    // Most web servers wait for the end of a line, which no Kafka client sends.
    let patient = server(|mut stream| async move {
        let mut received = Vec::new();
        while !received.contains(&b'\n') {
            if !matches!(stream.read_buf(&mut received).await, Ok(1..)) {
                return;
            }
        }
        let _ = stream.write_all(HTTP).await;
    });
    fails_with(patient, &[], Check::ApiVersions, Reason::SpeaksHttp).await;
}

#[tokio::test(start_paused = true)]
async fn ssh_speaks_first() {
    let ssh = || {
        server(|mut stream| async move {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").await;
            hold(stream).await;
        })
    };
    fails_with(ssh(), &[], Check::ApiVersions, Reason::SpeaksSsh).await;
    fails_with(ssh(), TLS, Check::Tls, Reason::SpeaksSsh).await;
}

#[tokio::test(start_paused = true)]
async fn tls_where_plaintext_is_configured() {
    fails_with(respond_once(TLS_ALERT).await, &[], Check::ApiVersions, Reason::SpeaksTls).await;
    // A TLS server may close the connection on other bytes without an alert, or wait for a whole record.
    let strict = server(|mut stream| async move {
        let mut head = [0; 3];
        if stream.read_exact(&mut head).await.is_ok() && head[0] == 0x16 {
            let _ = stream.write_all(TLS_ALERT).await;
        }
    });
    fails_with(strict, &[], Check::ApiVersions, Reason::SpeaksTls).await;
    let patient = server(|mut stream| async move {
        let mut head = [0; 3];
        if stream.read_exact(&mut head).await.is_ok() && head[0] == 0x16 {
            let _ = stream.write_all(TLS_ALERT).await;
        }
        hold(stream).await;
    });
    fails_with(patient, &[], Check::ApiVersions, Reason::SpeaksTls).await;
}

#[tokio::test(start_paused = true)]
async fn plaintext_where_tls_is_configured() {
    let cluster = cluster(1).await;
    fails_with(cluster.brokers()[0].address, TLS, Check::Tls, Reason::SpeaksPlaintext).await;
}

#[tokio::test(start_paused = true)]
async fn silent_ports() {
    let (silent, closing) = (server(hold), server(|_| async {}));
    fails_with(silent, &[], Check::ApiVersions, Reason::TimedOut).await;
    fails_with(silent, TLS, Check::Tls, Reason::TimedOut).await;
    fails_with(closing, &[], Check::ApiVersions, Reason::Closed).await;
    fails_with(respond_once(b"").await, &[], Check::ApiVersions, Reason::Closed).await;
    fails_with(closed_port(), &[], Check::Tcp, Reason::Refused).await;
}

#[tokio::test(start_paused = true)]
async fn malformed_frames() {
    let frames: [(&[u8], Reason); 7] = [
        // Another response's correlation id, and half a frame before the connection closes.
        (b"\x00\x00\x00\x08\x7f\xff\xff\xff\x00\x00\x00\x00", Reason::NotKafka),
        (b"\x00\x00\x00\x40\x00\x00\x00\x00", Reason::Closed),
        // Lengths that are too small, too large, negative.
        (b"\x00\x00\x00\x00", Reason::NotKafka),
        (b"\x7f\xff\xff\xff\x00\x00", Reason::NotKafka),
        (b"\xff\xff\xff\xff\x00\x00", Reason::NotKafka),
        (b"\x00\x00\x00\x02\x00\x00", Reason::NotKafka),
        (b"220 mail.example.com ESMTP\r\n", Reason::NotKafka),
    ];
    for (frame, reason) in frames {
        let (check, failure) = fails(respond_once(frame).await, &[]).await;
        assert_eq!(check, Check::ApiVersions, "{frame:?}");
        // Either the malformed frame or the closed connection may be noticed first.
        assert!([reason, Reason::Closed].contains(&failure.reason), "{frame:?}: {failure:?}");
        let open = server(move |mut stream| async move {
            let _ = stream.write_all(frame).await;
            hold(stream).await;
        });
        let (check, failure) = fails(open, &[]).await;
        let reason = if reason == Reason::Closed { Reason::TimedOut } else { reason };
        assert_eq!((check, failure.reason), (Check::ApiVersions, reason), "{frame:?}: {failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_disconnects_after_api_versions() {
    let gone = server(|mut stream| async move {
        let _ = handshake(&mut stream).await;
    });
    fails_with(gone, &[], Check::Metadata, Reason::Closed).await;
    let silent = server(|mut stream| async move {
        let _ = handshake(&mut stream).await;
        hold(stream).await;
    });
    let message = fails_with(silent, &[], Check::Metadata, Reason::TimedOut).await;
    assert!(message.contains("no response within"), "{message}");
}

/// Bytes that arrive one by one do not extend the timeout.
#[tokio::test(start_paused = true)]
async fn a_slow_drip_does_not_extend_the_timeout() {
    let drip = server(|mut stream| async move {
        let frame = [&[0, 0, 1, 0][..], &[0; 256]].concat();
        for byte in frame {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(ms(20)).await;
        }
    });
    fails_with(drip, &[], Check::ApiVersions, Reason::TimedOut).await;
}

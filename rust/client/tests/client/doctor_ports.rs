//! Proves: whatever listens at a port (a web server, SSH, TLS where plaintext was configured and the
//! other way round, something silent, something that hangs up or talks nonsense), the doctor says
//! what it is, at the step where it shows, in its time.

use std::net::SocketAddr;
use std::time::Duration;

use crate::support::*;
use ottla_client::doctor::{Check, Failure, Question, Reason, examine};
use tokio::io::DuplexStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const TIMEOUT: Duration = Duration::from_millis(10_000);
const TLS: &[(&str, &str)] = &[("security.protocol", "SSL")];
const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
const TLS_ALERT: &[u8] = &[0x15, 3, 3, 0, 2, 2, 40];

/// The step at which a port fails, and how.
async fn fails(port: SocketAddr, pairs: &[(&str, &str)]) -> (Check, Failure) {
    let started = Instant::now();
    let config = config(&port.to_string(), pairs);
    let facts =
        within_deadline(examine(config, memory_environment(), Question::default(), TIMEOUT)).await.unwrap();
    // Each phase has a quarter; the rest is the machine's.
    assert!(started.elapsed() < TIMEOUT + Duration::from_secs(3), "{:?}", started.elapsed());
    assert!(facts.cluster.is_none() && facts.brokers.is_empty());
    let steps = &facts.bootstrap[0].addresses[0].steps;
    let failed = steps.iter().find_map(|step| Some((step.check, step.failure.clone()?)));
    failed.unwrap_or_else(|| panic!("nothing failed: {steps:?}"))
}

async fn is(port: SocketAddr, pairs: &[(&str, &str)], check: Check, reason: Reason) -> String {
    let (failed, failure) = fails(port, pairs).await;
    assert_eq!((failed, failure.reason), (check, reason), "{}", failure.message);
    failure.message
}

/// Waits for something, answers with this and hangs up.
async fn once(bytes: &'static [u8]) -> SocketAddr {
    server(move |mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(bytes).await;
    })
}

/// Holds a connection until the other side ends it.
async fn hold(mut stream: DuplexStream) {
    let mut sink = [0; 4096];
    while matches!(stream.read(&mut sink).await, Ok(1..)) {}
}

#[tokio::test(start_paused = true)]
async fn web_servers() {
    for pairs in [&[][..], TLS] {
        let check = if pairs.is_empty() { Check::ApiVersions } else { Check::Tls };
        is(once(HTTP).await, pairs, check, Reason::SpeaksHttp).await;
    }
    // Most wait for the end of a line that no Kafka client sends.
    let patient = server(|mut stream| async move {
        let mut asked = Vec::new();
        while !asked.contains(&b'\n') {
            if !matches!(stream.read_buf(&mut asked).await, Ok(1..)) {
                return;
            }
        }
        let _ = stream.write_all(HTTP).await;
    });
    is(patient, &[], Check::ApiVersions, Reason::SpeaksHttp).await;
}

#[tokio::test(start_paused = true)]
async fn ssh_speaks_first() {
    let ssh = || {
        server(|mut stream| async move {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").await;
            hold(stream).await;
        })
    };
    is(ssh(), &[], Check::ApiVersions, Reason::SpeaksSsh).await;
    is(ssh(), TLS, Check::Tls, Reason::SpeaksSsh).await;
}

#[tokio::test(start_paused = true)]
async fn tls_where_plaintext_was_configured() {
    is(once(TLS_ALERT).await, &[], Check::ApiVersions, Reason::SpeaksTls).await;
    // It may hang up without a word on what is not TLS, and wait for the rest of a record.
    let strict = server(|mut stream| async move {
        let mut head = [0; 3];
        if stream.read_exact(&mut head).await.is_ok() && head[0] == 0x16 {
            let _ = stream.write_all(TLS_ALERT).await;
        }
    });
    is(strict, &[], Check::ApiVersions, Reason::SpeaksTls).await;
    let patient = server(|mut stream| async move {
        let mut head = [0; 3];
        if stream.read_exact(&mut head).await.is_ok() && head[0] == 0x16 {
            let _ = stream.write_all(TLS_ALERT).await;
        }
        hold(stream).await;
    });
    is(patient, &[], Check::ApiVersions, Reason::SpeaksTls).await;
}

#[tokio::test(start_paused = true)]
async fn plaintext_where_tls_was_configured() {
    let cluster = cluster(1).await;
    is(cluster.brokers()[0].address, TLS, Check::Tls, Reason::SpeaksPlaintext).await;
}

#[tokio::test(start_paused = true)]
async fn ports_that_say_nothing() {
    let (silent, deaf) = (server(hold), server(|_| async {}));
    is(silent, &[], Check::ApiVersions, Reason::TimedOut).await;
    is(silent, TLS, Check::Tls, Reason::TimedOut).await;
    is(deaf, &[], Check::ApiVersions, Reason::Closed).await;
    is(once(b"").await, &[], Check::ApiVersions, Reason::Closed).await;
    is(closed_port(), &[], Check::Tcp, Reason::Refused).await;
}

#[tokio::test(start_paused = true)]
async fn frames_that_make_no_sense() {
    let frames: [(&[u8], Reason); 7] = [
        // Another answer's id, and half a frame before the end.
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
        let (check, failure) = fails(once(frame).await, &[]).await;
        assert_eq!(check, Check::ApiVersions, "{frame:?}");
        // Whether the end or the nonsense is seen first is chance.
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
async fn a_broker_that_goes_away_after_its_versions() {
    let gone = server(|mut stream| async move {
        let _ = handshake(&mut stream).await;
    });
    is(gone, &[], Check::Metadata, Reason::Closed).await;
    let silent = server(|mut stream| async move {
        let _ = handshake(&mut stream).await;
        hold(stream).await;
    });
    let words = is(silent, &[], Check::Metadata, Reason::TimedOut).await;
    assert!(words.contains("no response within"), "{words}");
}

/// Bytes that come one by one keep nobody waiting longer.
#[tokio::test(start_paused = true)]
async fn a_slow_drip_does_not_prolong_the_time() {
    let drip = server(|mut stream| async move {
        let frame = [&[0, 0, 1, 0][..], &[0; 256]].concat();
        for byte in frame {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(ms(20)).await;
        }
    });
    is(drip, &[], Check::ApiVersions, Reason::TimedOut).await;
}

//! Proves: requests are pipelined up to the limit; whatever closes a connection fails all its requests
//! with one cause (silence, wrong correlation ids, impossible lengths, cut frames, responses to no
//! request); a caller that gives up affects no other; memory grows with bytes received, not announced.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::*;
use ottla_client::Endpoint;
use ottla_client::connection::{Connection, Settings, connect};
use ottla_client::{Error, Kind};
use ottla_mock::{ApiLimit, MockConfig};
use ottla_protocol::header::response_frame;
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::io::DuplexStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

const API: ApiKey = ApiKey::Metadata;
const VERSION: i16 = 12;

async fn open(address: std::net::SocketAddr, pairs: &[(&str, &str)]) -> Arc<Connection> {
    let settings = Settings::try_from(&config(&address.to_string(), pairs)).unwrap();
    let endpoint = Endpoint { host: address.ip().to_string(), port: address.port() };
    within_deadline(connect(&endpoint, &settings, &memory_environment(), None)).await.expect("a connection")
}

/// Sends a request in a task of its own.
fn ask(connection: &Arc<Connection>) -> tokio::task::JoinHandle<Result<MetadataResponse, Error>> {
    let connection = Arc::clone(connection);
    tokio::spawn(async move { connection.request(&MetadataRequest::default(), VERSION).await })
}

async fn respond_metadata(stream: &mut DuplexStream, correlation_id: i32, controller_id: i32) {
    let response = MetadataResponse { controller_id, ..Default::default() };
    respond(stream, API, VERSION, correlation_id, &response).await;
}

/// A server that completes the handshake, reads `requests` requests, sends `bytes` and keeps the
/// connection open.
async fn server_sending(requests: usize, bytes: Vec<u8>) -> std::net::SocketAddr {
    server(move |mut stream| {
        let bytes = bytes.clone();
        async move {
            handshake(&mut stream).await;
            for _ in 0..requests {
                read_request(&mut stream).await;
            }
            let _ = stream.write_all(&bytes).await;
            let _ = stream.read_u8().await;
        }
    })
}

/// The kind and message of the error that two requests in flight get; it must be the same.
async fn error_of_two(connection: &Arc<Connection>) -> (Kind, String) {
    let (first, second) = (ask(connection), ask(connection));
    let first = within_deadline(first).await.unwrap().expect_err("no response");
    let second = within_deadline(second).await.unwrap().expect_err("no response");
    assert_eq!(first.message(), second.message());
    assert_eq!(connection.close_reason().expect("dead").message(), first.message());
    // Later requests get the same error.
    let later =
        within_deadline(connection.request(&MetadataRequest::default(), VERSION)).await.expect_err("dead");
    assert_eq!(later.message(), first.message());
    (first.kind(), first.to_string())
}

#[tokio::test(start_paused = true)]
async fn requests_are_pipelined_up_to_the_limit() {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    let (go, wait) = tokio::sync::watch::channel(false);
    let address = server(move |mut stream| {
        let (counter, mut wait) = (Arc::clone(&counter), wait.clone());
        async move {
            handshake(&mut stream).await;
            let mut ids = Vec::new();
            for _ in 0..3 {
                ids.push(read_request(&mut stream).await.unwrap().correlation_id);
                counter.fetch_add(1, Ordering::SeqCst);
            }
            wait.wait_for(|go| *go).await.unwrap();
            for id in ids {
                respond_metadata(&mut stream, id, id).await;
            }
            while let Some(header) = read_request(&mut stream).await {
                counter.fetch_add(1, Ordering::SeqCst);
                respond_metadata(&mut stream, header.correlation_id, header.correlation_id).await;
            }
        }
    });
    let connection = open(address, &[("max.in.flight.requests.per.connection", "3")]).await;
    let asked: Vec<_> = (0..5).map(|_| ask(&connection)).collect();
    until(|| read.load(Ordering::SeqCst) == 3).await;
    tokio::time::sleep(ms(50)).await;
    assert_eq!((read.load(Ordering::SeqCst), connection.in_flight()), (3, 3));
    go.send_replace(true);
    let mut controllers = Vec::new();
    for asked in asked {
        controllers.push(within_deadline(asked).await.unwrap().expect("a response").controller_id);
    }
    controllers.sort_unstable();
    assert_eq!(controllers, [1, 2, 3, 4, 5], "each request got its own response");
}

#[tokio::test(start_paused = true)]
async fn silence_closes_the_connection_for_all_waiters() {
    let connection = open(server_sending(2, Vec::new()).await, &[("request.timeout.ms", "150")]).await;
    let watch = Instant::now();
    let (kind, message) = error_of_two(&connection).await;
    assert_eq!(kind, Kind::Connection);
    assert!(message.contains("no response to Metadata v12 within 150 ms"), "{message}");
    assert_took(watch, ms(140), ms(600));
}

#[tokio::test(start_paused = true)]
async fn trickling_bytes_do_not_extend_the_timeout() {
    let address = server(|mut stream| async move {
        handshake(&mut stream).await;
        read_request(&mut stream).await;
        let _ = stream.write_all(&1000_u32.to_be_bytes()).await;
        while stream.write_all(&[0]).await.is_ok() {
            tokio::time::sleep(ms(5)).await;
        }
    });
    let connection = open(address, &[("request.timeout.ms", "150")]).await;
    let watch = Instant::now();
    let error = within_deadline(ask(&connection)).await.unwrap().expect_err("too late");
    assert_took(watch, ms(140), ms(700));
    assert!(error.message().contains("within 150 ms"), "{error}");
}

/// Regression: each response to another request restarted the search for overdue requests.
#[tokio::test(start_paused = true)]
async fn a_busy_connection_still_notices_an_overdue_request() {
    let address = server(|mut stream| async move {
        handshake(&mut stream).await;
        // Every response arrives, each of them too late.
        let mut due: std::collections::VecDeque<(Instant, i32)> = Default::default();
        loop {
            tokio::select! {
                header = read_request(&mut stream) => match header {
                    Some(header) => due.push_back((Instant::now() + ms(5_000), header.correlation_id)),
                    None => return,
                },
                () = tokio::time::sleep_until(due.front().map_or(Instant::now() + ms(1000), |due| due.0)) => {
                    if let Some((_, id)) = due.pop_front() {
                        respond_metadata(&mut stream, id, id).await;
                    }
                }
            }
        }
    });
    let pairs = [("request.timeout.ms", "200"), ("max.in.flight.requests.per.connection", "100")];
    let connection = open(address, &pairs).await;
    let mut asked = Vec::new();
    for _ in 0..25 {
        asked.push(ask(&connection));
        tokio::time::sleep(ms(10)).await;
    }
    let error = within_deadline(asked.remove(0)).await.unwrap().expect_err("overdue");
    assert!(error.message().contains("within 200 ms"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn responses_with_wrong_correlation_ids_close_the_connection() {
    let frame = |id: i32| [&4_u32.to_be_bytes()[..], &id.to_be_bytes()].concat();
    for (bytes, cause) in [
        (frame(77), "correlation id 77 instead of 1"),
        (frame(2), "correlation id 2 instead of 1"),
        (frame(0), "correlation id 0 instead of 1"),
    ] {
        let connection = open(server_sending(2, bytes).await, &[]).await;
        let (kind, message) = error_of_two(&connection).await;
        assert_eq!(kind, Kind::Protocol);
        assert!(message.contains(cause), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn repeated_and_unrequested_responses_close_the_connection() {
    let address = server(|mut stream| async move {
        handshake(&mut stream).await;
        let id = read_request(&mut stream).await.unwrap().correlation_id;
        respond_metadata(&mut stream, id, 1).await;
        respond_metadata(&mut stream, id, 2).await;
        let _ = stream.read_u8().await;
    });
    let connection = open(address, &[]).await;
    within_deadline(ask(&connection)).await.unwrap().expect("the first response");
    until(|| connection.close_reason().is_some()).await;
    assert!(connection.close_reason().unwrap().message().contains("a response to no request"));

    // One that arrives together with the handshake's last response.
    let connection = open(server_sending(0, [0, 0, 0, 4, 0, 0, 0, 9].to_vec()).await, &[]).await;
    until(|| connection.close_reason().is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn impossible_lengths_and_cut_frames_close_the_connection() {
    let cases: [(&[u8], &str); 6] = [
        (&[0xff, 0xff, 0xff, 0xff], "announces -1 bytes"),
        (&[0x7f, 0xff, 0xff, 0xff], "announces 2147483647 bytes"),
        (&[0, 0, 0, 0], "announces 0 bytes"),
        (&[0, 0, 0, 3, 1, 2, 3], "announces 3 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "HTTP"),
        (&[0, 0, 0, 9, 0, 0, 0, 1, 5, 0, 0, 0, 0], "malformed response to Metadata"),
    ];
    for (bytes, cause) in cases {
        let connection =
            open(server_sending(2, bytes.to_vec()).await, &[("request.timeout.ms", "3000")]).await;
        let (first, second) = (ask(&connection), ask(&connection));
        let error = within_deadline(first).await.unwrap().expect_err("no response");
        assert!(error.to_string().contains(cause), "{cause}: {error}");
        within_deadline(second).await.unwrap().expect_err("the connection is closed");
    }
    // Half a frame, then the end of the stream; half a frame, then silence.
    let address = server(|mut stream| async move {
        handshake(&mut stream).await;
        read_request(&mut stream).await;
        let _ = stream.write_all(&[0, 0, 1, 0, 0, 0, 0, 1]).await;
    });
    let error = within_deadline(ask(&open(address, &[]).await)).await.unwrap().expect_err("cut off");
    assert!(error.message().contains("closed the connection"), "{error}");
    let half = server_sending(1, [0, 0, 1, 0, 0, 0, 0, 1].to_vec()).await;
    let error = within_deadline(ask(&open(half, &[("request.timeout.ms", "100")]).await)).await.unwrap();
    assert!(error.expect_err("silence").message().contains("within 100 ms"));
}

/// Regression: the permit of a request whose caller had gone was reused while the broker still processed
/// the request.
#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_affects_no_other_and_keeps_the_limit() {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    let (go, wait) = tokio::sync::watch::channel(false);
    let address = server(move |mut stream| {
        let (counter, mut wait) = (Arc::clone(&counter), wait.clone());
        async move {
            handshake(&mut stream).await;
            while let Some(header) = read_request(&mut stream).await {
                counter.fetch_add(1, Ordering::SeqCst);
                wait.wait_for(|go| *go).await.unwrap();
                respond_metadata(&mut stream, header.correlation_id, header.correlation_id).await;
            }
        }
    });
    let connection = open(address, &[("max.in.flight.requests.per.connection", "1")]).await;
    let given_up = ask(&connection);
    until(|| read.load(Ordering::SeqCst) == 1).await;
    given_up.abort();
    let second = ask(&connection);
    tokio::time::sleep(ms(30)).await;
    assert_eq!(connection.in_flight(), 1, "the first is still with the broker");
    assert_eq!(read.load(Ordering::SeqCst), 1);
    go.send_replace(true);
    assert_eq!(within_deadline(second).await.unwrap().expect("a response").controller_id, 2);
}

#[tokio::test(start_paused = true)]
async fn an_old_broker_is_retried_in_its_own_version() {
    let address = server(|mut stream| async move {
        let header = read_request(&mut stream).await.unwrap();
        let own = ApiVersion { api_key: ApiKey::ApiVersions as i16, min_version: 0, max_version: 2 };
        let refusal = ApiVersionsResponse {
            error_code: ErrorCode::UnsupportedVersion.code(),
            api_keys: vec![own],
            ..Default::default()
        };
        respond(&mut stream, ApiKey::ApiVersions, 0, header.correlation_id, &refusal).await;
        let again = read_request(&mut stream).await.unwrap();
        assert_eq!(again.api_version, 2);
        let metadata = ApiVersion { api_key: API as i16, min_version: 0, max_version: 5 };
        let response = ApiVersionsResponse { api_keys: vec![metadata], ..Default::default() };
        respond(&mut stream, ApiKey::ApiVersions, 2, again.correlation_id, &response).await;
        let _ = stream.read_u8().await;
    });
    let connection = open(address, &[]).await;
    assert_eq!(connection.version::<MetadataRequest>(i16::MAX).unwrap(), 5);

    let limits = [(ApiKey::ApiVersions, ApiLimit::Max(0)), (API, ApiLimit::Max(4))].into();
    let mock = MockConfig { api_limits: limits, ..in_memory() };
    let mock = ottla_mock::MockCluster::start(mock).await.unwrap();
    let connection = open(mock.brokers()[0].address, &[]).await;
    assert_eq!(connection.version::<MetadataRequest>(i16::MAX).unwrap(), 4);
}

#[tokio::test(start_paused = true)]
async fn closing_fails_all_waiters_and_frees_the_socket() {
    let address = server(|mut stream| async move {
        handshake(&mut stream).await;
        while read_request(&mut stream).await.is_some() {}
    });
    let connection = open(address, &[]).await;
    let waiting = ask(&connection);
    until(|| connection.in_flight() == 1).await;
    connection.close();
    let error = within_deadline(waiting).await.unwrap().expect_err("closed");
    assert!(error.message().contains("closed by this client"), "{error}");
}

/// Regression: a byte after a complete response closed the connection; librdkafka's mock cluster sends
/// one in some versions of Metadata.
#[tokio::test(start_paused = true)]
async fn trailing_bytes_after_a_response_are_ignored() {
    let address = server(|mut stream| async move {
        handshake(&mut stream).await;
        while let Some(header) = read_request(&mut stream).await {
            let response = MetadataResponse { controller_id: header.correlation_id, ..Default::default() };
            let frame = response_frame(API, VERSION, header.correlation_id, &response).expect("a frame");
            let mut bytes = frame.to_bytes().to_vec();
            bytes.push(0);
            let length = u32::try_from(bytes.len() - 4).expect("a short frame");
            bytes[..4].copy_from_slice(&length.to_be_bytes());
            let _ = stream.write_all(&bytes).await;
        }
    });
    let connection = open(address, &[]).await;
    for _ in 0..3 {
        let response = within_deadline(connection.request(&MetadataRequest::default(), VERSION)).await;
        assert!(response.is_ok_and(|response| response.controller_id > 0));
    }
    assert!(connection.close_reason().is_none());
}

//! The client on scripted in-memory connections, with a paused clock.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;

use super::*;
use crate::environment::{BoxFuture, Network, SocketOptions, Stream};

const TEST_SERVER: Server = Server { name: "the test server", key_prefix: "test." };
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Hands the far end of each connection to the test.
#[derive(Debug)]
struct Scripted(mpsc::UnboundedSender<DuplexStream>);

impl Network for Scripted {
    fn resolve<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(vec![SocketAddr::from(([198, 51, 100, 1], port))]) })
    }

    fn connect(&self, _: SocketAddr, _: SocketOptions) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        let (near, far) = duplex(64 * 1024);
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let connected = self.0.send(far).map_err(|_| refused());
        Box::pin(async move { connected.map(|()| Box::new(near) as Box<dyn Stream>) })
    }
}

struct Scene {
    client: HttpClient,
    environment: Environment,
}

fn scene() -> (Scene, mpsc::UnboundedReceiver<DuplexStream>) {
    let (sender, connections) = mpsc::unbounded_channel();
    let environment = Environment::new(Arc::new(Scripted(sender)), fastrand::Rng::with_seed(1));
    let url: Uri = "http://me:secret@registry.example:8081/base".parse().unwrap();
    let client = HttpClient::new(Origin::new(TEST_SERVER, &url, None), 1_000).with_keep_alive();
    (Scene { client, environment }, connections)
}

impl Scene {
    async fn send(&self, method: Method) -> Result<HttpResponse, HttpError> {
        let request = HttpRequest {
            is_idempotent: method == Method::GET,
            method,
            path: "/base/x",
            authorization: None,
            accept: "*/*",
            body: None,
        };
        self.client.send(&request, &self.environment, Instant::now() + Duration::from_secs(5)).await
    }
}

/// Responds to the next request on a connection, and returns the request.
async fn respond(stream: &mut DuplexStream, response: &[u8]) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    stream.write_all(response).await.unwrap();
    String::from_utf8(request).unwrap()
}

/// Responds to the first request on a new connection.
async fn respond_on_new(
    connections: &mut mpsc::UnboundedReceiver<DuplexStream>,
    response: &[u8],
) -> (DuplexStream, String) {
    let mut stream = connections.recv().await.unwrap();
    let request = respond(&mut stream, response).await;
    (stream, request)
}

#[tokio::test(start_paused = true)]
async fn requests_share_a_connection_until_it_was_idle_for_long() {
    let (scene, mut connections) = scene();
    let (response, (mut stream, request)) =
        tokio::join!(scene.send(Method::GET), respond_on_new(&mut connections, OK));
    let response = response.unwrap();
    assert_eq!((response.status, &response.body[..]), (200, &b"ok"[..]));
    assert!(request.contains("host: registry.example:8081\r\n") && !request.contains("secret"), "{request}");
    let (second, _) = tokio::join!(scene.send(Method::GET), respond(&mut stream, OK));
    second.unwrap();
    tokio::time::sleep(IDLE_LIMIT).await;
    let (third, _) = tokio::join!(scene.send(Method::GET), respond_on_new(&mut connections, OK));
    third.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reused_connection_that_was_closed_costs_an_idempotent_request_nothing() {
    let (scene, mut connections) = scene();
    for method in [Method::GET, Method::POST] {
        let (first, (mut stream, _)) =
            tokio::join!(scene.send(Method::GET), respond_on_new(&mut connections, OK));
        first.unwrap();
        // The server reads the request, and closes.
        let closed = async {
            respond(&mut stream, b"").await;
            drop(stream);
        };
        if method == Method::GET {
            let (second, (), _) =
                tokio::join!(scene.send(method), closed, respond_on_new(&mut connections, OK));
            second.unwrap();
            scene.client.close_idle();
        } else {
            let (second, ()) = tokio::join!(scene.send(method), closed);
            let failure = second.unwrap_err();
            assert!(failure.was_sent, "{}", failure.error);
            assert!(failure.error.message().contains("closed before the response"), "{}", failure.error);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_costs_the_deadline() {
    let (scene, mut connections) = scene();
    let started = Instant::now();
    let (sent, _stream) = tokio::join!(scene.send(Method::GET), connections.recv());
    let failure = sent.unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    assert_eq!((failure.error.kind(), failure.was_sent), (Kind::Timeout, true), "{}", failure.error);
}

#[tokio::test(start_paused = true)]
async fn responses_are_bounded_and_redirects_not_followed() {
    let large =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n{}\r\n", "x".repeat(2_000));
    let redirect =
        b"HTTP/1.1 302 Found\r\nLocation: http://other/\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n";
    let (scene, mut connections) = scene();
    let (sent, _) = tokio::join!(scene.send(Method::GET), respond_on_new(&mut connections, large.as_bytes()));
    let failure = sent.unwrap_err();
    assert_eq!(failure.error.kind(), Kind::Protocol, "{}", failure.error);
    assert!(failure.error.message().contains("larger than 1000 bytes"), "{}", failure.error);
    let (sent, _) = tokio::join!(scene.send(Method::GET), respond_on_new(&mut connections, redirect));
    let response = sent.unwrap();
    assert_eq!((response.status, response.location.as_deref()), (302, Some("http://other/")));
    assert_eq!(response.retry_after, Some(Duration::from_secs(7)));
    scene.client.close_idle();
    let (sent, _) = tokio::join!(
        scene.send(Method::GET),
        respond_on_new(&mut connections, b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n")
    );
    let failure = sent.unwrap_err();
    assert!(failure.error.message().contains("if this port expects TLS, use https"), "{}", failure.error);
}

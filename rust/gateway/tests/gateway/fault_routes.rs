//! Proves: faults are injected, listed and removed over HTTP, where these are allowed; pages of browsers and requests of
//! any other form change nothing.

use ottla_client::environment::Environment;
use ottla_faults::{Fault, Match, Reaction};
use ottla_gateway::monitoring::StatusServer;
use ottla_gateway::{Gateway, GatewayConfig};
use ottla_protocol::ErrorCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::*;

const JSON: &str = "Content-Type: application/json; charset=utf-8\r\n";
const SILENCE: &str = r#"{"silence":true}"#;

/// The status code and the body of the response to a request.
async fn ask(server: &StatusServer, request: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let length = body.len();
    let head = format!("{request} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{headers}\r\n");
    // The server may have refused it already.
    _ = stream.write_all((head + body).as_bytes()).await;
    let mut response = Vec::new();
    _ = within_deadline(stream.read_to_end(&mut response)).await;
    let response = String::from_utf8(response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn serve(gateway: &Gateway) -> StatusServer {
    StatusServer::start(gateway, ([127, 0, 0, 1], 0).into()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_are_injected_listed_and_removed() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let server = serve(&gateway);
    let lost = r#"{"api":"Produce","times":2,"disconnect":"after"}"#;
    let injected = r#"{"api":"Produce","disconnect":"after","hits":0,"id":0,"times":2}"#;
    assert_eq!(ask(&server, "POST /faults", JSON, lost).await, (201, injected.to_owned()));
    assert_eq!(ask(&server, "POST /faults", JSON, SILENCE).await.0, 201);
    let (status, listed) = ask(&server, "GET /faults", "", "").await;
    assert!(status == 200 && listed.starts_with(&format!("[{injected},")), "{listed}");
    assert_eq!(ask(&server, "DELETE /faults?id=0", "", "").await.0, 200);
    assert_eq!(ask(&server, "DELETE /faults?id=0", "", "").await.0, 404);
    assert_eq!(ask(&server, "DELETE /faults", "", "").await.0, 200);
    assert_eq!(ask(&server, "GET /faults", "", "").await, (200, "[]".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_and_malformed_requests_inject_nothing() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let server = serve(&gateway);
    for form in ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"] {
        assert_eq!(ask(&server, "POST /faults", form, SILENCE).await.0, 415);
    }
    for origin in ["https://evil.example.com", "null", "http://localhost"] {
        let headers = format!("{JSON}Origin: {origin}\r\n");
        assert_eq!(ask(&server, "POST /faults", &headers, SILENCE).await.0, 403);
        assert_eq!(ask(&server, "DELETE /faults", &headers, "").await.0, 403);
    }
    for body in ["", "[", "null", "{}", r#"{"delay":1e400}"#, r#"{"move_leader":1}"#, &"[".repeat(60_000)] {
        assert_eq!(ask(&server, "POST /faults", JSON, body).await.0, 400, "{body:.40}");
    }
    for query in ["id=", "id=x", "id=-1", "id=99999999999999999999", "x=1"] {
        assert_eq!(ask(&server, &format!("DELETE /faults?{query}"), "", "").await.0, 400, "{query}");
    }
    assert_eq!(ask(&server, "PUT /faults", JSON, SILENCE).await.0, 405);
    assert_eq!(ask(&server, "POST /totals", JSON, SILENCE).await.0, 405);
    assert_eq!(gateway.faults().unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_without_faults_says_how_to_allow_them() {
    let config = GatewayConfig { allow_faults: false, ..gateway_config("none:1") };
    let gateway = Gateway::start(config, Environment::default()).await.unwrap();
    let server = serve(&gateway);
    for request in ["GET /faults", "POST /faults", "DELETE /faults", "DELETE /faults?id=0"] {
        let (status, body) = ask(&server, request, JSON, SILENCE).await;
        assert!(status == 403 && body.contains("--allow-faults"), "{request}: {status} {body}");
    }
}

/// Rust callers, who state no document.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_that_is_none_is_refused() {
    let gateway = Gateway::start(gateway_config("none:1"), Environment::default()).await.unwrap();
    for then in [Reaction::Error(ErrorCode::None), Reaction::ErrorAfterHandling(ErrorCode::None)] {
        let refused = gateway.inject(Fault::once(Match::any(), then)).unwrap_err();
        assert!(refused.to_string().contains("other than NONE"), "{refused}");
    }
    assert_eq!(gateway.faults().unwrap().len(), 0);
}

//! Requests to the schema registry over HTTP, without its client.

use ottla_mock::schema_registry::MockRegistry;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The status and the text of a response.
async fn exchange(registry: &MockRegistry, method: &str, path: &str, body: Value) -> (u16, String) {
    let address = registry.url().replace("http://", "");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// The status and the JSON of a response.
pub(crate) async fn send(registry: &MockRegistry, method: &str, path: &str, body: Value) -> (u16, Value) {
    let (status, text) = exchange(registry, method, path, body).await;
    (status, serde_json::from_str(&text).unwrap())
}

pub(crate) async fn get_text(registry: &MockRegistry, path: &str) -> String {
    let (status, text) = exchange(registry, "GET", path, Value::Null).await;
    assert_eq!(status, 200, "{path}: {text}");
    text
}

pub(crate) async fn get(registry: &MockRegistry, path: &str) -> Value {
    let (status, found) = send(registry, "GET", path, Value::Null).await;
    assert_eq!(status, 200, "{path}: {found}");
    found
}

/// The status and the error code of a refusal.
pub(crate) async fn refusal(registry: &MockRegistry, method: &str, path: &str, body: Value) -> (u16, i64) {
    let (status, refused) = send(registry, method, path, body).await;
    (status, refused["error_code"].as_i64().unwrap_or_else(|| panic!("{method} {path}: {refused}")))
}

//! Proves: an announced frame length does not make a connection allocate memory.

// Only Linux reports a process's memory.
#![cfg(target_os = "linux")]

use crate::support::*;
use ottla_client::Endpoint;
use ottla_client::Kind;
use ottla_client::connection::{Settings, connect};
use ottla_protocol::messages::metadata::MetadataRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The resident memory of this process in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn reserved() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test]
async fn an_announced_length_allocates_no_memory() {
    let address = tcp_server(|mut stream| async move {
        handshake(&mut stream).await;
        read_request(&mut stream).await;
        let _ = stream.write_all(&1_900_000_000_u32.to_be_bytes()).await;
        let _ = stream.write_all(&[0; 1000]).await;
        let _ = stream.read_u8().await;
    })
    .await;
    let pairs = [("request.timeout.ms", "200"), ("receive.message.max.bytes", "2000000000")];
    let settings = Settings::try_from(&config(&address.to_string(), &pairs)).expect("settings");
    let endpoint = Endpoint { host: address.ip().to_string(), port: address.port() };
    let connection = within_deadline(connect(&endpoint, &settings, &Default::default(), None)).await.unwrap();
    let before = (resident(), reserved());
    let error =
        within_deadline(connection.request(&MetadataRequest::default(), 12)).await.expect_err("silence");
    assert_eq!(error.kind(), Kind::Connection, "{error}");
    assert!(resident() < before.0 + (16 << 20), "resident grew");
    assert!(reserved() < before.1 + (512 << 20), "reserved grew");
}

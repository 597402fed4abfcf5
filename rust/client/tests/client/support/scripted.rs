//! Peers that a test scripts byte by byte, in memory or on TCP.

use std::future::Future;
use std::net::SocketAddr;

use ottla_mock::MemoryListener;
use ottla_protocol::header::{RequestHeader, response_frame};
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::{ApiKey, Message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};

use super::memory::memory_network;

/// A connection to a client.
pub(crate) trait Peer: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Peer for T {}

/// An in-memory address that nothing listens on.
pub(crate) fn closed_port() -> SocketAddr {
    memory_network().listen().address()
}

/// A loopback port that nothing listens on.
pub(crate) async fn closed_tcp_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address")
}

/// A server in memory that runs `serve` for each connection.
pub(crate) fn server<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(DuplexStream) -> F + Send + 'static,
) -> SocketAddr {
    serve_at(memory_network().listen(), serve)
}

/// The same for a script that needs to know its own address.
pub(crate) fn serve_at<F: Future<Output = ()> + Send + 'static>(
    mut listener: MemoryListener,
    serve: impl Fn(DuplexStream) -> F + Send + 'static,
) -> SocketAddr {
    let address = listener.address();
    tokio::spawn(async move {
        loop {
            let stream = listener.accept().await;
            tokio::spawn(serve(stream));
        }
    });
    address
}

/// The same on a loopback port.
pub(crate) async fn tcp_server<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

/// A server that reads what arrives, responds with `bytes`, and keeps the connection open.
pub(crate) fn server_responding(bytes: &'static [u8]) -> SocketAddr {
    server(move |mut stream| async move {
        let mut sink = [0; 4096];
        while matches!(stream.read(&mut sink).await, Ok(1..)) {
            if stream.write_all(bytes).await.is_err() {
                return;
            }
        }
    })
}

/// The next request's header; `None` at the end of the stream.
pub(crate) async fn read_request(stream: &mut (impl Peer + ?Sized)) -> Option<RequestHeader> {
    let length = stream.read_u32().await.ok()?;
    let mut frame = vec![0; usize::try_from(length).ok()?];
    stream.read_exact(&mut frame).await.ok()?;
    RequestHeader::decode_any(&frame.into()).ok().map(|(header, _)| header)
}

pub(crate) async fn respond(
    stream: &mut (impl Peer + ?Sized),
    api: ApiKey,
    version: i16,
    correlation_id: i32,
    message: &impl Message,
) {
    let frame = response_frame(api, version, correlation_id, message).expect("a frame");
    // The client may be gone.
    let _ = stream.write_all(&frame.to_bytes()).await;
}

/// Responds to a client's handshake: every API in all versions.
pub(crate) async fn handshake(stream: &mut (impl Peer + ?Sized)) -> Option<()> {
    let header = read_request(stream).await?;
    let api_keys = ApiKey::ALL.iter().map(|api| ApiVersion {
        api_key: *api as i16,
        min_version: api.versions().0,
        max_version: api.versions().1,
    });
    let response = ApiVersionsResponse { api_keys: api_keys.collect(), ..Default::default() };
    respond(stream, ApiKey::ApiVersions, header.api_version, header.correlation_id, &response).await;
    Some(())
}

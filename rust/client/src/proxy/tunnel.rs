//! Runs a handshake with a proxy on a stream that is connected to it.
//!
//! The caller sets the deadline, and adds phase and address to the error.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::address::Protocol;
use super::http_connect::HttpConnect;
use super::socks5::Socks5;
use super::{Handshake, Proxy};
use crate::endpoint::Endpoint;
use crate::environment::Stream;
use crate::error::{Error, Kind, ProxyFault, Result};

/// The most bytes of one read.
const READ_MAX: usize = 4096;

/// Lets the proxy connect the stream to `target`.
pub(crate) async fn open_tunnel(proxy: &Proxy, target: &Endpoint, stream: &mut dyn Stream) -> Result<()> {
    // On the heap: connections without a proxy do not pay for its size.
    let opened = Box::pin(shake(proxy, target, stream)).await;
    opened.map_err(|error| {
        let error = match error.proxy_fault() {
            Some(ProxyFault::Credentials) => {
                let message = format!("{}: see the user and the password in {}", error.message(), proxy.key);
                error.with_message(message)
            }
            _ => error,
        };
        proxy.blame(error)
    })
}

async fn shake(proxy: &Proxy, target: &Endpoint, stream: &mut dyn Stream) -> Result<()> {
    let mut handshake = handshake(proxy, target)?;
    let mut buffer = vec![0; READ_MAX];
    let mut unwritten = None;
    loop {
        if let Some(output) = handshake.take_output() {
            let written = async {
                stream.write_all(&output).await?;
                stream.flush().await
            };
            // What the proxy sent before it closed the connection explains more than the closing.
            unwritten = written.await.err();
        }
        let wanted = handshake.wanted().min(READ_MAX);
        if wanted == 0 {
            return Ok(());
        }
        let read = stream.read(buffer.get_mut(..wanted).unwrap_or_default()).await;
        match (read, unwritten.take()) {
            (Ok(0), None) => return Err(handshake.closed()),
            (Ok(0), Some(error)) | (Err(error), _) if is_closing(&error) => return Err(handshake.closed()),
            (Ok(0), Some(error)) | (Err(error), _) => {
                return Err(Error::new(Kind::Connection, error.to_string()));
            }
            (Ok(count), _) => handshake.receive(buffer.get(..count).unwrap_or_default())?,
        }
    }
}

/// The handshake for a connection to `target`.
fn handshake(proxy: &Proxy, target: &Endpoint) -> Result<Box<dyn Handshake + Send>> {
    let credentials = &proxy.credentials;
    Ok(match proxy.protocol {
        Protocol::Socks5 => Box::new(Socks5::new(target, credentials.clone())?),
        Protocol::Http => Box::new(HttpConnect::new(target, credentials.as_ref())?),
    })
}

fn is_closing(error: &io::Error) -> bool {
    use io::ErrorKind as E;
    matches!(error.kind(), E::ConnectionReset | E::BrokenPipe | E::ConnectionAborted | E::UnexpectedEof)
}

impl Proxy {
    /// Says in an error that it is about the proxy, not about the server behind it.
    pub(crate) fn blame(&self, error: Error) -> Error {
        error.prefixed(format_args!("the proxy {self}"))
    }
}

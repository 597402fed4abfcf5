//! The client's dependencies on the outside world: name resolution, sockets, randomness and OAUTHBEARER
//! tokens. All are injected, so that tests can replace them and replay a run from a seed. The clock is
//! tokio's, which tests can pause.

pub(crate) mod happy_eyeballs;
pub(crate) mod read_observer;
mod resolver;
mod token_provider;

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use ottla_protocol::wire::Uuid;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};

pub use token_provider::{Token, TokenProvider};

use crate::environment::resolver::{Resolver, canonical_name};

/// A boxed future, for trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A connected byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Options of a new socket.
#[derive(Debug, Clone, Copy)]
pub struct SocketOptions {
    /// `SO_SNDBUF` in bytes; -1 keeps the system's default.
    pub send_buffer: i32,
    /// `SO_RCVBUF` in bytes; -1 keeps the system's default.
    pub receive_buffer: i32,
}

/// Name resolution and connections.
pub trait Network: Send + Sync + fmt::Debug {
    /// Resolves all addresses of a host.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
    /// Returns the canonical name of an address; the address itself if it has none.
    fn canonical_name(&self, address: IpAddr) -> BoxFuture<'_, io::Result<String>> {
        Box::pin(async move { Ok(address.to_string()) })
    }
    /// Connects to an address.
    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>>;
}

/// The operating system's resolver and TCP.
#[derive(Debug, Default)]
pub struct SystemNetwork(Resolver);

impl Network for SystemNetwork {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(self.0.resolve(host, port))
    }

    fn canonical_name(&self, address: IpAddr) -> BoxFuture<'_, io::Result<String>> {
        Box::pin(canonical_name(address))
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        Box::pin(async move {
            let socket = if address.is_ipv4() {
                tokio::net::TcpSocket::new_v4()?
            } else {
                tokio::net::TcpSocket::new_v6()?
            };
            if let Ok(size) = u32::try_from(options.send_buffer) {
                socket.set_send_buffer_size(size)?;
            }
            if let Ok(size) = u32::try_from(options.receive_buffer) {
                socket.set_recv_buffer_size(size)?;
            }
            let stream = socket.connect(address).await?;
            stream.set_nodelay(true)?;
            // Detects a peer that vanished, even on a connection that only waits.
            let keepalive = socket2::TcpKeepalive::new()
                .with_time(std::time::Duration::from_secs(60))
                .with_interval(std::time::Duration::from_secs(10));
            socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}

/// The outside world as one client sees it.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Name resolution and connections.
    pub network: Arc<dyn Network>,
    /// The application's source of OAUTHBEARER tokens.
    pub token_provider: Option<Arc<dyn TokenProvider>>,
    /// The files that OAUTHBEARER may use for assertions, with commas between them; if `None`, those in the
    /// process's environment.
    assertion_files: Option<Arc<str>>,
    random: Arc<Mutex<fastrand::Rng>>,
}

impl Default for Environment {
    fn default() -> Self {
        Self::new(Arc::new(SystemNetwork::default()), fastrand::Rng::new())
    }
}

impl Environment {
    /// Creates an environment without a token provider.
    pub fn new(network: Arc<dyn Network>, random: fastrand::Rng) -> Self {
        Self { network, token_provider: None, assertion_files: None, random: Arc::new(Mutex::new(random)) }
    }

    /// Returns the same environment with these files that OAUTHBEARER may use for assertions, with commas between
    /// them, instead of those in the variable `OTTLA_ASSERTION_FILES`.
    #[must_use]
    pub fn with_assertion_files(self, files: &str) -> Self {
        Self { assertion_files: Some(files.into()), ..self }
    }

    /// Whether OAUTHBEARER may use this file for assertions.
    pub(crate) fn permits_assertion_file(&self, file: &str) -> bool {
        let lists = |files: &str| files.split(',').any(|listed| !file.is_empty() && listed.trim() == file);
        match &self.assertion_files {
            Some(files) => lists(files),
            // Read each time: an application may set it before it creates a client.
            None => std::env::var("OTTLA_ASSERTION_FILES").is_ok_and(|files| lists(&files)),
        }
    }

    /// Returns the same environment with a token provider.
    #[must_use]
    pub fn with_token_provider(self, provider: Arc<dyn TokenProvider>) -> Self {
        Self { token_provider: Some(provider), ..self }
    }

    /// The wall-clock time, for the expiry of tokens.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Returns the same environment with another network.
    #[must_use]
    pub fn with_network(&self, network: Arc<dyn Network>) -> Self {
        Self { network, ..self.clone() }
    }

    /// A random number in `0.0..1.0`.
    #[must_use]
    pub fn random(&self) -> f64 {
        self.random.lock().f64()
    }

    /// A random number below `bound`; 0 if the bound is 0.
    #[must_use]
    pub fn random_below(&self, bound: usize) -> usize {
        if bound == 0 { 0 } else { self.random.lock().usize(..bound) }
    }

    /// A random id.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        Uuid(self.random.lock().u128(..).to_be_bytes())
    }

    /// Shuffles items.
    pub fn shuffle<T>(&self, items: &mut [T]) {
        self.random.lock().shuffle(items);
    }
}

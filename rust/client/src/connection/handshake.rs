//! How a connection comes up: DNS → TCP → (TLS) → ApiVersions → (SASL) → ready.
//!
//! Each phase has a deadline, and every failure says which phase, which address and why. Frames
//! before the connection is ready are capped small: nobody has proven to be a broker yet.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::wire::Reader;
use ottla_protocol::{ApiKey, ErrorCode, Message};
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::{Duration, Instant, timeout, timeout_at};

use super::io::{FrameReader, drive};
use super::{Connection, Shared, State, transport_error};
use crate::config::Config;
use crate::environment::{Environment, SocketOptions, Stream};
use crate::error::{Error, Kind, Phase, Result};

/// The largest frame before the connection is ready.
const HANDSHAKE_FRAME_MAX: usize = 256 * 1024;

/// Where a broker is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl std::str::FromStr for Endpoint {
    type Err = Error;

    /// `host:port`, `[v6]:port`, with an optional listener name in front (`PLAINTEXT://`).
    fn from_str(text: &str) -> Result<Self> {
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let wrong = |why: &str| {
            Error::new(
                Kind::Config,
                format!("bootstrap.servers: {text:?} is not an address: {why} (expected host:port)"),
            )
        };
        let (host, port) = bare.rsplit_once(':').ok_or_else(|| wrong("it has no port"))?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || host.contains([' ', '/']) {
            return Err(wrong("its host is not a name"));
        }
        match port.parse() {
            Ok(port) if port > 0 => Ok(Self { host: host.to_owned(), port }),
            _ => Err(wrong("its port is not a number from 1 to 65535")),
        }
    }
}

/// What a connection needs to know of the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Sent in each request's header.
    pub client_id: String,
    /// How long an answer may take.
    pub request_timeout: Duration,
    setup_timeout: Duration,
    max_in_flight: usize,
    frame_max: usize,
    socket: SocketOptions,
}

impl From<&Config> for Settings {
    fn from(config: &Config) -> Self {
        Self {
            client_id: config.client_id.clone(),
            request_timeout: config.request_timeout,
            setup_timeout: config.connection_setup_timeout,
            max_in_flight: config.max_in_flight,
            frame_max: config.receive_message_max,
            socket: SocketOptions { send_buffer: config.send_buffer, receive_buffer: config.receive_buffer },
        }
    }
}

/// The versions of an API that a broker speaks.
#[derive(Debug, Clone, Copy)]
pub(super) struct ApiRange {
    pub(super) api: ApiKey,
    pub(super) min: i16,
    pub(super) max: i16,
}

/// Brings up a connection to `endpoint`, by `deadline` if there is one. Its addresses are tried one
/// after the other, each for no more than its share of the time; if none works, all that failed is
/// told.
pub async fn connect(
    endpoint: &Endpoint,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<Connection> {
    let addresses = resolve(endpoint, settings, environment, deadline).await?;
    let mut failures: Vec<Error> = Vec::new();
    for (tried, address) in (0..).zip(&addresses) {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = share(settings, deadline, left);
        match connect_address(endpoint, *address, settings, environment, share).await {
            Ok(connection) => return Ok(connection),
            Err(error) => failures.push(error),
        }
    }
    let Some(last) = failures.pop() else {
        return Err(Error::new(Kind::Connection, "the name has no address")
            .phase(Phase::Dns)
            .address(endpoint.to_string()));
    };
    // The last one's place is shown by itself.
    Err(failures.iter().rev().fold(last, |last, failure| last.because(format_args!("{failure}; then"))))
}

/// How long one step may take when `left` steps share the time until `deadline`.
fn share(settings: &Settings, deadline: Option<Instant>, left: u32) -> Duration {
    match deadline {
        None => settings.setup_timeout,
        Some(deadline) => {
            settings.setup_timeout.min(deadline.saturating_duration_since(Instant::now()) / left.max(1))
        }
    }
}

async fn resolve(
    endpoint: &Endpoint,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<Vec<SocketAddr>> {
    let within = share(settings, deadline, 1);
    let failed = |why: String| {
        Error::new(Kind::Connection, format!("the name {:?} cannot be resolved: {why}", endpoint.host))
            .phase(Phase::Dns)
            .address(endpoint.to_string())
    };
    match timeout(within, environment.network.resolve(&endpoint.host, endpoint.port)).await {
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no answer within {} ms", within.as_millis()))),
    }
}

async fn connect_address(
    endpoint: &Endpoint,
    address: SocketAddr,
    settings: &Settings,
    environment: &Environment,
    within: Duration,
) -> Result<Connection> {
    let name = shown(endpoint, address);
    let deadline = Instant::now() + within;
    let late = |phase: Phase| {
        let millis = (within + Duration::from_micros(500)).as_millis();
        let words = match within == settings.setup_timeout {
            true => format!("no answer within socket.connection.setup.timeout.ms ({millis} ms)"),
            false => format!("no answer within {millis} ms"),
        };
        Error::new(Kind::Connection, words).phase(phase).address(&name)
    };
    let connecting = environment.network.connect(address, settings.socket);
    let stream = match timeout_at(deadline, connecting).await {
        Ok(connected) => connected.map_err(|error| transport_error(&error, Phase::Tcp, &name))?,
        Err(_) => return Err(late(Phase::Tcp)),
    };
    let mut raw = Raw {
        stream,
        frames: FrameReader::new(HANDSHAKE_FRAME_MAX),
        name: &name,
        client_id: &settings.client_id,
        next_correlation_id: 0,
    };
    let apis = match timeout_at(deadline, raw.api_versions()).await {
        Ok(apis) => apis?,
        Err(_) => return Err(late(Phase::ApiVersions)),
    };
    tracing::debug!(target: "ottla.connection", address = %name, apis = apis.len(), "connected");
    let Raw { stream, frames, .. } = raw;
    Ok(start(stream, frames, apis, endpoint.clone(), name, settings))
}

/// The name, and the address where the name does not say it.
fn shown(endpoint: &Endpoint, address: SocketAddr) -> String {
    let name = endpoint.to_string();
    if address.to_string() == name { name } else { format!("{name} ({})", address.ip()) }
}

/// A stream before it is a connection: one request at a time.
struct Raw<'a> {
    stream: Box<dyn Stream>,
    frames: FrameReader,
    name: &'a str,
    client_id: &'a str,
    next_correlation_id: i32,
}

impl Raw<'_> {
    /// Asks what the broker speaks: in our newest version, and again in version 0 if the broker
    /// does not know that one.
    async fn api_versions(&mut self) -> Result<Vec<ApiRange>> {
        let newest = ApiKey::ApiVersions.versions().1;
        let mut response = self.ask_api_versions(newest).await?;
        if ErrorCode::from(response.error_code) == ErrorCode::UnsupportedVersion {
            let known = response.api_keys.iter().find(|api| api.api_key == ApiKey::ApiVersions as i16);
            let version = known.map_or(0, |api| api.max_version).clamp(0, newest);
            response = self.ask_api_versions(version).await?;
        }
        if let Err(code) = ErrorCode::from(response.error_code).ok() {
            return Err(Error::from_code(code).phase(Phase::ApiVersions).address(self.name));
        }
        let known = |api: &ottla_protocol::messages::api_versions::ApiVersion| {
            Some(ApiRange {
                api: ApiKey::try_from(api.api_key).ok()?,
                min: api.min_version,
                max: api.max_version,
            })
        };
        Ok(response.api_keys.iter().filter_map(known).collect())
    }

    async fn ask_api_versions(&mut self, version: i16) -> Result<ApiVersionsResponse> {
        let request = ApiVersionsRequest {
            client_software_name: "ottla".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        };
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id += 1;
        let header = RequestHeader {
            api_key: ApiKey::ApiVersions as i16,
            api_version: version,
            correlation_id,
            client_id: Some(self.client_id.to_owned()),
        };
        let frame =
            header::request_frame(&header, ApiKey::ApiVersions.request_header_version(version), &request)?;
        let io = |error: std::io::Error| transport_error(&error, Phase::ApiVersions, self.name);
        self.stream.write_all(&frame.to_bytes()).await.map_err(io)?;
        let answer =
            self.frames.next(&mut self.stream).await.map_err(|e| e.at(self.name, Phase::ApiVersions))?;
        let mut r = Reader::new(answer);
        let malformed = |e: ottla_protocol::WireError| {
            Error::from(e)
                .because("this does not look like Kafka: malformed answer to ApiVersions")
                .as_kind(Kind::Connection)
                .phase(Phase::ApiVersions)
                .address(self.name)
        };
        let answered = header::decode_response_header(&mut r, 0).map_err(malformed)?;
        if answered != correlation_id {
            let words = format!(
                "this does not look like Kafka: an answer with correlation id {answered} where {correlation_id} was due"
            );
            let error = Error::new(Kind::Connection, words);
            return Err(error.phase(Phase::ApiVersions).address(self.name));
        }
        // A broker that does not know the version answers in version 0, whose layout starts like
        // every other's: the error code comes first.
        let code = r.rest().first_chunk::<2>().map_or(0, |code| i16::from_be_bytes(*code));
        let version = if ErrorCode::from(code) == ErrorCode::UnsupportedVersion { 0 } else { version };
        ApiVersionsResponse::decode(&mut r, version).map_err(malformed)
    }
}

/// From here on the stream belongs to a task.
fn start(
    stream: Box<dyn Stream>,
    frames: FrameReader,
    apis: Vec<ApiRange>,
    endpoint: Endpoint,
    address: String,
    settings: &Settings,
) -> Connection {
    let state = Mutex::new(State::Alive(Default::default()));
    let shared = Arc::new(Shared { state, address, changed: Notify::new() });
    let (outgoing, queue) = mpsc::unbounded_channel();
    // Bytes that came along with the handshake's answer are for the reader to judge.
    let frames = frames.with_max(settings.frame_max);
    let task = tokio::spawn(drive(stream, frames, queue, Arc::clone(&shared))).abort_handle();
    Connection {
        shared,
        endpoint,
        outgoing,
        in_flight: Arc::new(Semaphore::new(settings.max_in_flight)),
        next_correlation_id: AtomicI32::new(1),
        apis,
        settings: settings.clone(),
        throttled: Mutex::default(),
        task,
    }
}

//! Connection setup, phase by phase: DNS, TCP, Proxy, TLS, ApiVersions, SASL.
//!
//! Each phase is a function. Its error is complete (phase, address, cause, fix); its deadline is up to
//! the caller. `handshake.rs` runs the phases in order, the doctor one by one. Frames are limited to a
//! small size: the peer has not proven to be a broker yet.

use std::net::SocketAddr;
use std::sync::Arc;

use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::wire::{Frame, Reader};
use ottla_protocol::{ApiKey, ErrorCode, Message, Request, WireError};
use tokio::io::AsyncWriteExt;

use super::authenticate::{self, SaslChannel, SaslInfo};
use super::frames::{FrameError, FrameReader};
use super::io::closed_by_peer;
use super::settings::ExpectedPeer;
use super::transport_error::transport_error;
use super::{ApiRange, Settings, versions};
use crate::endpoint::Endpoint;
use crate::environment::{Environment, Stream};
use crate::error::TlsFault;
use crate::error::{Error, Kind, Outlook, Phase, Result};
use crate::printable::printable;
use crate::proxy::open_tunnel;
use crate::security::{Security, TlsInfo, client_certificate_missing, tls_error_in};

/// The largest frame before the connection is ready.
const HANDSHAKE_FRAME_MAX: usize = 256 * 1024;

/// Resolves the addresses to connect to: those of the proxy if there is one, which resolves the endpoint.
pub(crate) async fn resolve(
    endpoint: &Endpoint,
    settings: &Settings,
    environment: &Environment,
) -> Result<Vec<SocketAddr>> {
    let Endpoint { host, port } = settings.proxy.as_ref().map_or(endpoint, |proxy| &proxy.endpoint);
    let addresses = environment.network.resolve(host, *port).await;
    let failed = |why: &dyn std::fmt::Display| resolve_error(endpoint, settings, why);
    match addresses {
        Ok(addresses) if addresses.is_empty() => {
            Err(failed(&"it has no address").with_outlook(Outlook::Permanent))
        }
        Ok(addresses) => Ok(addresses),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(failed(&error).with_outlook(Outlook::Permanent))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// The error for a host name that has no address or cannot be resolved.
pub(super) fn resolve_error(endpoint: &Endpoint, settings: &Settings, why: &dyn std::fmt::Display) -> Error {
    let Endpoint { host, .. } = settings.proxy.as_ref().map_or(endpoint, |proxy| &proxy.endpoint);
    let error = Error::new(Kind::Connection, format!("the name {host:?} cannot be resolved: {why}"));
    blame_proxy(error, settings).phase(Phase::Dns).address(endpoint.to_string())
}

/// Names the proxy, if there is one, as the subject of an error of a phase before it has connected.
pub(super) fn blame_proxy(error: Error, settings: &Settings) -> Error {
    match &settings.proxy {
        Some(proxy) => proxy.blame(error),
        None => error,
    }
}

/// The endpoint, followed by the IP address if the host is a name, or by the proxy's address.
pub(super) fn display_address(endpoint: &Endpoint, address: SocketAddr, settings: &Settings) -> String {
    let name = endpoint.to_string();
    match &settings.proxy {
        Some(_) => format!("{name} (proxy {address})"),
        None if address.to_string() == name => name,
        None => format!("{name} ({})", address.ip()),
    }
}

/// Connects to `endpoint` at one of the resolved addresses, through the proxy if there is one.
pub(crate) async fn open_stream(
    endpoint: &Endpoint,
    address: SocketAddr,
    settings: &Settings,
    environment: &Environment,
) -> Result<Box<dyn Stream>> {
    let mut setup = ConnectionSetup::tcp(endpoint, address, settings, environment).await?;
    setup.proxy().await?;
    setup.stream.take().ok_or_else(|| setup.closed_error(Phase::Tcp))
}

/// The error for an address at which another broker, or one of another cluster, responds (KIP-1242).
fn misrouted(expected: &ExpectedPeer) -> Error {
    let ExpectedPeer { cluster_id, node_id } = expected;
    let cluster_id = printable(cluster_id);
    let message = format!(
        "the broker at this address says that it is not broker {node_id} of cluster {cluster_id}, which has advertised it: the address leads to another broker or cluster now, or the broker's advertised.listeners is wrong"
    );
    Error::with_code(ErrorCode::RebootstrapRequired, message).as_kind(Kind::Connection)
}

/// A connection that is being set up. Sends one request at a time.
pub struct ConnectionSetup {
    endpoint: Endpoint,
    name: String,
    settings: Settings,
    environment: Environment,
    /// `None` after a failed TLS handshake.
    stream: Option<Box<dyn Stream>>,
    frames: FrameReader,
    next_correlation_id: i32,
    apis: Vec<ApiRange>,
    /// The response to ApiVersions.
    versions: Option<ApiVersionsResponse>,
    tls: Option<TlsInfo>,
}

impl std::fmt::Debug for ConnectionSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionSetup").field("address", &self.name).finish_non_exhaustive()
    }
}

/// The parts of a completed setup that the connection needs.
pub(super) struct EstablishedStream {
    pub(super) endpoint: Endpoint,
    pub(super) name: String,
    pub(super) settings: Settings,
    pub(super) stream: Box<dyn Stream>,
    pub(super) frames: FrameReader,
    pub(super) apis: Vec<ApiRange>,
}

impl ConnectionSetup {
    /// TCP: connects to one of the addresses that `resolve` has found.
    pub async fn tcp(
        endpoint: &Endpoint,
        address: SocketAddr,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Self> {
        let name = display_address(endpoint, address, settings);
        let stream = environment.network.connect(address, settings.socket).await;
        let failed = |error| blame_proxy(transport_error(&error, Phase::Tcp, &name), settings);
        Ok(Self {
            stream: Some(stream.map_err(failed)?),
            endpoint: endpoint.clone(),
            name,
            settings: settings.clone(),
            environment: environment.clone(),
            frames: FrameReader::new(HANDSHAKE_FRAME_MAX),
            next_correlation_id: 0,
            apis: Vec::new(),
            versions: None,
            tls: None,
        })
    }

    /// The address for error messages: host and port, and the IP address if the host is a name.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.name
    }

    /// Proxy: lets the proxy connect to the endpoint, if the configuration names one.
    pub async fn proxy(&mut self) -> Result<()> {
        let Some(proxy) = &self.settings.proxy else { return Ok(()) };
        let mut stream = self.stream.take().ok_or_else(|| self.closed_error(Phase::Proxy))?;
        let opened = open_tunnel(proxy, &self.endpoint, &mut stream).await;
        opened.map_err(|error| error.phase(Phase::Proxy).address(&self.name))?;
        self.stream = Some(stream);
        Ok(())
    }

    /// TLS: performs the handshake, if the configuration requires one.
    pub async fn tls(&mut self) -> Result<()> {
        let security = Arc::clone(&self.settings.security);
        let Some(tls) = &security.tls else { return Ok(()) };
        let stream = self.stream.take().ok_or_else(|| self.closed_error(Phase::Tls))?;
        let (connected, info) = tls.handshake(stream, &self.endpoint.host).await;
        let connected = connected.map_err(|error| self.tls_error(&error, &info));
        self.tls = Some(info);
        self.stream = Some(Box::new(connected?));
        Ok(())
    }

    /// What the TLS handshake revealed, even if it failed; `None` without TLS.
    #[must_use]
    pub fn tls_info(&self) -> Option<&TlsInfo> {
        self.tls.as_ref()
    }

    fn tls_error(&self, error: &std::io::Error, info: &TlsInfo) -> Error {
        if let Some(error) = tls_error_in(error, Some(info), &self.name) {
            return error;
        }
        // A plaintext listener takes the first bytes of TLS for the length of a request, and hangs up.
        if closed_by_peer(error) && info.peer.is_none() {
            let message = "the broker closed the connection instead of sending its certificate, as a plaintext listener does: if this is one, set security.protocol=PLAINTEXT (or SASL_PLAINTEXT)";
            let error = Error::new(Kind::Connection, message).phase(Phase::Tls).address(&self.name);
            return error.with_outlook(Outlook::ProbablyPermanent);
        }
        transport_error(error, Phase::Tls, &self.name)
    }

    fn closed_error(&self, phase: Phase) -> Error {
        Error::new(Kind::Connection, "the connection is closed").phase(phase).address(&self.name)
    }

    /// Explains an error of the stream. With TLS 1.3 the broker checks our certificate only after the
    /// handshake, so its refusal arrives here.
    fn stream_error(&self, error: &std::io::Error, phase: Phase) -> Error {
        if let Some(error) = tls_error_in(error, self.tls.as_ref(), &self.name) {
            return error;
        }
        let closed = closed_by_peer(error);
        match &self.tls {
            Some(tls) if closed && tls.client_certificate_requested && !tls.client_certificate_configured => {
                let message = client_certificate_missing("closed after asking for one");
                let error = Error::new(Kind::Authentication, message).phase(Phase::Tls).address(&self.name);
                error.with_tls_fault(Some(TlsFault::ClientCertificateMissing))
            }
            None if closed && phase == Phase::ApiVersions => {
                let error = transport_error(error, phase, &self.name);
                let hint = "if this listener speaks TLS, set security.protocol=SSL (or SASL_SSL)";
                let message = format!("{} on the first request: {hint}", error.message());
                error.with_message(message).with_outlook(Outlook::ProbablyPermanent)
            }
            _ => transport_error(error, phase, &self.name),
        }
    }

    /// ApiVersions: requests the APIs that the broker supports. Uses our newest version, then an older
    /// one if the broker does not support that.
    pub async fn api_versions(&mut self) -> Result<&[ApiRange]> {
        let newest = ApiKey::ApiVersions.versions().1;
        let mut response = self.request_api_versions(newest).await?;
        if ErrorCode::from(response.error_code) == ErrorCode::UnsupportedVersion {
            let known = response.api_keys.iter().find(|api| api.api_key == ApiKey::ApiVersions as i16);
            let version = known.map_or(0, |api| api.max_version).clamp(0, newest);
            response = self.request_api_versions(version).await?;
        }
        if let Err(code) = ErrorCode::from(response.error_code).ok() {
            let error = match (&self.settings.expected, code) {
                (Some(expected), ErrorCode::RebootstrapRequired) => misrouted(expected),
                _ => Error::from_code(code),
            };
            return Err(error.phase(Phase::ApiVersions).address(&self.name));
        }
        let known = |api: &ApiVersion| {
            let key = ApiKey::try_from(api.api_key).ok()?;
            Some(ApiRange { api: key, min: api.min_version, max: api.max_version })
        };
        self.settings.features.update(&response);
        self.apis = response.api_keys.iter().filter_map(known).collect();
        self.versions = Some(response);
        Ok(&self.apis)
    }

    /// The response to ApiVersions; `None` before `api_versions`.
    #[must_use]
    pub fn versions(&self) -> Option<&ApiVersionsResponse> {
        self.versions.as_ref()
    }

    /// The APIs that the broker supports; empty before `api_versions`.
    pub fn supported_apis(&self) -> &[ApiRange] {
        &self.apis
    }

    async fn request_api_versions(&mut self, version: i16) -> Result<ApiVersionsResponse> {
        let mut request = versions::api_versions_request();
        if let Some(ExpectedPeer { cluster_id, node_id }) = &self.settings.expected {
            (request.cluster_id, request.node_id) = (Some(cluster_id.to_string()), *node_id);
        }
        let mut r = self.exchange(&request, version, 0, Phase::ApiVersions).await?;
        // A broker that does not support the version responds in version 0, which starts with the error
        // code as every version does.
        let code = r.rest().first_chunk::<2>().map_or(0, |code| i16::from_be_bytes(*code));
        let version = if ErrorCode::from(code) == ErrorCode::UnsupportedVersion { 0 } else { version };
        ApiVersionsResponse::decode(&mut r, version)
            .map_err(|error| self.malformed::<ApiVersionsRequest>(error, Phase::ApiVersions))
    }

    /// SASL: authenticates, if the configuration requires it. Call it after `api_versions`.
    pub async fn sasl(&mut self) -> Result<Option<SaslInfo>> {
        let security = Arc::clone(&self.settings.security);
        self.sasl_as(&security).await
    }

    /// As [`ConnectionSetup::sasl`], with other credentials than those of the configuration.
    pub async fn sasl_as(&mut self, security: &Security) -> Result<Option<SaslInfo>> {
        let Some(sasl) = &security.sasl else { return Ok(None) };
        let environment = self.environment.clone();
        authenticate::authenticate(self, sasl, &environment).await.map(Some)
    }

    /// Sends a request, waits for the response and decodes its header.
    async fn exchange<R: Request>(
        &mut self,
        request: &R,
        version: i16,
        header_version: i16,
        phase: Phase,
    ) -> Result<Reader> {
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id += 1;
        let header = RequestHeader {
            api_key: R::API as i16,
            api_version: version,
            correlation_id,
            client_id: Some(self.settings.client_id.clone()),
        };
        let frame = header::request_frame(&header, R::API.request_header_version(version), request)?;
        let response = self.write_and_read(&frame, phase).await?;
        let mut r = Reader::new(response);
        let received_id = header::decode_response_header(&mut r, header_version)
            .map_err(|error| self.malformed::<R>(error, phase))?;
        if received_id == correlation_id {
            return Ok(r);
        }
        let message = format!(
            "this does not look like Kafka: a response with correlation id {received_id} instead of {correlation_id}"
        );
        let error = Error::new(Kind::Connection, message).phase(phase).address(&self.name);
        Err(error.with_outlook(Outlook::ProbablyPermanent))
    }

    async fn write_and_read(&mut self, frame: &Frame, phase: Phase) -> Result<bytes::Bytes> {
        let Some(mut stream) = self.stream.take() else { return Err(self.closed_error(phase)) };
        let written = async {
            stream.write_all(&frame.to_bytes()).await?;
            stream.flush().await
        };
        let written = written.await;
        // A message that the broker sent before it closed the connection explains more than the closing.
        let response = match (self.frames.next(&mut stream).await, written) {
            (Ok(response), _) => Ok(response),
            (Err(FrameError::Io(error)), Ok(())) => Err(self.stream_error(&error, phase)),
            (Err(FrameError::Io(read)), Err(write)) => {
                let said = tls_error_in(&read, self.tls.as_ref(), &self.name);
                Err(said.unwrap_or_else(|| self.stream_error(&write, phase)))
            }
            (Err(other), _) => Err(other.into_error(&self.name, phase)),
        };
        self.stream = Some(stream);
        response
    }

    fn malformed<R: Request>(&self, error: WireError, phase: Phase) -> Error {
        Error::from(error)
            .prefixed(format_args!("this does not look like Kafka: malformed response to {}", R::API.name()))
            .as_kind(Kind::Connection)
            .phase(phase)
            .address(&self.name)
            .with_outlook(Outlook::ProbablyPermanent)
    }

    /// The stream as it is after the phases so far.
    ///
    /// # Errors
    /// If the handshake of TLS has failed.
    pub fn into_stream(mut self) -> Result<Box<dyn Stream>> {
        self.stream.take().ok_or_else(|| self.closed_error(Phase::Request))
    }

    /// Hands the stream to the connection.
    pub(super) fn finish(mut self) -> Result<EstablishedStream> {
        let stream = self.stream.take().ok_or_else(|| self.closed_error(Phase::Request))?;
        let Self { endpoint, name, settings, frames, apis, .. } = self;
        Ok(EstablishedStream { endpoint, name, settings, stream, frames, apis })
    }
}

impl SaslChannel for ConnectionSetup {
    fn address(&self) -> &str {
        &self.name
    }

    fn host(&self) -> &str {
        &self.endpoint.host
    }

    fn apis(&self) -> &[ApiRange] {
        &self.apis
    }

    async fn send<R: Request + Sync>(&mut self, request: &R) -> Result<R::Response> {
        let version =
            versions::negotiate::<R>(&self.apis, i16::MAX, &self.name, self.settings.has_controllers)
                .map_err(|e| e.phase(Phase::Sasl))?;
        let header_version = R::API.response_header_version(version);
        let mut r = self.exchange(request, version, header_version, Phase::Sasl).await?;
        <R::Response as Message>::decode(&mut r, version)
            .map_err(|error| self.malformed::<R>(error, Phase::Sasl))
    }
}

#[cfg(test)]
mod tests {
    use super::{ExpectedPeer, misrouted};

    /// The id comes from a broker.
    #[test]
    fn the_error_of_a_wrong_address_shows_the_cluster_id_escaped() {
        let error = misrouted(&ExpectedPeer { cluster_id: "a\u{1b}[2Jb".into(), node_id: 1 });
        assert!(error.message().contains("cluster a\\u{1b}[2Jb"), "{error}");
    }
}

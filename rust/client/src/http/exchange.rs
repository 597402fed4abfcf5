//! One open connection: a request, and its bounded response.
//!
//! Invariant: dropping the connection ends its task, and so the request in flight.

use std::error::Error as _;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, DATE, HOST, HeaderMap, HeaderName, HeaderValue,
    USER_AGENT,
};
#[cfg(feature = "arrow")]
use hyper::header::{LOCATION, RETRY_AFTER};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
#[cfg(feature = "arrow")]
use tokio::time::Duration;

use super::{HttpError, HttpRequest, HttpResponse, Origin, failed};
use crate::environment::Stream;
use crate::error::{Error, Kind};

/// The largest header of a response.
const MAX_HEADER: usize = 128 * 1024;
const AGENT: &str = concat!("ottla/", env!("CARGO_PKG_VERSION"));

/// A connection for one request at a time.
#[derive(Debug)]
pub(super) struct OpenConnection {
    sender: SendRequest<Full<Bytes>>,
    /// Reads and writes; dropped, and so ended, with the connection.
    _driver: JoinSet<hyper::Result<()>>,
}

/// A failed exchange.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    was_sent: bool,
    /// Whether the response had begun.
    had_response: bool,
    /// Whether what arrived is not HTTP.
    is_not_http: bool,
}

impl Failure {
    fn unsent(error: Error) -> Self {
        Self { error, was_sent: false, had_response: false, is_not_http: false }
    }

    fn in_response(error: Error) -> Self {
        Self { error, was_sent: true, had_response: true, is_not_http: false }
    }

    fn before_response(error: &hyper::Error, origin: &Origin) -> Self {
        // With TLS 1.3, a server refuses a client's certificate after the handshake.
        let inner = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
        if let Some(refused) = inner.and_then(|inner| origin.tls_error(inner)) {
            return Self { error: refused, was_sent: false, had_response: true, is_not_http: false };
        }
        let is_closed = error.is_incomplete_message() || error.is_canceled() || error.is_closed();
        let why = match error.source() {
            _ if is_closed => "the connection was closed before the response".to_owned(),
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        let was_sent = !error.is_canceled();
        Self { error: failed(why), was_sent, had_response: false, is_not_http: error.is_parse() }
    }

    /// Whether to send the request again on a new connection, since this one may have been closed before.
    pub(super) fn may_repeat(&self, request: &HttpRequest<'_>) -> bool {
        !self.had_response && !self.is_not_http && (request.is_idempotent || !self.was_sent)
    }

    pub(super) fn into_error(self, origin: &Origin) -> HttpError {
        let error = match (self.is_not_http, &origin.tls) {
            (true, None) => {
                let name = origin.server.name;
                self.error.prefixed(format_args!(
                    "{name} does not respond in HTTP; if this port expects TLS, use https"
                ))
            }
            _ => self.error,
        };
        HttpError { error, was_sent: self.was_sent }
    }
}

impl OpenConnection {
    pub(super) async fn new(stream: Box<dyn Stream>) -> Result<Self, Error> {
        let handshaken = http1::Builder::new().max_buf_size(MAX_HEADER).handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshaken.map_err(failed)?;
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        Ok(Self { sender, _driver: driver })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request and reads its response.
    pub(super) async fn send(
        &mut self,
        request: &HttpRequest<'_>,
        origin: &Origin,
        max_body: usize,
        keeps_alive: bool,
    ) -> Result<HttpResponse, Failure> {
        let request = build(request, &origin.authority, keeps_alive).map_err(Failure::unsent)?;
        self.sender.ready().await.map_err(|error| Failure::unsent(failed(error)))?;
        let response = self.sender.send_request(request).await;
        let response = response.map_err(|error| Failure::before_response(&error, origin))?;
        read(response, max_body).await
    }
}

fn build(
    request: &HttpRequest<'_>,
    authority: &str,
    keeps_alive: bool,
) -> Result<Request<Full<Bytes>>, Error> {
    let mut builder = Request::builder()
        .method(&request.method)
        .uri(request.path)
        .header(HOST, authority)
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, request.accept);
    if !keeps_alive {
        builder = builder.header(CONNECTION, "close");
    }
    if let Some(authorization) = request.authorization {
        let value = HeaderValue::from_str(authorization.expose());
        let mut value =
            value.map_err(|_| failed("the credentials contain characters that are not allowed"))?;
        value.set_sensitive(true);
        builder = builder.header(AUTHORIZATION, value);
    }
    let body = request.body.as_ref().map_or_else(Bytes::new, |(_, content)| content.clone());
    if let Some((media_type, _)) = request.body {
        builder = builder.header(CONTENT_TYPE, media_type);
    }
    builder.body(Full::new(body)).map_err(failed)
}

async fn read(response: Response<Incoming>, max_body: usize) -> Result<HttpResponse, Failure> {
    let status = response.status().as_u16();
    let date = text(response.headers(), &DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    #[cfg(feature = "arrow")]
    let headers = response.headers().clone();
    let body = Limited::new(response.into_body(), max_body).collect().await.map_err(|error| {
        Failure::in_response(if error.is::<LengthLimitError>() {
            let message = format!("the response cannot be read: it is larger than {max_body} bytes");
            Error::new(Kind::Protocol, message)
        } else {
            failed(format_args!("the response cannot be read: {error}"))
        })
    })?;
    Ok(HttpResponse {
        status,
        date,
        #[cfg(feature = "arrow")]
        content_type: text(&headers, &CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase(),
        #[cfg(feature = "arrow")]
        retry_after: text(&headers, &RETRY_AFTER)
            .and_then(|seconds| seconds.trim().parse().ok().map(Duration::from_secs)),
        #[cfg(feature = "arrow")]
        location: text(&headers, &LOCATION).map(str::to_owned),
        body: body.to_bytes(),
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

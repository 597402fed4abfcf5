//! A POST request over HTTP/1.1 to a token endpoint, with the environment's network and this client's TLS.
//!
//! Invariants: redirects are not followed, and the response's size is bounded. The caller sets the deadline.

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::super::{Tls, tls_error_in};
use crate::environment::{Environment, SocketOptions, Stream};
use crate::error::{Error, Kind, Result};
use crate::secret::Secret;

/// The largest response body, and the largest response header.
const MAX_RESPONSE: usize = 128 * 1024;

/// The response.
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::new(Kind::Connection, why.to_string())
}

/// Posts a form.
pub(super) async fn post(
    url: &Uri,
    tls: Option<&Tls>,
    authorization: &Secret,
    form: &str,
    environment: &Environment,
) -> Result<HttpResponse> {
    let stream = connect(url, tls, environment).await?;
    let mut authorization =
        HeaderValue::from_str(authorization.expose()).map_err(|_| failed("malformed header"))?;
    authorization.set_sensitive(true);
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::post(path)
        .header(HOST, url.authority().map_or("", |authority| authority.as_str()))
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(ACCEPT, "application/json")
        .header(AUTHORIZATION, authorization)
        .body(Full::new(Bytes::copy_from_slice(form.as_bytes())))
        .map_err(failed)?;
    let handshaken = http1::Builder::new().max_buf_size(MAX_RESPONSE).handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshaken.map_err(failed)?;
    // Dropped, and so ended, with this call.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let response = sender.send_request(request).await.map_err(failed)?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_RESPONSE).collect().await;
    let body = body.map_err(|error| failed(format_args!("the response cannot be read: {error}")))?;
    Ok(HttpResponse { status, body: body.to_bytes() })
}

async fn connect(url: &Uri, tls: Option<&Tls>, environment: &Environment) -> Result<Box<dyn Stream>> {
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = url.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
    let options = SocketOptions { send_buffer: -1, receive_buffer: -1 };
    let addresses = environment.network.resolve(host, port).await.map_err(failed)?;
    let mut last = failed("the name has no address");
    for address in addresses {
        match environment.network.connect(address, options).await {
            Ok(stream) => match tls {
                None => return Ok(stream),
                Some(tls) => return secure(stream, tls, host).await,
            },
            Err(error) => last = failed(error),
        }
    }
    Err(last)
}

async fn secure(stream: Box<dyn Stream>, tls: &Tls, host: &str) -> Result<Box<dyn Stream>> {
    let (connected, info) = tls.handshake(stream, host).await;
    match connected {
        Ok(stream) => Ok(Box::new(stream)),
        // Without the phase: for the broker's connection, this is part of SASL.
        Err(error) => Err(match tls_error_in(&error, Some(&info), host) {
            Some(error) => {
                let message = error.message().replace("the broker", "the token server");
                let key = "sasl.oauthbearer.token.endpoint.ssl.truststore.location";
                Error::new(error.kind(), message.replace("ssl.truststore.location", key))
            }
            None => failed(error),
        }),
    }
}

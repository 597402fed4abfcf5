//! The registry's HTTP server.
//!
//! Invariant: when the listener's task ends, so do all connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::Shared;
use super::api;
use super::exchange::{ApiRequest, Reply};
use super::fault::RegistryReaction;
use crate::transport::{Listener, ReservedAddress, Stream};

const MAX_CONNECTIONS: usize = 1_000;
const MAX_BODY: usize = 16 * 1024 * 1024;
/// The pause after a failed accept: an immediate retry would spin.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(10);
/// The paths of Apicurio's compatible API and of its own.
const COMPATIBLE: &str = "/apis/ccompat/v7";
const APICURIO: &str = "/apis/registry/v3";
const JSON: &str = "application/vnd.schemaregistry.v1+json";

/// A server that accepts connections.
#[derive(Debug)]
pub(super) struct RunningServer {
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<ReservedAddress>>,
}

impl RunningServer {
    /// Closes the listener and its connections; the address stays reserved.
    pub(super) async fn stop(self) -> io::Result<ReservedAddress> {
        // The task may have ended already.
        let _ = self.stop.send(());
        self.task.await.map_err(io::Error::other)?
    }

    /// Ends the task without waiting for it.
    pub(super) fn abort(&self) {
        self.task.abort();
    }
}

/// Starts listening at a reserved address.
pub(super) fn listen(
    reserved: ReservedAddress,
    shared: Arc<Shared>,
    runtime: &Handle,
) -> io::Result<RunningServer> {
    let _context = runtime.enter();
    let listener = reserved.listen()?;
    let (stop, stopped) = oneshot::channel();
    let task = runtime.spawn(accept(listener, shared, stopped));
    Ok(RunningServer { stop, task })
}

async fn accept(
    mut listener: Listener,
    shared: Arc<Shared>,
    mut stop: oneshot::Receiver<()>,
) -> io::Result<ReservedAddress> {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stop => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok(stream) if connections.len() < MAX_CONNECTIONS => {
                    *shared.connections.lock() += 1;
                    connections.spawn(serve(stream, Arc::clone(&shared)));
                }
                Ok(_) => tracing::warn!("too many connections to the mock registry"),
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
        }
    }
    let reserved = listener.release();
    connections.shutdown().await;
    reserved
}

async fn serve(stream: Box<dyn Stream>, shared: Arc<Shared>) {
    let service = service_fn(|request| respond(request, &shared));
    let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "connection to the mock registry ended");
    }
}

/// The response to a request; an error closes the connection.
async fn respond(request: Request<Incoming>, shared: &Shared) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let whole = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let base = shared.config.path.as_str();
    let apicurio =
        base.strip_suffix(COMPATIBLE).and_then(|base| whole.strip_prefix(base)?.strip_prefix(APICURIO));
    let (is_apicurio, path) = match (whole.strip_prefix(base), apicurio) {
        (Some(path), _) => (false, path),
        (None, Some(path)) => (true, path),
        (None, None) => return response(404, "text/html", "<html><h1>404 Not Found</h1></html>".into()),
    };
    let method = head.method.as_str();
    shared.record(method, path);
    let authorization = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if !api::is_authorized(shared.config.auth.as_ref(), authorization) {
        return failure(401, 401, "Unauthorized");
    }
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return failure(413, 413, "Request Entity Too Large");
    };
    let body = body.to_bytes();
    let closed = || Err(io::Error::from(io::ErrorKind::ConnectionAborted));
    let handled = || {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let request = ApiRequest { method, path, query, body: &body };
        let outcome = match is_apicurio {
            true => api::handle_apicurio(&shared.state.lock(), &request),
            false => api::handle(&mut shared.state.lock(), &request),
        };
        match outcome {
            Ok(Reply::Json(document)) => response(200, JSON, document.to_string().into()),
            Ok(Reply::Text(text)) => response(200, JSON, text.into()),
            Err(refused) => failure(refused.status, refused.code, &refused.message),
        }
    };
    let reaction = shared.faults.lock().hit(method, path);
    match reaction {
        None => handled(),
        Some(RegistryReaction::Delay(delay)) => {
            tokio::time::sleep(delay).await;
            handled()
        }
        Some(RegistryReaction::Silence) => std::future::pending().await,
        Some(RegistryReaction::Disconnect) => closed(),
        Some(RegistryReaction::DisconnectAfterHandling) => {
            handled()?;
            closed()
        }
        Some(RegistryReaction::Body { content_type, body }) => response(200, &content_type, body),
        Some(RegistryReaction::Redirect(location)) => {
            let built = Response::builder().status(307).header(LOCATION, location);
            built.body(Full::default()).map_err(io::Error::other)
        }
        Some(RegistryReaction::Status { status, code, message, retry_after }) => {
            let mut refused = match code {
                Some(code) => failure(status, code, &message)?,
                None => response(status, "text/plain", message.into())?,
            };
            if let Some(seconds) = retry_after {
                refused.headers_mut().insert(RETRY_AFTER, seconds.into());
            }
            Ok(refused)
        }
    }
}

fn failure(status: u16, code: i64, message: &str) -> io::Result<Response<Full<Bytes>>> {
    response(status, JSON, json!({"error_code": code, "message": message}).to_string().into())
}

fn response(status: u16, content_type: &str, body: Bytes) -> io::Result<Response<Full<Bytes>>> {
    let built = Response::builder().status(status).header(CONTENT_TYPE, content_type);
    built.body(Full::new(body)).map_err(io::Error::other)
}

//! [`StatusServer`]: the status of a gateway over HTTP.
//!
//! Invariant: what strangers can use of it is bounded: the connections at a time, the bytes of a request, the time of
//! each, and the documents that are made at a time.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, SERVER, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::origin;
use super::routes::{self, Request, Response};
use crate::gateway::Gateway;
use crate::listeners::bind;
use crate::shared::Shared;

/// The connections at a time. A further one ends the oldest without a request; if all have one, the oldest whose client
/// takes long to read its response.
const CONNECTIONS_MAX: usize = 16;
/// The documents that are made at a time.
const RESPONSES_MAX: usize = 1;
/// How long a connection may take, with its request and its response.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client may read its response before its connection gives way to another one.
const READING_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the line and headers of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest line and headers of a request, in bytes; the least that hyper allows.
const HEAD_MAX: usize = 8 * 1024;
/// The longest body of a request, in bytes.
const BODY_MAX: usize = 64 * 1024;
/// The pause after a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the status of a gateway until it is dropped.
#[derive(Debug)]
pub struct StatusServer {
    address: SocketAddr,
    task: AbortHandle,
}

impl StatusServer {
    /// Opens the address. Called on a runtime of tokio.
    ///
    /// # Errors
    /// If the address cannot be opened.
    pub fn start(gateway: &Gateway, address: SocketAddr) -> io::Result<Self> {
        let listener = bind(address)?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(listener, Arc::clone(gateway.shared()))).abort_handle();
        Ok(Self { address, task })
    }

    /// The address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        // Its connections end with it.
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = Connections::default();
    let responses = Arc::new(Semaphore::new(RESPONSES_MAX));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.make_room().await;
                let stage = Arc::new(Stage::default());
                let serving = serve(stream, Arc::clone(&shared), Arc::clone(&responses), Arc::clone(&stage));
                let task = connections.tasks.spawn(timeout(CONNECTION_TIMEOUT, serving));
                connections.in_order.push_back((task, stage));
            }
            Err(error) => {
                tracing::debug!(target: "ottla.gateway", %error, "the status server accepts no connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// How far a connection has come.
#[derive(Debug, Default)]
struct Stage {
    /// Whether its request is there.
    asked: AtomicBool,
    /// When its response was there to be read.
    answered: OnceLock<Instant>,
}

impl Stage {
    /// When the connection gives way to another one; `None` while its response is made.
    fn yields_at(&self, now: Instant) -> Option<Instant> {
        match self.answered.get() {
            Some(answered) => Some(*answered + READING_TIMEOUT),
            None => (!self.asked.load(Ordering::Relaxed)).then_some(now),
        }
    }
}

/// The connections that are served.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<Result<(), Elapsed>>,
    /// The oldest first; some may have ended.
    in_order: VecDeque<(AbortHandle, Arc<Stage>)>,
}

impl Connections {
    /// Waits until there is room for another one.
    async fn make_room(&mut self) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            self.in_order.retain(|(task, _)| !task.is_finished());
            if self.tasks.len() < CONNECTIONS_MAX {
                return;
            }
            let now = Instant::now();
            let yielding = self.in_order.iter().enumerate();
            let yielding = yielding.filter_map(|(place, (_, stage))| Some((stage.yields_at(now)?, place)));
            // Those without a request give way at any time, the oldest first.
            let first = yielding.min();
            if let Some((_, place)) = first.filter(|(at, _)| *at <= now)
                && let Some((task, _)) = self.in_order.remove(place)
            {
                task.abort();
            }
            let next = first.map_or(now + CONNECTION_TIMEOUT, |(at, _)| at);
            tokio::select! {
                _ = self.tasks.join_next() => {}
                () = sleep_until(next), if next > now => {}
            }
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, responses: Arc<Semaphore>, stage: Arc<Stage>) {
    let Ok(local) = stream.local_addr() else { return };
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let (shared, responses, stage) = (Arc::clone(&shared), Arc::clone(&responses), Arc::clone(&stage));
        async move { Ok::<_, Infallible>(respond(request, local.ip(), shared, &responses, &stage).await) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEAD_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(target: "ottla.gateway", %error, "the status could not be sent");
    }
}

async fn respond(
    request: hyper::Request<Incoming>,
    local: IpAddr,
    shared: Arc<Shared>,
    responses: &Semaphore,
    stage: &Stage,
) -> hyper::Response<Full<Bytes>> {
    let response = answer(request, local, shared, responses, stage).await.unwrap_or_else(|refusal| refusal);
    stage.asked.store(true, Ordering::Relaxed);
    _ = stage.answered.set(Instant::now());
    let mut sent = hyper::Response::new(Full::from(response.text));
    *sent.status_mut() = response.status;
    let headers = sent.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(response.content_type));
    headers.insert(SERVER, HeaderValue::from_static("ottla"));
    // A page of another site must not read it.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    sent
}

async fn answer(
    request: hyper::Request<Incoming>,
    local: IpAddr,
    shared: Arc<Shared>,
    responses: &Semaphore,
    stage: &Stage,
) -> Result<Response, Response> {
    let (head, body) = request.into_parts();
    if let Some(refusal) = origin::refusal(&head.method, &head.headers, local) {
        return Err(refusal);
    }
    let respond = routes::find(&head.method, head.uri.path())?;
    let body = match head.method {
        Method::GET => Bytes::new(),
        _ => read(body).await?,
    };
    stage.asked.store(true, Ordering::Relaxed);
    let unavailable = |_| Response::message(StatusCode::SERVICE_UNAVAILABLE, "the gateway ends");
    let permit = responses.acquire().await.map_err(|_| unavailable(()))?;
    let responding = spawn_blocking(move || {
        let query = head.uri.query().unwrap_or_default();
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let content_type = content_type.unwrap_or_default();
        respond(&Request { shared: &shared, query, content_type, body: &body })
    });
    let response = responding.await.map_err(|_| unavailable(()));
    drop(permit);
    response
}

async fn read(body: Incoming) -> Result<Bytes, Response> {
    match Limited::new(body, BODY_MAX).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format_args!("the body is longer than {BODY_MAX} bytes").to_string();
            Err(Response::message(StatusCode::PAYLOAD_TOO_LARGE, message))
        }
        Err(_) => Err(Response::message(StatusCode::BAD_REQUEST, "the body could not be read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: clients that read nothing, as many as there may be, held up all others for 5 s.
    #[tokio::test(start_paused = true)]
    async fn slow_readers_give_way() {
        for (asked, is_answered, least) in [
            (false, false, Duration::ZERO),
            (true, true, READING_TIMEOUT),
            // While its response is made.
            (true, false, CONNECTION_TIMEOUT),
        ] {
            let mut connections = Connections::default();
            for _ in 0..CONNECTIONS_MAX {
                let stage = Arc::new(Stage::default());
                stage.asked.store(asked, Ordering::Relaxed);
                if is_answered {
                    _ = stage.answered.set(Instant::now());
                }
                let task = connections.tasks.spawn(timeout(CONNECTION_TIMEOUT, std::future::pending()));
                connections.in_order.push_back((task, stage));
            }
            let begun = Instant::now();
            connections.make_room().await;
            let waited = begun.elapsed();
            assert!(waited >= least && waited < least + Duration::from_millis(500), "{asked}: {waited:?}");
            assert!(connections.tasks.len() < CONNECTIONS_MAX);
        }
    }
}

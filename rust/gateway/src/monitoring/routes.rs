//! What is served over HTTP: a row for each method and path.
//!
//! To add a route, add a row to `ROUTES`: its method, its path, and a function of the [`Request`]. The server reads the
//! body, of at most 64 KiB, before it calls the function, and refuses what pages of browsers may not do.
//!
//! Invariant: a function does not wait; it runs on a thread that may compute for long.

use std::sync::atomic::Ordering;

use hyper::{Method, StatusCode};

use ottla_faults::FaultId;

use super::json::Json;
use super::{documents, prometheus};
use crate::faults::{FaultError, Faults};
use crate::shared::Shared;

/// The content type of documents.
const JSON: &str = "application/json";

/// A request for a route.
pub(super) struct Request<'a> {
    pub(super) shared: &'a Shared,
    /// The part after `?`, still encoded.
    pub(super) query: &'a str,
    /// The header `Content-Type`.
    pub(super) content_type: &'a str,
    /// The body.
    pub(super) body: &'a [u8],
}

/// The response to a request.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) text: String,
}

impl Response {
    /// A document.
    pub(super) fn json(document: &Json) -> Self {
        Self::document(StatusCode::OK, document.line())
    }

    /// A document that is text already.
    fn document(status: StatusCode, text: String) -> Self {
        Self { status, content_type: JSON, text }
    }

    /// A message for people, without a line break at its end.
    pub(super) fn message(status: StatusCode, message: impl std::fmt::Display) -> Self {
        Self { status, content_type: "text/plain", text: format!("{message}\n") }
    }
}

/// A method and a path, and what responds to them.
struct Route {
    method: Method,
    path: &'static str,
    respond: fn(&Request<'_>) -> Response,
}

const ROUTES: &[Route] = &[
    Route { method: Method::GET, path: "/brokers", respond: brokers },
    Route { method: Method::GET, path: "/connections", respond: connections },
    Route { method: Method::GET, path: "/events", respond: events },
    Route { method: Method::GET, path: "/faults", respond: faults },
    Route { method: Method::POST, path: "/faults", respond: inject_fault },
    Route { method: Method::DELETE, path: "/faults", respond: remove_faults },
    Route { method: Method::GET, path: "/metrics", respond: metrics },
    Route { method: Method::GET, path: "/ready", respond: ready },
    Route { method: Method::GET, path: "/totals", respond: totals },
];

/// The function that responds to a method and a path; a refusal if there is none.
pub(super) fn find(method: &Method, path: &str) -> Result<fn(&Request<'_>) -> Response, Response> {
    let at_path: Vec<&Route> = ROUTES.iter().filter(|route| route.path == path).collect();
    if let Some(route) = at_path.iter().find(|route| route.method == method) {
        return Ok(route.respond);
    }
    if at_path.is_empty() {
        let mut paths: Vec<_> = ROUTES.iter().map(|route| route.path).collect();
        paths.dedup();
        return Err(Response::message(StatusCode::NOT_FOUND, format_args!("there are: {}", paths.join(" "))));
    }
    let methods: Vec<_> = at_path.iter().map(|route| route.method.as_str()).collect();
    let message = format_args!("{path} has: {}", methods.join(" ")).to_string();
    Err(Response::message(StatusCode::METHOD_NOT_ALLOWED, message))
}

fn connections(request: &Request<'_>) -> Response {
    Response::json(&documents::connections(request.shared))
}

fn totals(request: &Request<'_>) -> Response {
    Response::json(&documents::all_totals(request.shared))
}

fn brokers(request: &Request<'_>) -> Response {
    Response::json(&documents::own_addresses(request.shared))
}

fn events(request: &Request<'_>) -> Response {
    match request.number("after", "an event") {
        Ok(after) => Response::json(&documents::events_after(request.shared, after.unwrap_or_default())),
        Err(refusal) => refusal,
    }
}

fn faults(request: &Request<'_>) -> Response {
    request
        .faults()
        .map_or_else(|refusal| refusal, |faults| Response::document(StatusCode::OK, faults.documents()))
}

/// Injects the fault in the body.
fn inject_fault(request: &Request<'_>) -> Response {
    let faults = match request.faults() {
        Ok(faults) => faults,
        Err(refusal) => return refusal,
    };
    // Not what the form of a page can send.
    let kind = request.content_type.split(';').next().unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case(JSON) {
        let message = "expected the header Content-Type: application/json";
        return Response::message(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    match faults.inject_document(request.body, &request.shared.events) {
        Ok(injected) => Response::document(StatusCode::CREATED, injected),
        Err(error) => Response::message(StatusCode::BAD_REQUEST, error),
    }
}

/// Removes the fault with an id, or all.
fn remove_faults(request: &Request<'_>) -> Response {
    let removed = request.faults().and_then(|faults| match request.number("id", "a fault")? {
        Some(id) if faults.remove(FaultId(id), &request.shared.events) => Ok(1),
        Some(id) => {
            let message = format_args!("there is no fault {id}").to_string();
            Err(Response::message(StatusCode::NOT_FOUND, message))
        }
        None if request.query.is_empty() => Ok(faults.clear(&request.shared.events) as u64),
        None => Err(Response::message(StatusCode::BAD_REQUEST, "expected /faults or /faults?id=N")),
    });
    removed.map_or_else(|refusal| refusal, |count| Response::json(&Json::object([("removed", count.into())])))
}

impl Request<'_> {
    /// A number of the query, if it is there; `of` is what has it.
    fn number(&self, name: &str, of: &str) -> Result<Option<u64>, Response> {
        let mut fields = self.query.split('&').filter_map(|field| field.split_once('='));
        let Some((_, value)) = fields.find(|(field, _)| *field == name) else { return Ok(None) };
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        value.parse().ok().filter(|_| is_number).map(Some).ok_or_else(|| {
            let shown: String = value.chars().take(40).flat_map(char::escape_debug).collect();
            let message = format_args!("{name}: expected the number of {of}, got '{shown}'").to_string();
            Response::message(StatusCode::BAD_REQUEST, message)
        })
    }

    /// The faults, if these are allowed.
    fn faults(&self) -> Result<&Faults, Response> {
        let refused = || Response::message(StatusCode::FORBIDDEN, FaultError::NotAllowed);
        self.shared.faults.as_deref().ok_or_else(refused)
    }
}

fn metrics(request: &Request<'_>) -> Response {
    let text = prometheus::render(request.shared);
    Response { status: StatusCode::OK, content_type: prometheus::CONTENT_TYPE, text }
}

/// Whether clients are served: a broker of the cluster is known, or the cluster answers and only the gateway has no credentials for it;
/// and the gateway does not end.
fn ready(request: &Request<'_>) -> Response {
    let unavailable = |why| Response::message(StatusCode::SERVICE_UNAVAILABLE, why);
    if *request.shared.draining.borrow() {
        unavailable("the gateway ends")
    } else if request.shared.brokers.current().is_empty() && !request.shared.answers.load(Ordering::Relaxed) {
        unavailable("no broker is known")
    } else {
        Response::message(StatusCode::OK, "ready")
    }
}

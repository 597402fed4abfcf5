//! What is served over HTTP: a row for each method and path.
//!
//! To add a route, add a row to `ROUTES`: its method, its path, and a function of the [`Request`]. The server reads the
//! body, of at most 64 KiB, before it calls the function, and refuses what pages of browsers may not do.
//!
//! Invariant: a function does not wait; it runs on a thread that may compute for long.

use hyper::{Method, StatusCode};

use super::json::Json;
use super::{documents, prometheus};
use crate::shared::Shared;

/// A request for a route.
pub(super) struct Request<'a> {
    pub(super) shared: &'a Shared,
    /// The part after `?`, still encoded.
    pub(super) query: &'a str,
    /// The body.
    #[expect(dead_code, reason = "no route that reads one yet")]
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
        Self { status: StatusCode::OK, content_type: "application/json", text: document.line() }
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
    let mut fields = request.query.split('&').filter_map(|field| field.split_once('='));
    let after = fields.find(|(name, _)| *name == "after").map_or("0", |(_, value)| value);
    let is_number = !after.is_empty() && after.bytes().all(|byte| byte.is_ascii_digit());
    match after.parse().ok().filter(|_| is_number) {
        Some(after) => Response::json(&documents::events_after(request.shared, after)),
        None => {
            let shown: String = after.chars().take(40).flat_map(char::escape_debug).collect();
            let message = format_args!("after: expected the number of an event, got '{shown}'").to_string();
            Response::message(StatusCode::BAD_REQUEST, message)
        }
    }
}

fn metrics(request: &Request<'_>) -> Response {
    let text = prometheus::render(request.shared);
    Response { status: StatusCode::OK, content_type: prometheus::CONTENT_TYPE, text }
}

/// Whether clients are served: a broker is known, and the gateway does not end.
fn ready(request: &Request<'_>) -> Response {
    let unavailable = |why| Response::message(StatusCode::SERVICE_UNAVAILABLE, why);
    if *request.shared.draining.borrow() {
        unavailable("the gateway ends")
    } else if request.shared.addresses_of_brokers().is_empty() {
        unavailable("no broker is known")
    } else {
        Response::message(StatusCode::OK, "ready")
    }
}

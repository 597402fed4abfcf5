//! [`FaultRequest`]: faults over HTTP, for whichever server has the connection. No I/O.
//!
//! `POST /faults` injects the fault in the body, `GET /faults` lists them, `DELETE /faults` and `DELETE /faults/ID`
//! remove them.
//!
//! Invariant: no page of a browser injects a fault: requests with an origin are refused, and what a form can send is no
//! JSON. The server checks the name of the host as it does for each request.

use ottla_faults::FaultId;

use super::FaultError;
use crate::gateway::Gateway;

/// The path.
const PATH: &str = "/faults";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// A request.
#[derive(Debug, Clone, Copy, Default)]
pub struct FaultRequest<'a> {
    /// The method in upper case.
    pub method: &'a str,
    /// The path without the query.
    pub path: &'a str,
    /// The header `Content-Type`.
    pub content_type: Option<&'a str>,
    /// The header `Origin`.
    pub origin: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultResponse {
    /// The status code.
    pub status: u16,
    /// The content type.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl FaultRequest<'_> {
    /// The longest body of a request, in bytes.
    pub const BODY_MAX: usize = 64 * 1024;

    /// Whether requests of this path are about faults.
    #[must_use]
    pub fn is_for(path: &str) -> bool {
        path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Does what the request asks for.
    #[must_use]
    pub fn respond(&self, gateway: &Gateway) -> FaultResponse {
        let text = |status, body: String| FaultResponse { status, content_type: TEXT, body: body + "\n" };
        let json = |status, body: String| FaultResponse { status, content_type: JSON, body };
        if self.origin.is_some() {
            return text(403, "faults are not for the pages of a browser".to_owned());
        }
        let refused = |error: FaultError| match error {
            FaultError::NotAllowed => text(403, error.to_string()),
            _ => text(400, error.to_string()),
        };
        let id = match self.path.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('/')) {
            None => None,
            Some(id) => match id.parse() {
                Ok(id) => Some(FaultId(id)),
                Err(_) => {
                    return text(404, "expected /faults or /faults/ID, with the id of a fault".to_owned());
                }
            },
        };
        let result = match (self.method, id) {
            ("GET", None) => gateway.fault_documents().map(|found| json(200, found)),
            ("POST", None) if !self.is_json() => {
                return text(415, format!("expected the header Content-Type: {JSON}"));
            }
            ("POST", None) if self.body.len() > Self::BODY_MAX => {
                return text(413, format!("expected a fault of at most {} bytes", Self::BODY_MAX));
            }
            ("POST", None) => gateway.inject_document(self.body).map(|injected| json(201, injected)),
            ("DELETE", None) => {
                gateway.clear_faults().map(|count| json(200, format!("{{\"removed\": {count}}}")))
            }
            ("DELETE", Some(id)) => gateway.remove_fault(id).map(|was_there| match was_there {
                true => json(200, "{\"removed\": 1}".to_owned()),
                false => text(404, format!("there is no fault {}", id.0)),
            }),
            _ => return text(405, "there are: GET, POST, DELETE /faults, and DELETE /faults/ID".to_owned()),
        };
        result.unwrap_or_else(refused)
    }

    fn is_json(&self) -> bool {
        let given = self.content_type.unwrap_or_default();
        given.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON))
    }
}

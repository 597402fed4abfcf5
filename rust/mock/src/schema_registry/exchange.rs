//! What routes take and return: a request, decoded, and the body of a response or a refusal.

use bytes::Bytes;
use serde_json::Value;

use super::failure::RegistryFailure;

/// A request, decoded.
#[derive(Debug)]
pub(super) struct ApiRequest<'a> {
    pub(super) method: &'a str,
    /// Without the query.
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) body: &'a Bytes,
}

pub(super) type Outcome = Result<Reply, RegistryFailure>;

/// The body of a response.
#[derive(Debug)]
pub(super) enum Reply {
    Json(Value),
    /// The text of a schema alone.
    Text(String),
}

impl From<Value> for Reply {
    fn from(document: Value) -> Self {
        Self::Json(document)
    }
}

/// The parts of a path, decoded.
pub(super) type Path<'a> = &'a [&'a str];

/// Refuses the methods that a route does not have.
pub(super) fn only(request: &ApiRequest<'_>, methods: &[&str]) -> Result<(), RegistryFailure> {
    match methods.contains(&request.method) {
        true => Ok(()),
        false => Err(RegistryFailure::no_method()),
    }
}

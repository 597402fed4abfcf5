//! A call of the registry's API: what to send, and how errors and logs name it.
//!
//! Invariant: repeating a call changes nothing further: registering a schema again returns the same id, and what was
//! deleted stays deleted.

use bytes::Bytes;
use hyper::Method;
use ottla_schema::SchemaId;

use crate::http::encode::segment;
use crate::printable::printable;

/// The API that a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    /// Confluent's.
    Confluent,
    /// Apicurio's own, version 3.
    Apicurio,
}

/// A call of the API.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) api: Api,
    /// The path and the query, after the path of the API.
    pub(super) path: String,
    pub(super) body: Option<Bytes>,
    /// What it does, for errors and logs.
    pub(super) what: String,
    pub(super) subject: Option<String>,
    pub(super) id: Option<SchemaId>,
    /// Whether it changes the registry. Repeating it changes nothing further.
    pub(super) is_write: bool,
}

impl Call {
    pub(super) fn get(path: String, what: String) -> Self {
        let api = Api::Confluent;
        Self { method: Method::GET, api, path, body: None, what, subject: None, id: None, is_write: false }
    }

    pub(super) fn post(path: String, body: Bytes, what: String) -> Self {
        Self { method: Method::POST, body: Some(body), ..Self::get(path, what) }
    }

    /// The look-up of a version; with `deleted`, also of one that was deleted softly.
    pub(super) fn version(subject: &str, version: i32, deleted: bool) -> Self {
        let query = if deleted { "?deleted=true" } else { "" };
        let path = format!("/subjects/{}/versions/{version}{query}", segment(subject));
        let what = format!("looking up version {version} of subject \"{}\"", printable(subject));
        Self::get(path, what).subject(subject)
    }

    pub(super) fn subject(self, subject: &str) -> Self {
        Self { subject: Some(subject.to_owned()), ..self }
    }

    pub(super) fn id(self, id: SchemaId) -> Self {
        Self { id: Some(id), ..self }
    }

    /// The same path in Apicurio's own API.
    pub(super) fn apicurio(self) -> Self {
        Self { api: Api::Apicurio, ..self }
    }

    pub(super) fn write(self) -> Self {
        Self { is_write: true, ..self }
    }
}

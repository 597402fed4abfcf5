//! Responses of the registry, explained: what happened, where, and what to do.
//!
//! Invariants: text of the registry is made printable and bounded; a response that a retry may change is
//! transient, every other failure is final.

use hyper::Uri;
use ottla_schema::SchemaId;
use serde_json::Value;
use tokio::time::Duration;

use super::address::Address;
use super::call::{Api, Call};
use crate::error::{Error, Kind};
use crate::http::{HttpError, HttpResponse};
use crate::printable::printable;

/// Confluent's codes.
const UNKNOWN_SUBJECT: i64 = 40401;
const UNKNOWN_VERSION: i64 = 40402;
pub(super) const UNKNOWN_SCHEMA: i64 = 40403;
const SUBJECT_DELETED: i64 = 40404;
const SUBJECT_NOT_DELETED: i64 = 40405;
const VERSION_DELETED: i64 = 40406;
const VERSION_NOT_DELETED: i64 = 40407;
const NO_LEVEL: i64 = 40408;
const NO_MODE: i64 = 40409;
const INVALID_LEVEL: i64 = 42203;
const INVALID_MODE: i64 = 42204;
const NOT_PERMITTED: i64 = 42205;
const REFERENCED: i64 = 42206;

/// Whether the registry says that it does not have a schema.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error.context().registry_code, Some(UNKNOWN_SUBJECT | UNKNOWN_VERSION | UNKNOWN_SCHEMA))
}

/// Whether the registry says that what a call deletes is gone, or was deleted softly.
pub(super) fn is_deleted(error: &Error) -> bool {
    matches!(
        error.context().registry_code,
        Some(UNKNOWN_SUBJECT | UNKNOWN_VERSION | SUBJECT_DELETED | VERSION_DELETED)
    )
}

/// Whether the registry says that a subject has no setting of its own; older ones, that they do not have the subject.
pub(super) fn is_unset(error: &Error) -> bool {
    matches!(error.context().registry_code, Some(UNKNOWN_SUBJECT | NO_LEVEL | NO_MODE))
}

/// Why a call failed at one address.
#[derive(Debug)]
pub(super) enum Failure {
    /// The same call may succeed later, or at another address.
    Transient {
        error: Error,
        /// The time that the registry asks to wait.
        retry_after: Option<Duration>,
        /// Whether the registry may have processed the request.
        was_sent: bool,
    },
    Final(Error),
}

/// The registry's own description of an error.
struct Details {
    code: Option<i64>,
    /// ` (error 40403: "…")`, ` (status 503)`.
    text: String,
}

/// The document of a successful response.
pub(super) fn process(response: &HttpResponse, address: &Address, call: &Call) -> Result<Value, Failure> {
    let document: Option<Value> = serde_json::from_slice(&response.body).ok();
    if (200..300).contains(&response.status) {
        return document.ok_or_else(|| Failure::Final(not_a_registry(response, address, call)));
    }
    let details = details(document.as_ref(), response.status);
    if matches!(response.status, 408 | 429 | 500 | 502..) {
        let message = format!("{} returned status {}{}", address.url, response.status, details.text);
        let error = Error::new(Kind::Connection, message);
        let error = error.schema(call.subject.as_deref(), call.id, details.code);
        return Err(Failure::Transient { error, retry_after: response.retry_after, was_sent: true });
    }
    let (kind, message) = explain(response, &details, document.is_some(), address, call);
    let message = format!("{}: {message}", call.what);
    Err(Failure::Final(Error::new(kind, message).schema(call.subject.as_deref(), call.id, details.code)))
}

/// The failure of a call without a response.
pub(super) fn no_response(failure: HttpError, address: &Address, call: &Call) -> Failure {
    use crate::error::Outlook;
    let HttpError { error, was_sent } = failure;
    let is_too_large = error.kind() == Kind::Protocol;
    let is_transient =
        matches!(error.kind(), Kind::Connection | Kind::Timeout) && error.outlook() != Outlook::Permanent;
    let error = error.prefixed(&address.url).schema(call.subject.as_deref(), call.id, None);
    if is_transient {
        // The call's own timeout is another one.
        return Failure::Transient { error: error.as_kind(Kind::Connection), retry_after: None, was_sent };
    }
    let error = error.prefixed(&call.what);
    Failure::Final(match is_too_large {
        true => {
            let message = format!("{}; raise schema.registry.response.max.bytes", error.message());
            error.with_message(message).as_kind(Kind::Schema)
        }
        false => error,
    })
}

/// The error for a document that is not what the API prescribes.
pub(super) fn malformed(why: &str, address: &Address, call: &Call) -> Error {
    let message = format!(
        "{}: {} returned a document that cannot be used: {why}; is it a schema registry with Confluent's API?",
        call.what, address.url
    );
    Error::new(Kind::Schema, message).schema(call.subject.as_deref(), call.id, None)
}

/// The error for an address without Apicurio's own API.
pub(super) fn not_apicurio(address: &Address, call: &Call) -> Error {
    let message = format!(
        "{}: {} is not an address of Apicurio, which has the path /apis/ccompat/v7: global ids (schema.registry.apicurio.use.id=globalId) exist in Apicurio alone",
        call.what, address.url
    );
    Error::new(Kind::Config, message).schema(call.subject.as_deref(), call.id, None)
}

fn not_a_registry(response: &HttpResponse, address: &Address, call: &Call) -> Error {
    let is_html = response.content_type.contains("html") || response.body.trim_ascii().starts_with(b"<");
    let found = if is_html { "HTML" } else { "something other than JSON" };
    let message = format!(
        "{}: {} is not a schema registry: it returned {found} (status {}); check the host, the port and the path in schema.registry.url (Apicurio's path is /apis/ccompat/v7)",
        call.what, address.url, response.status
    );
    Error::new(Kind::Schema, message).schema(call.subject.as_deref(), call.id, None)
}

fn details(document: Option<&Value>, status: u16) -> Details {
    let field = |name: &str| document.and_then(|document| document.get(name));
    let code = field("error_code").and_then(Value::as_i64);
    // Apicurio's own API has a title.
    let message = field("message").or_else(|| field("title")).and_then(Value::as_str).map(printable);
    let text = match (code, message) {
        (Some(code), Some(message)) => format!(" (error {code}: \"{message}\")"),
        (Some(code), None) => format!(" (error {code})"),
        (None, Some(message)) => format!(" (status {status}: \"{message}\")"),
        (None, None) => format!(" (status {status})"),
    };
    Details { code, text }
}

fn explain(
    response: &HttpResponse,
    details: &Details,
    is_json: bool,
    address: &Address,
    call: &Call,
) -> (Kind, String) {
    let (url, text) = (&address.url, &details.text);
    let subject = || printable(call.subject.as_deref().unwrap_or_default());
    match response.status {
        300..=399 => {
            let target = response.location.as_deref().and_then(origin_of);
            let target = target.map(|target| format!(" to {target}")).unwrap_or_default();
            (
                Kind::Schema,
                format!("{url} redirects{target}{text}: set the final address in schema.registry.url"),
            )
        }
        401 if address.authorization.is_some() => (
            Kind::Authentication,
            format!(
                "{url} rejected the credentials{text}: check basic.auth.user.info, bearer.auth.token or the user in the URL"
            ),
        ),
        401 => (
            Kind::Authentication,
            format!(
                "{url} requires credentials{text}: set basic.auth.user.info (user:password) or bearer.auth.token"
            ),
        ),
        403 => (
            Kind::Authorization,
            format!("{url} refused the request{text}: these credentials lack the permission"),
        ),
        404 => (Kind::Schema, not_found(details, is_json, address, call)),
        409 => (
            Kind::Schema,
            format!(
                "{url} refused the schema as incompatible with earlier versions of subject \"{}\"{text}: change the schema, or the subject's compatibility level",
                subject()
            ),
        ),
        422 => (
            Kind::Schema,
            format!("{url} refused the request as invalid{text}: {}", remedy_of_invalid(details.code)),
        ),
        413 => (Kind::Schema, format!("{url} refused the request as too large{text}")),
        _ => (Kind::Schema, format!("{url} refused the request{text}")),
    }
}

fn remedy_of_invalid(code: Option<i64>) -> &'static str {
    match code {
        Some(INVALID_LEVEL) => "it does not have this compatibility level",
        Some(INVALID_MODE) => "it does not have this mode",
        Some(NOT_PERMITTED) => {
            "the mode of the subject or of the registry forbids it: look at it with mode(), and change it with set_mode()"
        }
        Some(REFERENCED) => "delete the schemas that refer to it first",
        _ => "correct the schema, its type or its references",
    }
}

fn not_found(details: &Details, is_json: bool, address: &Address, call: &Call) -> String {
    let (url, text) = (&address.url, &details.text);
    let subject = || printable(call.subject.as_deref().unwrap_or_default());
    match (details.code, call.id) {
        (Some(UNKNOWN_SCHEMA), Some(SchemaId::Id64(_))) => format!(
            "it does not exist in {url}{text}: it was deleted, the data was written with another registry, or schema.registry.apicurio.use.id is wrong"
        ),
        (Some(UNKNOWN_SCHEMA), Some(_)) => format!(
            "it does not exist in {url}{text}: it was deleted, or the data was written with another registry"
        ),
        (Some(UNKNOWN_SCHEMA), None) => {
            format!("subject \"{}\" in {url} does not have this schema{text}: register it first", subject())
        }
        (Some(UNKNOWN_SUBJECT), _) => {
            format!(
                "subject \"{}\" does not exist in {url}{text}: register a schema, or check the name",
                subject()
            )
        }
        (Some(UNKNOWN_VERSION), _) => {
            format!("subject \"{}\" in {url} does not have this version{text}", subject())
        }
        (Some(SUBJECT_DELETED), _) => format!(
            "subject \"{}\" in {url} was deleted softly before{text}: delete it permanently, or register a schema to restore it",
            subject()
        ),
        (Some(VERSION_DELETED), _) => format!(
            "this version of subject \"{}\" in {url} was deleted softly before{text}: delete it permanently",
            subject()
        ),
        (Some(SUBJECT_NOT_DELETED | VERSION_NOT_DELETED), _) => {
            format!(
                "subject \"{}\" in {url} was not deleted softly before{text}: delete it softly first",
                subject()
            )
        }
        (Some(NO_LEVEL), _) => format!(
            "subject \"{}\" in {url} has no compatibility level of its own{text}: that of the registry applies",
            subject()
        ),
        (Some(NO_MODE), _) => format!(
            "subject \"{}\" in {url} has no mode of its own{text}: that of the registry applies",
            subject()
        ),
        // Apicurio, which has no GUIDs, returns nothing.
        (_, Some(SchemaId::Guid(_))) if is_json || address.apicurio_path.is_some() => format!(
            "{url} does not look up schemas by GUID, or does not have this one{text}: GUIDs need Confluent Platform 8"
        ),
        _ if call.api == Api::Apicurio => {
            format!("{url} does not look up global ids{text}: they need Apicurio Registry 3")
        }
        _ => format!(
            "{url} does not have the path {}{text}: check the path in schema.registry.url (Apicurio's is /apis/ccompat/v7)",
            call.path
        ),
    }
}

/// Scheme and host of a redirect, which are safe to show.
fn origin_of(location: &str) -> Option<String> {
    let uri: Uri = location.parse().ok()?;
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{}{port}", uri.scheme_str()?, printable(uri.host()?)))
}

//! The routes of the registry: functions from request and state to response. Those of schemas, subjects and settings are
//! in `schema_routes`, `subject_routes` and `setting_routes`.
//!
//! Invariant: errors have Confluent's statuses and codes.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::documents::{apicurio_version, schema_of, which};
use super::exchange::{ApiRequest, Outcome, only};
use super::failure::RegistryFailure;
use super::query::Query;
use super::state::{Listed, RegistryState};
use super::subject_names::{context_of, normal_name};
use super::{RegistryAuth, schema_routes, setting_routes, subject_routes};

/// Whether a request's header `Authorization` has the required credentials.
pub(super) fn is_authorized(auth: Option<&RegistryAuth>, header: Option<&str>) -> bool {
    let Some(auth) = auth else { return true };
    let expected = match auth {
        RegistryAuth::Basic(user, password) => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        RegistryAuth::Bearer(token) => format!("Bearer {token}"),
    };
    header == Some(expected.as_str())
}

/// Handles a request.
pub(super) fn handle(state: &mut RegistryState, request: &ApiRequest<'_>) -> Outcome {
    let segments: Vec<String> = request
        .path
        .trim_matches('/')
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
        .collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let query = Query::parse(request.query);
    match segments.as_slice() {
        [""] => only(request, &["GET", "POST"]).map(|()| json!({}).into()),
        ["schemas", rest @ ..] => schema_routes::handle(state, request, &query, rest),
        ["subjects", rest @ ..] => subject_routes::handle(state, request, &query, rest),
        ["compatibility", "subjects", subject, "versions", rest @ ..] if rest.len() < 2 => {
            only(request, &["POST"])?;
            let which = rest.first().map(|version| which(version)).transpose()?;
            let subject = state.settings.subject(normal_name(subject));
            let differences = state.check(subject, which, &schema_of(request.body)?)?;
            let mut found = json!({"is_compatible": differences.is_empty()});
            if query.flag("verbose") {
                found["messages"] = differences.into();
            }
            Ok(found.into())
        }
        ["contexts"] => {
            only(request, &["GET"])?;
            let mut found: Vec<String> = contexts(state, query.listed()).into_iter().collect();
            let prefix = query.text("contextPrefix").unwrap_or_default();
            found.retain(|context| context.starts_with(prefix));
            Ok(json!(query.page(found)).into())
        }
        ["config", rest @ ..] if rest.len() < 2 => {
            let subject = rest.first().map(|subject| normal_name(subject));
            setting_routes::config(state, request, &query, subject)
        }
        ["mode", rest @ ..] if rest.len() < 2 => {
            let subject = rest.first().map(|subject| normal_name(subject));
            setting_routes::mode(state, request, &query, subject)
        }
        ["v1", "metadata", "id"] => {
            only(request, &["GET"])?;
            Ok(json!({"scope": {"path": [], "clusters": {"kafka-cluster": "", "schema-registry-cluster": "mock"}}}).into())
        }
        ["v1", "metadata", "version"] => {
            only(request, &["GET"])?;
            Ok(json!({"version": env!("CARGO_PKG_VERSION"), "commitId": ""}).into())
        }
        _ => Err(RegistryFailure::no_route()),
    }
}

/// The contexts that have subjects, and the default one.
fn contexts(state: &RegistryState, listed: Listed) -> BTreeSet<String> {
    let subjects = state.subjects(listed);
    let named = subjects.iter().map(|subject| context_of(subject).trim_matches(':').to_owned());
    named.chain([".".to_owned()]).collect()
}

/// Handles a request to Apicurio's own API.
pub(super) fn handle_apicurio(state: &RegistryState, request: &ApiRequest<'_>) -> Outcome {
    let query = Query::parse(request.query);
    match (request.method, request.path, query.text("globalId")) {
        ("GET", "/search/versions", Some(id)) => {
            let found: Vec<Value> = state.by_global_id(id).iter().map(apicurio_version).collect();
            Ok(json!({"count": found.len(), "versions": found}).into())
        }
        _ => Err(RegistryFailure::no_route()),
    }
}

//! The routes of the registry: functions from request and state to response.
//!
//! Invariant: errors have Confluent's statuses and codes.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::RegistryAuth;
use super::documents::{apicurio_version, by_id, import_of, in_subject, json_of, schema_of, which};
use super::failure::RegistryFailure;
use super::levels::CompatibilityLevel;
use super::query::Query;
use super::state::{Listed, RegistryState, StoredSchema};
use super::subject_names::{context_of, has_prefix, normal_name};

type Outcome = Result<Value, RegistryFailure>;

/// A request, decoded.
#[derive(Debug)]
pub(super) struct ApiRequest<'a> {
    pub(super) method: &'a str,
    /// Without the query.
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) body: &'a Bytes,
}

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
        [""] if request.method == "GET" => Ok(json!({})),
        ["schemas", rest @ ..] => schemas(state, request, &query, rest),
        ["subjects"] if request.method == "GET" => {
            let prefix = query.text("subjectPrefix").unwrap_or_default();
            let mut found = state.subjects(query.listed());
            found.retain(|subject| has_prefix(subject, prefix));
            Ok(json!(query.page(found)))
        }
        ["subjects", subject] => in_subjects(state, request, &query, normal_name(subject)),
        ["subjects", subject, "versions", rest @ ..] => {
            versions(state, request, &query, normal_name(subject), rest)
        }
        ["compatibility", "subjects", subject, "versions", rest @ ..]
            if request.method == "POST" && rest.len() < 2 =>
        {
            let which = rest.first().map(|version| which(version)).transpose()?;
            let differences = state.check(normal_name(subject), which, &schema_of(request.body)?)?;
            let mut found = json!({"is_compatible": differences.is_empty()});
            if query.flag("verbose") {
                found["messages"] = differences.into();
            }
            Ok(found)
        }
        ["contexts"] if request.method == "GET" => Ok(json!(contexts(state, query.listed()))),
        ["config"] => config(state, request, &query, None),
        ["config", subject] => config(state, request, &query, Some(normal_name(subject))),
        ["mode"] => mode(state, request, &query, None),
        ["mode", subject] => mode(state, request, &query, Some(normal_name(subject))),
        _ => Err(RegistryFailure::no_route()),
    }
}

fn schemas(state: &RegistryState, request: &ApiRequest<'_>, query: &Query, path: &[&str]) -> Outcome {
    let context = context_of(query.text("subject").unwrap_or_default());
    match (request.method, path) {
        ("GET", ["types"]) => Ok(json!(["JSON", "PROTOBUF", "AVRO"])),
        ("GET", ["ids", id]) => state.schemas.by_id(&context, id).map(|schema| by_id(&schema)),
        ("GET", ["guids", guid]) => state.schemas.by_guid(guid).map(|schema| by_id(&schema)),
        ("GET", ["ids", id, "subjects"]) => {
            let mut subjects: Vec<String> =
                state.places(&context, id, query.listed())?.into_iter().map(|place| place.subject).collect();
            subjects.dedup();
            Ok(json!(query.page(subjects)))
        }
        ("GET", ["ids", id, "versions"]) => {
            let place = |it: &StoredSchema| json!({"subject": it.subject, "version": it.version});
            let places: Vec<Value> = state.places(&context, id, query.listed())?.iter().map(place).collect();
            Ok(json!(query.page(places)))
        }
        _ => Err(RegistryFailure::no_route()),
    }
}

fn in_subjects(state: &mut RegistryState, request: &ApiRequest<'_>, query: &Query, subject: &str) -> Outcome {
    match request.method {
        "POST" => {
            let found =
                state.lookup(subject, &schema_of(request.body)?, query.listed(), query.flag("normalize"));
            found.map(|schema| in_subject(&schema))
        }
        "DELETE" => {
            let deleted = state.request_subject_deletion(subject, query.flag("permanent"));
            deleted.map(|numbers| json!(numbers))
        }
        _ => Err(RegistryFailure::no_route()),
    }
}

fn versions(
    state: &mut RegistryState,
    request: &ApiRequest<'_>,
    query: &Query,
    subject: &str,
    path: &[&str],
) -> Outcome {
    match (request.method, path) {
        ("GET", []) => state.versions(subject, query.listed()).map(|found| json!(query.page(found))),
        ("POST", []) => {
            let registered = state.register_compatible(
                subject,
                schema_of(request.body)?,
                import_of(request.body)?,
                query.flag("normalize"),
            );
            registered.map(|found| json!({"id": found.id}))
        }
        ("GET", [version]) => {
            let found = state.version(subject, which(version)?, query.listed());
            found.map(|schema| in_subject(&schema))
        }
        ("GET", [version, "referencedby"]) => {
            let number = state.version(subject, which(version)?, Listed::All)?.version;
            Ok(json!(query.page(state.referring(subject, number, query.listed()))))
        }
        ("DELETE", [version]) => {
            let which = which(version)?;
            let deleted = state.request_version_deletion(subject, which, query.flag("permanent"));
            deleted.map(|number| json!(number))
        }
        _ => Err(RegistryFailure::no_route()),
    }
}

fn config(
    state: &mut RegistryState,
    request: &ApiRequest<'_>,
    query: &Query,
    subject: Option<&str>,
) -> Outcome {
    let shown = |level: CompatibilityLevel| json!({"compatibilityLevel": level.name()});
    let missing = || RegistryFailure::no_level(subject.unwrap_or_default());
    match request.method {
        "GET" => {
            let inherited = subject.filter(|_| query.flag("defaultToGlobal"));
            let inherited = inherited.map(|subject| state.levels.inherited(subject));
            state.levels.own(subject).or(inherited).map(shown).ok_or_else(missing)
        }
        "PUT" => {
            let document = json_of(request.body)?;
            // Other settings of a subject have no effect here.
            if let Some(level) = document.get("compatibility").filter(|level| !level.is_null()) {
                let level = CompatibilityLevel::parse(level.as_str().unwrap_or_default())?;
                state.levels.set(subject, level);
            }
            Ok(document)
        }
        "DELETE" => state
            .levels
            .reset(subject)
            .map(shown)
            .ok_or_else(|| RegistryFailure::no_subject(subject.unwrap_or_default())),
        _ => Err(RegistryFailure::no_route()),
    }
}

fn mode(
    state: &mut RegistryState,
    request: &ApiRequest<'_>,
    query: &Query,
    subject: Option<&str>,
) -> Outcome {
    let shown = |mode: &str| json!({"mode": mode});
    match (request.method, subject) {
        ("GET", _) => {
            let inherited = subject.filter(|_| query.flag("defaultToGlobal"));
            let inherited = inherited.map(|subject| state.modes.inherited(subject));
            let found = state.modes.own(subject).or(inherited).map(shown);
            found.ok_or_else(|| RegistryFailure::no_mode(subject.unwrap_or_default()))
        }
        ("PUT", _) => {
            let document = json_of(request.body)?;
            let mode = document.get("mode").and_then(Value::as_str).unwrap_or_default();
            state.set_mode(subject, mode, query.flag("force"))?;
            Ok(document)
        }
        ("DELETE", Some(subject)) => {
            state.modes.reset(subject).map(shown).ok_or_else(|| RegistryFailure::no_subject(subject))
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
            Ok(json!({"count": found.len(), "versions": found}))
        }
        _ => Err(RegistryFailure::no_route()),
    }
}

//! The routes of subjects and their versions.
//!
//! Invariant: an alias stands for its subject wherever a subject is read or gets a schema, but for deletions.

use serde_json::{Value, json};

use super::documents::{import_of, in_subject, schema_of, which};
use super::exchange::{ApiRequest, Outcome, Path, Reply, only};
use super::failure::RegistryFailure;
use super::query::Query;
use super::state::{Listed, RegistryState, StoredSchema};
use super::subject_names::{has_prefix, normal_name};

/// Handles a request to `/subjects`.
pub(super) fn handle(
    state: &mut RegistryState,
    request: &ApiRequest<'_>,
    query: &Query,
    path: Path<'_>,
) -> Outcome {
    let [subject, rest @ ..] = path else {
        only(request, &["GET"])?;
        let prefix = query.text("subjectPrefix").unwrap_or_default();
        let mut found = state.subjects(query.listed());
        found.retain(|subject| has_prefix(subject, prefix));
        return Ok(json!(query.page(found)).into());
    };
    let named = normal_name(subject);
    let subject = match request.method {
        "DELETE" => named.to_owned(),
        _ => state.settings.subject(named).to_owned(),
    };
    match rest {
        [] => in_subjects(state, request, query, &subject),
        ["metadata"] => {
            only(request, &["GET"])?;
            let found = state.with_metadata(&subject, &query.pairs("key", "value"), query.listed())?;
            shown(state, query, &found)
        }
        ["versions"] => versions(state, request, query, &subject),
        ["versions", version, rest @ ..] => in_version(state, request, query, &subject, version, rest),
        _ => Err(RegistryFailure::no_route()),
    }
}

/// A version, with its text in the form that the query wants.
fn shown(state: &RegistryState, query: &Query, found: &StoredSchema) -> Outcome {
    Ok(in_subject(found, &text(state, query, found)?).into())
}

fn text(state: &RegistryState, query: &Query, found: &StoredSchema) -> Result<String, RegistryFailure> {
    state.formatted(&found.document(), query.text("format").unwrap_or_default())
}

fn in_subjects(state: &mut RegistryState, request: &ApiRequest<'_>, query: &Query, subject: &str) -> Outcome {
    only(request, &["POST", "DELETE"])?;
    if request.method == "DELETE" {
        let deleted = state.request_subject_deletion(subject, query.flag("permanent"))?;
        return Ok(json!(deleted).into());
    }
    let normalizes = query.flag("normalize") || state.settings.normalizes(subject);
    let found = state.lookup(subject, &schema_of(request.body)?, query.listed(), normalizes)?;
    shown(state, query, &found)
}

fn versions(state: &mut RegistryState, request: &ApiRequest<'_>, query: &Query, subject: &str) -> Outcome {
    only(request, &["GET", "POST"])?;
    if request.method == "GET" {
        let found = state.versions(subject, query.listed())?;
        return Ok(json!(query.page(found)).into());
    }
    let normalizes = query.flag("normalize") || state.settings.normalizes(subject);
    let found =
        state.register_compatible(subject, schema_of(request.body)?, import_of(request.body)?, normalizes)?;
    // Clients must look up the rest, as with the registries that return the id alone.
    Ok(json!({"id": found.id}).into())
}

fn in_version(
    state: &mut RegistryState,
    request: &ApiRequest<'_>,
    query: &Query,
    subject: &str,
    version: &str,
    rest: Path<'_>,
) -> Outcome {
    let which = which(version)?;
    let found: Value = match rest {
        [] if request.method == "DELETE" => {
            json!(state.request_version_deletion(subject, which, query.flag("permanent"))?)
        }
        [] => {
            only(request, &["GET", "DELETE"])?;
            let found = state.version(subject, which, query.listed())?;
            return shown(state, query, &found);
        }
        ["schema"] => {
            only(request, &["GET"])?;
            let found = state.version(subject, which, query.listed())?;
            return text(state, query, &found).map(Reply::Text);
        }
        ["referencedby"] => {
            only(request, &["GET"])?;
            let number = state.version(subject, which, Listed::All)?.version;
            json!(query.page(state.referring(subject, number, query.listed())))
        }
        _ => return Err(RegistryFailure::no_route()),
    };
    Ok(found.into())
}

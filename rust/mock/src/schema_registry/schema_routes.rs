//! The routes of schemas by id and GUID, and of all schemas.

use serde_json::{Value, json};

use super::documents::{by_id, in_subject};
use super::exchange::{ApiRequest, Outcome, Path, Reply, only};
use super::failure::RegistryFailure;
use super::query::Query;
use super::state::{RegistryState, StoredSchema};
use super::subject_names::{context_of, has_prefix, normal_name};

/// Handles a request to `/schemas`.
pub(super) fn handle(
    state: &RegistryState,
    request: &ApiRequest<'_>,
    query: &Query,
    path: Path<'_>,
) -> Outcome {
    let context = context_of(query.text("subject").unwrap_or_default());
    let format = query.text("format").unwrap_or_default();
    let found: Value = match path {
        [] => json!(query.page(all(state, query))),
        ["types"] => json!(["JSON", "PROTOBUF", "AVRO"]),
        ["ids", id] => {
            let schema = state.schemas.by_id(&context, id)?;
            let mut found = by_id(&schema, &state.formatted(&schema.document, format)?);
            if query.flag("fetchMaxId") {
                found["maxId"] = state.schemas.last_id(&context).into();
            }
            found
        }
        ["ids", id, "schema"] => {
            only(request, &["GET"])?;
            let schema = state.schemas.by_id(&context, id)?;
            return state.formatted(&schema.document, format).map(Reply::Text);
        }
        ["ids", id, "subjects"] => {
            let mut subjects: Vec<String> =
                state.places(&context, id, query.listed())?.into_iter().map(|place| place.subject).collect();
            subjects.dedup();
            json!(query.page(subjects))
        }
        ["ids", id, "versions"] => {
            let place = |it: &StoredSchema| json!({"subject": it.subject, "version": it.version});
            let places: Vec<Value> = state.places(&context, id, query.listed())?.iter().map(place).collect();
            json!(query.page(places))
        }
        ["guids", guid] => {
            let known = state.schemas.by_guid(guid)?;
            let schema = known.first().ok_or_else(RegistryFailure::no_schema)?;
            by_id(schema, &state.formatted(&schema.document, format)?)
        }
        ["guids", guid, "ids"] => {
            let known = state.schemas.by_guid(guid)?;
            let place = |context: &str, id: i32| json!({"context": context.trim_matches(':'), "id": id});
            known.iter().map(|schema| place(&schema.context, schema.id)).collect::<Vec<_>>().into()
        }
        _ => return Err(RegistryFailure::no_route()),
    };
    only(request, &["GET"])?;
    Ok(found.into())
}

/// The versions of the subjects that a query is about.
fn all(state: &RegistryState, query: &Query) -> Vec<Value> {
    let prefix = normal_name(query.text("subjectPrefix").unwrap_or_default());
    let mut found = state.stored_versions(query.listed());
    found.retain(|schema| has_prefix(&schema.subject, prefix));
    if let Some(rule_type) = query.text("ruleType").filter(|name| !name.is_empty()) {
        found.retain(|schema| schema.contract.has_rule(rule_type));
    }
    if query.flag("latestOnly") {
        // A later version of the same subject follows.
        let later: Vec<String> = found.iter().skip(1).map(|schema| schema.subject.clone()).collect();
        let mut later = later.into_iter();
        found.retain(|schema| later.next().is_none_or(|subject| subject != schema.subject));
    }
    found.iter().map(|schema| in_subject(schema, &schema.text)).collect()
}

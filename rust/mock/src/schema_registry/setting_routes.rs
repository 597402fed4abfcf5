//! The routes of settings and modes.

use serde_json::{Value, json};

use super::documents::json_of;
use super::exchange::{ApiRequest, Outcome, only};
use super::failure::RegistryFailure;
use super::query::Query;
use super::state::RegistryState;

/// Handles a request to `/config`, or to that of a subject.
pub(super) fn config(
    state: &mut RegistryState,
    request: &ApiRequest<'_>,
    query: &Query,
    subject: Option<&str>,
) -> Outcome {
    only(request, &["GET", "PUT", "DELETE"])?;
    let named = subject.unwrap_or_default();
    let found = match request.method {
        "GET" => match subject.filter(|_| query.flag("defaultToGlobal")) {
            Some(subject) => state.settings.in_scope(subject),
            None => state.settings.own(subject).ok_or_else(|| RegistryFailure::no_level(named))?,
        },
        "PUT" => {
            let document = json_of(request.body)?;
            state.settings.update(subject, &document)?;
            document
        }
        _ => state.settings.reset(subject).ok_or_else(|| RegistryFailure::no_subject(named))?,
    };
    Ok(found.into())
}

/// Handles a request to `/mode`, or to that of a subject.
pub(super) fn mode(
    state: &mut RegistryState,
    request: &ApiRequest<'_>,
    query: &Query,
    subject: Option<&str>,
) -> Outcome {
    only(request, &["GET", "PUT", "DELETE"])?;
    let named = subject.unwrap_or_default();
    let shown = |mode: &str| json!({"mode": mode});
    let found = match request.method {
        "GET" => {
            let inherited = subject.filter(|_| query.flag("defaultToGlobal"));
            let inherited = inherited.map(|subject| state.modes.inherited(subject));
            let found = state.modes.own(subject).or(inherited).map(shown);
            found.ok_or_else(|| RegistryFailure::no_mode(named))?
        }
        "PUT" => {
            let document = json_of(request.body)?;
            let mode = document.get("mode").and_then(Value::as_str).unwrap_or_default();
            state.set_mode(subject, mode, query.flag("force"))?;
            document
        }
        _ => {
            let was = state.modes.reset(subject);
            let is_recursive = query.flag("recursive") && state.modes.reset_below(subject);
            match was {
                Some(mode) => shown(mode),
                None if is_recursive => json!({"mode": null}),
                None => return Err(RegistryFailure::no_subject(named)),
            }
        }
    };
    Ok(found.into())
}

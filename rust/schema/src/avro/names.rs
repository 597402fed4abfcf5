//! Names of types and their namespaces, following the Avro specification.

use serde_json::{Map, Value};

use super::invalid;
use crate::error::SchemaError;

/// Returns the full name of a definition, and the namespace for the names inside it.
pub(super) fn full_name(
    object: &Map<String, Value>,
    namespace: &str,
) -> Result<(String, String), SchemaError> {
    let name = object.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| invalid("a named type has no name"))?;
    let own = object.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
    let full = qualify(name, own);
    let inner = full.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
    Ok((full, inner))
}

/// Returns the full name of a name used in a namespace.
pub(super) fn qualify(name: &str, namespace: &str) -> String {
    match name.contains('.') || namespace.is_empty() {
        true => name.trim_start_matches('.').to_owned(),
        false => format!("{namespace}.{name}"),
    }
}

/// Returns the aliases of a type or a field.
pub(super) fn alias_names(object: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let aliases = object.get("aliases").and_then(Value::as_array);
    aliases.into_iter().flatten().filter_map(Value::as_str)
}

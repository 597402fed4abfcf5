//! A registry's operations as futures: `Registry` blocks on them, `AsyncRegistry` returns them to asyncio.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::schema_registry::{Compatibility, NewSchema, SchemaEntry, SchemaRegistry};
use ottla_client::{Error, Kind, Result};
use ottla_schema::SchemaId;
use pyo3::prelude::*;

use crate::convert::errors;
use crate::convert::number;

/// Which schema a look-up is for.
pub(super) enum Wanted {
    Id(SchemaId),
    Latest(String),
    Version(String, i32),
    /// The version under which a schema is registered.
    Registered(String, NewSchema),
}

/// Converts an id: a number, or a GUID as text.
pub(crate) fn schema_id(id: &Bound<'_, PyAny>) -> PyResult<SchemaId> {
    if number::is_bool(id)? {
        let message = format!("id is the bool {id}: expected a number, or a GUID as text");
        return Err(errors::argument_type(id.py(), message));
    }
    if let Ok(id) = id.extract::<u32>() {
        return Ok(SchemaId::Id(id));
    }
    let text = id.extract::<String>().unwrap_or_default();
    let guid = SchemaId::parse_guid(&text);
    guid.map(SchemaId::Guid).ok_or_else(|| {
        let shown = id.repr().map_or_else(|_| String::new(), |repr| repr.to_string());
        let message = format!("{shown} is not the id of a schema: expected a number, or a GUID as text");
        errors::config(id.py(), message)
    })
}

/// Looks up a schema.
pub(super) async fn look_up(
    registry: Arc<SchemaRegistry>,
    wanted: Wanted,
    timeout: Duration,
) -> Result<Arc<SchemaEntry>> {
    match wanted {
        Wanted::Id(id) => registry.entry(id, timeout).await,
        Wanted::Latest(subject) => registry.latest(&subject, timeout).await,
        Wanted::Version(_, version) if version < 1 => {
            Err(Error::new(Kind::Config, format!("version is {version}: versions begin with 1")))
        }
        Wanted::Version(subject, version) => registry.version(&subject, version, timeout).await,
        Wanted::Registered(subject, schema) => registry.lookup(&subject, &schema, timeout).await,
    }
}

/// Registers a schema.
pub(super) async fn register(
    registry: Arc<SchemaRegistry>,
    subject: String,
    schema: NewSchema,
    timeout: Duration,
) -> Result<Arc<SchemaEntry>> {
    registry.register(&subject, &schema, timeout).await
}

/// Lists the subjects.
pub(super) async fn subjects(registry: Arc<SchemaRegistry>, timeout: Duration) -> Result<Vec<String>> {
    registry.subjects(timeout).await
}

/// Checks a schema against a version.
pub(super) async fn check_compatibility(
    registry: Arc<SchemaRegistry>,
    subject: String,
    schema: NewSchema,
    version: Option<i32>,
    timeout: Duration,
) -> Result<Compatibility> {
    registry.check_compatibility(&subject, &schema, version, timeout).await
}

//! A registry's operations as futures: `Registry` blocks on them, `AsyncRegistry` returns them to asyncio.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::schema_registry::{
    Compatibility, NewSchema, RegistrySetting, SchemaEntry, SchemaRegistry, SubjectFilter,
};
use ottla_client::{Error, Kind, Result};
use ottla_schema::{SchemaId, context_of};
use pyo3::prelude::*;

use crate::convert::errors;
use crate::convert::number;

/// Which schema a look-up is for.
pub(super) enum Wanted {
    /// In the context of the subject.
    Id(SchemaId, Option<String>),
    Latest(String),
    /// With whether it may be one that was deleted softly.
    Version(String, i32, bool),
    /// The version under which a schema, normalized or not, is registered.
    Registered(String, NewSchema, bool),
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
        Wanted::Id(id, subject) => registry.entry(id, subject.as_deref().and_then(context_of), timeout).await,
        Wanted::Latest(subject) => registry.latest(&subject, timeout).await,
        Wanted::Version(subject, version, deleted) => {
            check_version(version)?;
            registry.version(&subject, version, deleted, timeout).await
        }
        Wanted::Registered(subject, schema, normalize) => {
            registry.lookup(&subject, &schema, normalize, timeout).await
        }
    }
}

/// A change of a setting: of the subject, or of the registry itself.
pub(super) enum SettingChange {
    SetLevel(String, Option<String>),
    DeleteLevel(Option<String>),
    SetMode { mode: String, subject: Option<String>, force: bool },
    DeleteMode(String),
}

/// Registers a schema.
pub(super) async fn register(
    registry: Arc<SchemaRegistry>,
    subject: String,
    schema: NewSchema,
    normalize: bool,
    timeout: Duration,
) -> Result<Arc<SchemaEntry>> {
    registry.register(&subject, &schema, normalize, timeout).await
}

/// Lists the subjects.
pub(super) async fn subjects(
    registry: Arc<SchemaRegistry>,
    filter: SubjectFilter,
    timeout: Duration,
) -> Result<Vec<String>> {
    registry.subjects(&filter, timeout).await
}

/// Lists the versions of a subject.
pub(super) async fn versions(
    registry: Arc<SchemaRegistry>,
    subject: String,
    deleted: bool,
    timeout: Duration,
) -> Result<Vec<i32>> {
    registry.versions(&subject, deleted, timeout).await
}

/// Deletes a version.
pub(super) async fn delete_version(
    registry: Arc<SchemaRegistry>,
    subject: String,
    version: i32,
    permanent: bool,
    timeout: Duration,
) -> Result<()> {
    check_version(version)?;
    registry.delete_version(&subject, version, permanent, timeout).await
}

/// Deletes a subject.
pub(super) async fn delete_subject(
    registry: Arc<SchemaRegistry>,
    subject: String,
    permanent: bool,
    timeout: Duration,
) -> Result<Vec<i32>> {
    registry.delete_subject(&subject, permanent, timeout).await
}

/// Looks up a level of compatibility.
pub(super) async fn compatibility_level(
    registry: Arc<SchemaRegistry>,
    subject: Option<String>,
    timeout: Duration,
) -> Result<RegistrySetting> {
    registry.compatibility_level(subject.as_deref(), timeout).await
}

/// Looks up a mode.
pub(super) async fn mode(
    registry: Arc<SchemaRegistry>,
    subject: Option<String>,
    timeout: Duration,
) -> Result<RegistrySetting> {
    registry.mode(subject.as_deref(), timeout).await
}

/// Changes a setting.
pub(super) async fn change(
    registry: Arc<SchemaRegistry>,
    change: SettingChange,
    timeout: Duration,
) -> Result<()> {
    match change {
        SettingChange::SetLevel(level, subject) => {
            registry.set_compatibility_level(&level, subject.as_deref(), timeout).await
        }
        SettingChange::DeleteLevel(subject) => {
            registry.delete_compatibility_level(subject.as_deref(), timeout).await
        }
        SettingChange::SetMode { mode, subject, force } => {
            registry.set_mode(&mode, subject.as_deref(), force, timeout).await
        }
        SettingChange::DeleteMode(subject) => registry.delete_mode(&subject, timeout).await,
    }
}

fn check_version(version: i32) -> Result<()> {
    match version {
        1.. => Ok(()),
        _ => Err(Error::new(Kind::Config, format!("version is {version}: versions begin with 1"))),
    }
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

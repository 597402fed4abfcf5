//! `Schema`, `SchemaReference` and `Compatibility`: the values of a registry's calls.

use std::sync::Arc;

use ottla_client::schema_registry::{
    Compatibility as CoreCompatibility, NewSchema, ReferenceName, SchemaEntry,
};
use ottla_schema::{SchemaId, SchemaType};
use pyo3::prelude::*;

use crate::convert::errors;
use crate::convert::names::items;
use crate::convert::number;

/// A name in a schema's text, and where the schema with this name is registered.
///
/// Args:
///     name: the name in the text: a full name in Avro, the path of an import in Protobuf, a
///         ``$ref`` in JSON Schema.
///     subject: the subject of the referenced schema.
///     version: its version in the subject.
#[pyclass(frozen, get_all, eq, hash, from_py_object, module = "ottla.schema")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SchemaReference {
    /// The name in the text.
    name: String,
    /// The subject of the referenced schema.
    subject: String,
    /// Its version in the subject.
    version: i32,
}

#[pymethods]
impl SchemaReference {
    #[new]
    fn new(name: String, subject: String, #[pyo3(from_py_with = number::version)] version: i32) -> Self {
        Self { name, subject, version }
    }

    fn __repr__(&self) -> String {
        let Self { name, subject, version } = self;
        format!("SchemaReference(name={name:?}, subject={subject:?}, version={version})")
    }
}

/// A schema: its text and, in a registry, where it is registered.
///
/// Two schemas are equal if type, text and references are.
///
/// Args:
///     text: the text: JSON of an Avro schema, a ``.proto`` file, or a JSON Schema.
///     type: ``"AVRO"``, ``"PROTOBUF"`` or ``"JSON"``.
///     references: the schemas that the text refers to.
///
/// Raises:
///     ConfigError: there is no such type.
#[pyclass(frozen, eq, hash, module = "ottla.schema")]
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    schema: NewSchema,
    subject: Option<Arc<str>>,
    version: Option<i32>,
    id: Option<u32>,
    guid: Option<[u8; 16]>,
}

/// Converts the argument `references`.
fn schema_references(argument: &Bound<'_, PyAny>) -> PyResult<Vec<SchemaReference>> {
    let references =
        items(argument, "a list of references", |name| format!("[SchemaReference({name}, \"subject\", 1)]"))?;
    references
        .map(|reference| {
            let reference = reference?;
            reference.extract().map_err(|_| {
                let ty = reference.get_type().name().map_or_else(|_| String::new(), |ty| ty.to_string());
                let message = format!("references has an item of type {ty}: expected SchemaReference");
                errors::argument_type(reference.py(), message)
            })
        })
        .collect()
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl Eq for Schema {}

impl std::hash::Hash for Schema {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.schema.hash(state);
    }
}

impl Schema {
    /// The schema to send to a registry.
    pub(crate) fn as_new(&self) -> &NewSchema {
        &self.schema
    }
}

impl From<&SchemaEntry> for Schema {
    fn from(entry: &SchemaEntry) -> Self {
        let schema = NewSchema {
            schema_type: entry.schema.schema_type,
            text: Arc::clone(&entry.schema.text),
            references: entry.references.clone(),
        };
        let SchemaEntry { subject, version, id, guid, .. } = entry;
        Self { schema, subject: subject.clone(), version: *version, id: *id, guid: *guid }
    }
}

#[pymethods]
impl Schema {
    #[new]
    #[pyo3(signature = (text, r#type="AVRO", references=Vec::new()))]
    fn new(
        py: Python<'_>,
        text: &str,
        r#type: &str,
        #[pyo3(from_py_with = schema_references)] references: Vec<SchemaReference>,
    ) -> PyResult<Self> {
        let schema_type: SchemaType = r#type.parse().map_err(|()| {
            let message =
                format!("type={type:?}: expected one of \"AVRO\", \"PROTOBUF\", \"JSON\"", type = r#type);
            errors::config(py, message)
        })?;
        let references = references
            .into_iter()
            .map(|it| ReferenceName { name: it.name.into(), subject: it.subject.into(), version: it.version })
            .collect();
        let schema = NewSchema { schema_type, text: text.into(), references };
        Ok(Self { schema, subject: None, version: None, id: None, guid: None })
    }

    /// The text.
    #[getter]
    fn text(&self) -> &str {
        &self.schema.text
    }

    /// ``"AVRO"``, ``"PROTOBUF"`` or ``"JSON"``.
    #[getter]
    fn r#type(&self) -> &'static str {
        self.schema.schema_type.name()
    }

    /// The schemas that the text refers to.
    #[getter]
    fn references(&self) -> Vec<SchemaReference> {
        let names = self.schema.references.iter();
        names
            .map(|it| SchemaReference {
                name: it.name.to_string(),
                subject: it.subject.to_string(),
                version: it.version,
            })
            .collect()
    }

    /// The subject, or None if the schema was looked up by id or is not registered.
    #[getter]
    fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// The version in the subject, or None if it is not known.
    #[getter]
    fn version(&self) -> Option<i32> {
        self.version
    }

    /// The id, or None if it is not known.
    #[getter]
    fn id(&self) -> Option<u32> {
        self.id
    }

    /// The GUID as text, or None if the registry has none (Confluent Platform 8 has).
    #[getter]
    fn guid(&self) -> Option<String> {
        self.guid.map(|guid| SchemaId::Guid(guid).to_string())
    }

    fn __repr__(&self) -> String {
        let mut fields = vec![format!("type={:?}", self.schema.schema_type.name())];
        fields.extend(self.subject.as_ref().map(|subject| format!("subject={subject:?}")));
        fields.extend(self.version.map(|version| format!("version={version}")));
        fields.extend(self.id.map(|id| format!("id={id}")));
        format!("Schema({})", fields.join(", "))
    }
}

/// Whether a registry would accept a schema, and why not.
#[pyclass(frozen, get_all, module = "ottla.schema")]
#[derive(Debug)]
pub(crate) struct Compatibility {
    /// Whether the registry would accept the schema.
    is_compatible: bool,
    /// The differences that make it incompatible, as the registry describes them.
    messages: Vec<String>,
}

impl From<CoreCompatibility> for Compatibility {
    fn from(core: CoreCompatibility) -> Self {
        Self { is_compatible: core.is_compatible, messages: core.messages }
    }
}

#[pymethods]
impl Compatibility {
    fn __bool__(&self) -> bool {
        self.is_compatible
    }

    fn __repr__(&self) -> String {
        let word = if self.is_compatible { "True" } else { "False" };
        format!("Compatibility(is_compatible={word}, messages={:?})", self.messages)
    }
}

//! `Schema`, `SchemaReference` and `Compatibility`: the values of a registry's calls.

use std::sync::Arc;

use ottla_client::schema_registry::{
    Compatibility as CoreCompatibility, DataContract, NewSchema, ReferenceName, SchemaEntry, check_contract,
};
use ottla_schema::{SchemaId, SchemaType};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyMapping, PyTuple};

use crate::convert::errors;
use crate::convert::mapping;
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
/// Two schemas are equal if type, text, references, metadata and rules are.
///
/// Args:
///     text: the text: JSON of an Avro schema, a ``.proto`` file, or a JSON Schema.
///     type: ``"AVRO"``, ``"PROTOBUF"`` or ``"JSON"``.
///     references: the schemas that the text refers to.
///     metadata: the metadata of its data contract, as in the registry's API: a dict with
///         ``"tags"``, ``"properties"`` and ``"sensitive"``. Default: none.
///     rule_set: the rules of its data contract: a dict with lists of ``"domainRules"``,
///         ``"encodingRules"`` and ``"migrationRules"``. Default: none.
///
/// Raises:
///     ConfigError: there is no such type, or no such key.
#[pyclass(frozen, eq, hash, module = "ottla.schema")]
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    schema: NewSchema,
    subject: Option<Arc<str>>,
    version: Option<i32>,
    id: Option<u32>,
    guid: Option<[u8; 16]>,
}

/// The members of `metadata`.
const METADATA: &[&str] = &["tags", "properties", "sensitive"];
/// The members of `rule_set`.
const RULE_SET: &[&str] = &["domainRules", "encodingRules", "migrationRules", "enableAt"];

/// Converts the argument `metadata` or `rule_set` to the text of its JSON.
fn contract_part(
    argument: Option<&Bound<'_, PyAny>>,
    name: &str,
    members: &[&str],
) -> PyResult<Option<Arc<str>>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(None) };
    let py = argument.py();
    let example = format!("{{{:?}: …}}", members.first().unwrap_or(&""));
    for (key, _) in mapping::items(argument, name, &example)? {
        let is_known = key.extract::<String>().is_ok_and(|key| members.contains(&key.as_str()));
        if !is_known {
            let message =
                format!("{name} has the key {}: expected some of {}", key.repr()?, members.join(", "));
            return Err(errors::config(py, message));
        }
    }
    let plain = PyDict::new(py);
    plain.update(argument.cast::<PyMapping>()?)?;
    // As the registry client writes JSON, so that equal contracts are equal texts.
    let options = PyDict::new(py);
    options.set_item("sort_keys", true)?;
    options.set_item("ensure_ascii", false)?;
    options.set_item("allow_nan", false)?;
    options.set_item("separators", (",", ":"))?;
    let text = py.import("json")?.call_method("dumps", (&plain,), Some(&options));
    let text = text.and_then(|text| text.extract::<String>());
    let text =
        text.map_err(|error| errors::argument_type(py, format!("{name} is no JSON: {}", error.value(py))))?;
    check_integers(&plain, name, 0)?;
    Ok(Some(text.into()))
}

/// The depth to which the text of a contract may nest.
const DEPTH_MAX: usize = 128;

/// Refuses integers that do not fit into 64 bits, of which readers of JSON make floats. `place` names the value.
fn check_integers(value: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<()> {
    if depth > DEPTH_MAX {
        return Ok(());
    }
    let inside = |value: &Bound<'_, PyAny>, place: String| check_integers(value, &place, depth + 1);
    if let Ok(values) = value.cast::<PyDict>() {
        values.iter().try_for_each(|(key, value)| inside(&value, format!("{place}.{key}")))
    } else if let Ok(values) = value.cast::<PyList>() {
        values.iter().enumerate().try_for_each(|(n, value)| inside(&value, format!("{place}[{n}]")))
    } else if let Ok(values) = value.cast::<PyTuple>() {
        values.iter().enumerate().try_for_each(|(n, value)| inside(&value, format!("{place}[{n}]")))
    } else if value.is_instance_of::<PyInt>()
        && value.extract::<i64>().is_err()
        && value.extract::<u64>().is_err()
    {
        let message = format!("{place} is an integer that does not fit into 64 bits: give it as text");
        Err(errors::config(value.py(), message))
    } else {
        Ok(())
    }
}

/// The value of JSON text; None without it.
fn parsed<'py>(py: Python<'py>, text: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    match text {
        Some(text) => py.import("json")?.call_method1("loads", (text,)),
        None => Ok(py.None().into_bound(py)),
    }
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
            contract: entry.schema.contract.clone(),
        };
        let SchemaEntry { subject, version, id, .. } = entry;
        Self { schema, subject: subject.clone(), version: *version, id: *id, guid: entry.schema.guid }
    }
}

#[pymethods]
impl Schema {
    #[new]
    #[pyo3(signature = (text, r#type="AVRO", references=Vec::new(), *, metadata=None, rule_set=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        r#type: &str,
        #[pyo3(from_py_with = schema_references)] references: Vec<SchemaReference>,
        metadata: Option<&Bound<'_, PyAny>>,
        rule_set: Option<&Bound<'_, PyAny>>,
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
        let contract = DataContract {
            metadata: contract_part(metadata, "metadata", METADATA)?,
            rule_set: contract_part(rule_set, "rule_set", RULE_SET)?,
        };
        check_contract(&contract).map_err(|why| errors::config(py, why))?;
        let schema = NewSchema { schema_type, text: text.into(), references, contract };
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

    /// The metadata of its data contract: a dict with ``"tags"``, ``"properties"`` and
    /// ``"sensitive"``; or None.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, self.schema.contract.metadata.as_deref())
    }

    /// The rules of its data contract, a dict of lists of dicts, or None. No rule is applied: a
    /// value that needs one is an error.
    #[getter]
    fn rule_set<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, self.schema.contract.rule_set.as_deref())
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

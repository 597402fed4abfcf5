//! The validation of JSON payloads by `ottla._internal.json_validation`, in batches.
//!
//! Invariants: a schema is compiled once; no lock is held while Python is called.

use std::sync::Arc;

use ottla_client::typed::PayloadValidator;
use ottla_client::{Error, Kind, Result};
use ottla_schema::{RegisteredSchema, SchemaReference};
use parking_lot::Mutex;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// More compiled schemas are forgotten.
const MAX_COMPILED: usize = 1_000;

/// A schema, and its validator.
type Compiled = (Arc<RegisteredSchema>, Py<PyAny>);

/// Validates payloads against JSON Schemas.
#[derive(Debug)]
pub(super) struct JsonValidation {
    /// `JsonValidator`, a class of Python.
    make: Py<PyAny>,
    compiled: Mutex<Vec<Compiled>>,
}

/// A document: its name, its text, and the names of those that it refers to.
type Document<'a> = (&'a str, &'a str, Vec<&'a str>);

impl JsonValidation {
    /// # Errors
    /// The package that validates is not installed.
    pub(super) fn new(py: Python<'_>) -> PyResult<Self> {
        let module = py.import("ottla._internal.json_validation")?;
        Ok(Self { make: module.getattr("validator_class")?.call0()?.unbind(), compiled: Mutex::default() })
    }

    fn validator<'py>(&self, py: Python<'py>, schema: &Arc<RegisteredSchema>) -> PyResult<Bound<'py, PyAny>> {
        {
            let compiled = self.compiled.lock();
            let known = compiled.iter().find(|(known, _)| Arc::ptr_eq(known, schema));
            if let Some((_, validator)) = known {
                return Ok(validator.bind(py).clone());
            }
        }
        let references = schema.in_order();
        let documents: Vec<Document<'_>> = std::iter::once(document("", schema))
            .chain(references.iter().map(|reference| document(&reference.name, &reference.schema)))
            .collect();
        let made = uninterrupted(py, || self.make.bind(py).call1((documents.clone(),)))?;
        let mut compiled = self.compiled.lock();
        let forgotten = match compiled.len() {
            MAX_COMPILED.. => std::mem::take(&mut *compiled),
            _ => Vec::new(),
        };
        compiled.push((Arc::clone(schema), made.clone().unbind()));
        drop(compiled);
        drop(forgotten);
        Ok(made)
    }
}

impl PayloadValidator for JsonValidation {
    fn validate(&self, schema: &Arc<RegisteredSchema>, payloads: &[&[u8]]) -> Result<Vec<(usize, String)>> {
        let validated = Python::try_attach(|py| {
            let validator = self.validator(py, schema).map_err(|error| unusable(py, &error))?;
            if payloads.is_empty() {
                return Ok(Vec::new());
            }
            let payloads = PyList::new(py, payloads.iter().map(|payload| PyBytes::new(py, payload)));
            let found = payloads.and_then(|payloads| {
                uninterrupted(py, || validator.call_method1("failures", (&payloads,)))
                    .and_then(|found| found.extract())
            });
            found.map_err(|error| {
                Error::new(Kind::Internal, format!("JSON Schema validation failed: {}", error.value(py)))
            })
        });
        validated.unwrap_or_else(|| Err(Error::new(Kind::Closed, "the interpreter is exiting")))
    }
}

/// Calls Python again after Ctrl-C on the thread that polls. No error of the core can carry it, so the work is finished,
/// and the application gets it with the next step of its own code.
fn uninterrupted<T>(py: Python<'_>, call: impl Fn() -> PyResult<T>) -> PyResult<T> {
    match call() {
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
            let returned = call();
            py.import("_thread")?.call_method0("interrupt_main")?;
            returned
        }
        returned => returned,
    }
}

fn document<'a>(name: &'a str, schema: &'a RegisteredSchema) -> Document<'a> {
    let names = schema.references.iter().map(|SchemaReference { name, .. }| &**name);
    (name, &schema.text, names.collect())
}

fn unusable(py: Python<'_>, error: &PyErr) -> Error {
    match error.is_instance_of::<PyValueError>(py) {
        true => {
            Error::new(Kind::Schema, format!("the JSON Schema cannot be validated with: {}", error.value(py)))
        }
        false => Error::new(Kind::Internal, format!("JSON Schema validation failed: {}", error.value(py))),
    }
}

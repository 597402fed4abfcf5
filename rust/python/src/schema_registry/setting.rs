//! `RegistrySetting`: the compatibility level or the mode of a subject or a registry.

use ottla_client::schema_registry::RegistrySetting as CoreSetting;
use pyo3::prelude::*;

/// The compatibility level or the mode that applies to a subject or a registry.
#[pyclass(frozen, get_all, eq, hash, module = "ottla.schema")]
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RegistrySetting {
    /// The level, such as ``"BACKWARD"``, or the mode, such as ``"READWRITE"``.
    value: String,
    /// Whether the subject has none of its own, so that the one of its context or of the whole
    /// registry applies; True without a subject.
    is_global: bool,
}

impl From<CoreSetting> for RegistrySetting {
    fn from(CoreSetting { value, is_global }: CoreSetting) -> Self {
        Self { value, is_global }
    }
}

#[pymethods]
impl RegistrySetting {
    fn __repr__(&self) -> String {
        let word = if self.is_global { "True" } else { "False" };
        format!("RegistrySetting(value={:?}, is_global={word})", self.value)
    }
}

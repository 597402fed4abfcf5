//! `MockRegistry`: a schema registry in this process, for `ottla.testing`.

use std::sync::Arc;
use std::time::Duration;

use ottla_mock::schema_registry::{
    CompatibilityLevel, MockRegistry as Core, MockRegistryConfig, RegistryAuth, RegistryFailure,
    RegistryFault, RegistryFaultId, RegistryMatch, RegistryReaction, RegistryReference,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::errors;
use crate::convert::number;
use crate::runtime::{ProcessLocal, runtime, wait};
use crate::schema_registry::mock_registries;

/// The registry behind ``ottla.testing.MockRegistry``, which documents its methods.
#[pyclass(frozen, module = "ottla.testing")]
pub(crate) struct MockRegistry {
    core: parking_lot::Mutex<Option<Arc<ProcessLocal<Arc<Core>>>>>,
}

impl MockRegistry {
    fn core(&self) -> PyResult<Arc<Core>> {
        let owned = self.core.lock().clone();
        let owned = owned.ok_or_else(|| errors::closed("this mock registry was closed"))?;
        owned.get().cloned()
    }
}

fn failed(py: Python<'_>, failure: &RegistryFailure) -> PyErr {
    errors::config(py, failure.to_string())
}

/// Parses a reaction from a dict.
fn reaction(py: Python<'_>, reaction: &Bound<'_, PyDict>) -> PyResult<RegistryReaction> {
    let invalid = || errors::config(py, "a fault of a registry: expected what RegistryFault creates");
    let (kind, value): (String, Bound<'_, PyAny>) = match reaction.items().get_item(0) {
        Ok(item) => item.extract()?,
        Err(_) => return Err(invalid()),
    };
    Ok(match kind.as_str() {
        "status" => {
            let (status, code, message, retry_after) = value.extract()?;
            RegistryReaction::Status { status, code, message, retry_after }
        }
        "delay" => {
            let delay = Duration::try_from_secs_f64(value.extract()?).map_err(|_| invalid())?;
            RegistryReaction::Delay(delay)
        }
        "silence" => RegistryReaction::Silence,
        "disconnect" => match value.extract::<String>()?.as_str() {
            "before" => RegistryReaction::Disconnect,
            "after" => RegistryReaction::DisconnectAfterHandling,
            _ => return Err(errors::config(py, "disconnect: expected 'before' or 'after'")),
        },
        "body" => {
            let (body, content_type): (Vec<u8>, String) = value.extract()?;
            RegistryReaction::Body { content_type, body: body.into() }
        }
        _ => return Err(invalid()),
    })
}

#[pymethods]
impl MockRegistry {
    #[new]
    #[pyo3(signature = (name=None, *, user_info=None, token=None, path=String::new()))]
    fn new(
        py: Python<'_>,
        name: Option<&str>,
        user_info: Option<&str>,
        token: Option<String>,
        path: String,
    ) -> PyResult<Self> {
        let auth = match (user_info, token) {
            (None, None) => None,
            (Some(user_info), None) => {
                let (user, password) = user_info
                    .split_once(':')
                    .ok_or_else(|| errors::config(py, "user_info: expected user:password"))?;
                Some(RegistryAuth::Basic(user.to_owned(), password.to_owned()))
            }
            (None, Some(token)) => Some(RegistryAuth::Bearer(token)),
            (Some(_), Some(_)) => return Err(errors::config(py, "pass either user_info or token, not both")),
        };
        let config = MockRegistryConfig { auth, path, ..MockRegistryConfig::default() };
        let core = mock_registries::start(py, name, config)?;
        Ok(Self { core: parking_lot::Mutex::new(Some(Arc::new(ProcessLocal::new(core)))) })
    }

    /// The URL.
    #[getter]
    fn url(&self) -> PyResult<String> {
        Ok(self.core()?.url())
    }

    /// Register a schema, and return its id and version.
    fn register(
        &self,
        py: Python<'_>,
        subject: &str,
        text: &str,
        schema_type: &str,
        references: Vec<(String, String, i32)>,
    ) -> PyResult<(i64, i32)> {
        let references: Vec<RegistryReference> = references
            .into_iter()
            .map(|(name, subject, version)| RegistryReference { name, subject, version })
            .collect();
        let stored = self.core()?.register(subject, schema_type, text, &references);
        let stored = stored.map_err(|failure| failed(py, &failure))?;
        Ok((stored.id.into(), stored.version))
    }

    /// Set the level of compatibility of a subject, or of all others.
    fn set_compatibility(&self, py: Python<'_>, level: &str, subject: Option<&str>) -> PyResult<()> {
        let level = CompatibilityLevel::parse(level).map_err(|failure| failed(py, &failure))?;
        self.core()?.set_compatibility(subject, level);
        Ok(())
    }

    /// Make a subject refuse other schemas, or accept all again.
    fn refuse_changes(&self, subject: &str, refuse: bool) -> PyResult<()> {
        self.core()?.refuse_changes(subject, refuse);
        Ok(())
    }

    /// Delete a version softly.
    fn delete_version(
        &self,
        py: Python<'_>,
        subject: &str,
        #[pyo3(from_py_with = number::version)] version: i32,
    ) -> PyResult<()> {
        self.core()?.delete_version(subject, version).map_err(|failure| failed(py, &failure))
    }

    /// Return the names of the subjects.
    fn subjects(&self) -> PyResult<Vec<String>> {
        Ok(self.core()?.subjects())
    }

    /// Return the method and the path of each request.
    fn requests(&self) -> PyResult<Vec<(String, String)>> {
        let requests = self.core()?.requests();
        Ok(requests.into_iter().map(|request| (request.method, request.path)).collect())
    }

    /// Inject a fault, and return its id.
    #[pyo3(signature = (fault, *, method, path, skip, times))]
    fn inject(
        &self,
        py: Python<'_>,
        fault: &Bound<'_, PyDict>,
        method: Option<String>,
        path: Option<String>,
        #[pyo3(from_py_with = number::skip)] skip: u64,
        #[pyo3(from_py_with = number::times)] times: Option<u64>,
    ) -> PyResult<u64> {
        let then = reaction(py, fault)?;
        let on = RegistryMatch { method, path, skip };
        Ok(self.core()?.inject(RegistryFault { on, then, times }).0)
    }

    /// Return the number of requests that a fault has hit.
    fn fault_hits(&self, #[pyo3(from_py_with = number::fault)] fault: u64) -> PyResult<u64> {
        Ok(self.core()?.fault_hits(RegistryFaultId(fault)))
    }

    /// Remove all faults.
    fn clear_faults(&self) -> PyResult<()> {
        self.core()?.clear_faults();
        Ok(())
    }

    /// Stop listening, and keep the schemas.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core()?;
        Ok(wait(py, async move { core.stop().await })??)
    }

    /// Listen again at the same address.
    fn restart(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core()?;
        Ok(wait(py, async move { core.restart().await })??)
    }

    /// Stop for good.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let owned = self.core.lock().take();
        let Some(owned) = owned else { return Ok(()) };
        let core = Arc::clone(owned.get()?);
        mock_registries::remove(&core);
        wait(py, async move { core.close().await })?;
        // The last owner ends its tasks on the runtime.
        let runtime = runtime()?;
        let _entered = runtime.enter();
        drop(owned);
        Ok(())
    }

    fn __repr__(&self) -> String {
        let owned = self.core.lock().clone();
        match owned.as_ref().and_then(|owned| owned.peek()) {
            Some(core) => format!("MockRegistry({:?})", core.url()),
            None => "MockRegistry(closed)".to_owned(),
        }
    }
}

//! The argument `mode` of a format: a name, or dead letters.

use std::sync::Arc;

use ottla_client::typed::{DeadLetters, DecodeMode};
use pyo3::intern;
use pyo3::prelude::*;

use crate::convert::errors;
use crate::runtime::ProcessLocal;

/// What a format needs of `ottla.schema.DeadLetters`, which is made from a client.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct DeadLettersCore(ProcessLocal<Arc<DeadLetters>>);

impl DeadLettersCore {
    pub(crate) fn new(core: Arc<DeadLetters>) -> Self {
        Self(ProcessLocal::new(core))
    }

    fn core(&self) -> PyResult<Arc<DeadLetters>> {
        Ok(Arc::clone(self.0.get()?))
    }
}

/// The name of a mode.
pub(super) fn mode_name(mode: &DecodeMode) -> &'static str {
    match mode {
        DecodeMode::FailFast => "failfast",
        DecodeMode::Permissive => "permissive",
        DecodeMode::DeadLetter(_) => "dead-letters",
    }
}

/// Returns the mode of an argument: a name, or dead letters.
pub(super) fn decode_mode(
    py: Python<'_>,
    mode: Option<&Bound<'_, PyAny>>,
) -> PyResult<(DecodeMode, Option<Py<DeadLettersCore>>)> {
    let Some(mode) = mode else { return Ok((DecodeMode::FailFast, None)) };
    if let Ok(letters) = mode.getattr(intern!(py, "_core"))
        && let Ok(letters) = letters.cast::<DeadLettersCore>()
    {
        return Ok((DecodeMode::DeadLetter(letters.get().core()?), Some(letters.clone().unbind())));
    }
    match mode.extract::<&str>() {
        Ok("failfast") => Ok((DecodeMode::FailFast, None)),
        Ok("permissive") => Ok((DecodeMode::Permissive, None)),
        _ => {
            let message =
                format!("mode={}: expected \"failfast\", \"permissive\" or DeadLetters(…)", mode.repr()?);
            Err(errors::config(py, message))
        }
    }
}

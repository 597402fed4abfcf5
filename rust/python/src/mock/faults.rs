//! Parses faults from Python: names of APIs and error codes, and a dict with one key.

use std::time::Duration;

use ottla_mock::{Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::errors;

pub(super) fn api_key(py: Python<'_>, name: &str) -> PyResult<ApiKey> {
    let found = ApiKey::ALL.iter().find(|api| api.name() == name);
    found.copied().ok_or_else(|| {
        errors::config(py, format!("{name:?} is not the name of an API, such as Produce or Fetch"))
    })
}

fn error_code(py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<ErrorCode> {
    let name: String = name.extract()?;
    let found = ErrorCode::ALL.iter().find(|code| code.name() == name);
    found.copied().ok_or_else(|| errors::config(py, format!("{name:?} is not the name of an error code")))
}

/// Parses a reaction from a dict with one key.
pub(super) fn reaction(py: Python<'_>, reaction: &Bound<'_, PyDict>) -> PyResult<Reaction> {
    let items = reaction.items();
    let invalid = || {
        let known = "error, error_after_handling, disconnect, delay, throttle, silence, move_leader, omit_partition, corrupt_records, truncate_frame, bytes";
        errors::config(py, format!("a fault is exactly one of {known}"))
    };
    if items.len() != 1 {
        return Err(invalid());
    }
    let (kind, value): (String, Bound<'_, PyAny>) = items.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "error" => Reaction::Error(error_code(py, &value)?),
        "error_after_handling" => Reaction::ErrorAfterHandling(error_code(py, &value)?),
        "disconnect" => match value.extract::<String>()?.as_str() {
            "before" => Reaction::Disconnect(When::BeforeHandling),
            "after" => Reaction::Disconnect(When::AfterHandling),
            _ => return Err(errors::config(py, "disconnect: expected 'before' or 'after'")),
        },
        "delay" => Reaction::Delay(Duration::try_from_secs_f64(value.extract()?).map_err(|_| invalid())?),
        "throttle" => Reaction::Throttle(value.extract()?),
        "silence" => Reaction::Silence,
        "omit_partition" => Reaction::OmitPartition(value.extract()?),
        "move_leader" => Reaction::MoveLeader { to: value.extract()? },
        "corrupt_records" => Reaction::CorruptRecords,
        "truncate_frame" => Reaction::TruncateFrame,
        "bytes" => Reaction::Bytes(value.extract::<Vec<u8>>()?.into()),
        _ => return Err(invalid()),
    })
}

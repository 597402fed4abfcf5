//! `Produced`: the arguments of `produce`, and the record that is sent for them.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::field_bytes::{FieldBytes, bytes_or_none, field_bytes};
use crate::producer::delivery_groups::SentRecord;
use crate::producer::record::{OwnedRecord, RecordArgs};
use crate::producer::serializers::Serializers;

/// The arguments of `produce`.
pub(super) struct Produced<'a, 'py> {
    pub(super) topic: &'a str,
    pub(super) value: Option<&'a Bound<'py, PyAny>>,
    pub(super) key: Option<&'a Bound<'py, PyAny>>,
    /// Below zero: the partitioner chooses.
    pub(super) partition: i32,
    /// Pairs of a name and a value.
    pub(super) headers: Option<&'a Bound<'py, PyAny>>,
    /// In milliseconds since 1970; 0: now.
    pub(super) timestamp: i64,
    pub(super) callback: Option<&'a Bound<'py, PyAny>>,
}

impl Produced<'_, '_> {
    pub(super) fn partition(&self) -> Option<i32> {
        (self.partition >= 0).then_some(self.partition)
    }

    /// Returns the record to send.
    pub(super) fn record(&self) -> PyResult<OwnedRecord> {
        let Self { topic, value, key, headers, .. } = *self;
        let partition = self.partition();
        let args = RecordArgs { topic, value, key, headers, timestamp: None, partition, on_delivery: None };
        let mut record = OwnedRecord::new(&args, &Serializers::default())?;
        if self.timestamp > 0 {
            record.timestamp = self.timestamp;
        }
        Ok(record)
    }

    /// Returns what the report shows, unless there is nobody to report to.
    pub(super) fn sent(&self, py: Python<'_>, at: f64) -> PyResult<Option<Box<SentRecord>>> {
        if self.callback.is_none() {
            return Ok(None);
        }
        let (key, value) = (bytes_of(py, self.key)?, bytes_of(py, self.value)?);
        Ok(Some(Box::new(SentRecord { key, value, at })))
    }
}

/// A key or a value as bytes, as a report has it.
fn bytes_of(py: Python<'_>, data: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
    let Some(data) = data else { return Ok(py.None()) };
    if data.is_instance_of::<PyBytes>() {
        return Ok(data.clone().unbind());
    }
    let bytes = field_bytes("a message", data)?;
    Ok(bytes_or_none(py, bytes.as_ref().map(FieldBytes::as_slice)))
}

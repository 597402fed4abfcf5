//! What tests do with the transactional ids of a `MockCluster`.

use pyo3::prelude::*;

use super::{MockCluster, to_config_error};
use crate::convert::errors;
use crate::convert::number;

/// Id, state, producer id, producer epoch, partitions, groups.
type TransactionTuple = (String, String, i64, i16, Vec<(String, i32)>, Vec<String>);

/// Checks a level of the feature `transaction.version`.
pub(super) fn version(py: Python<'_>, level: Option<i16>) -> PyResult<Option<i16>> {
    match level {
        None | Some(0..=2) => Ok(level),
        Some(level) => {
            Err(errors::config(py, format!("transaction_version is {level}: expected 0 to 2, or None")))
        }
    }
}

#[pymethods]
impl MockCluster {
    /// Return the transactional ids as plain values.
    fn transactions(&self) -> PyResult<Vec<TransactionTuple>> {
        self.with(|core| {
            let plain = core.transactions().into_iter().map(|info| {
                (
                    info.transactional_id,
                    info.state,
                    info.producer_id,
                    info.producer_epoch,
                    info.partitions,
                    info.groups,
                )
            });
            Ok(plain.collect())
        })
    }

    /// Fence a producer, as a newer one with its transactional id does.
    fn fence_producer(&self, py: Python<'_>, transactional_id: &str) -> PyResult<()> {
        self.with(|core| core.fence_producer(transactional_id).map_err(|error| to_config_error(py, &error)))
    }

    /// Finalize a level of the feature ``transaction.version``.
    fn set_transaction_version(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::level)] level: i16,
    ) -> PyResult<()> {
        version(py, Some(level))?;
        self.with(|core| {
            core.set_transaction_version(level);
            Ok(())
        })
    }
}

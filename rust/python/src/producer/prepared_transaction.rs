//! `PreparedTransaction`: what another process needs to end a transaction.

use crate::convert::number;
use ottla_client::producer::PreparedTransaction as Core;
use pyo3::prelude::*;

/// A transaction whose records are acknowledged, and that any process may end.
///
/// ``Producer.prepare_transaction`` returns it, and ``Admin.end_prepared_transactions`` ends it. It
/// can be pickled.
///
/// Args:
///     transactional_id: the transactional id.
///     producer_id: the producer id.
///     producer_epoch: the producer epoch.
///     protocol: the version of the transaction protocol with which it must end, 1 or 2.
#[pyclass(frozen, get_all, eq, hash, module = "ottla")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PreparedTransaction {
    /// The transactional id.
    transactional_id: String,
    /// The producer id.
    producer_id: i64,
    /// The producer epoch.
    producer_epoch: i16,
    /// The version of the transaction protocol: 1, or 2 (KIP-890).
    protocol: u8,
}

impl From<Core> for PreparedTransaction {
    fn from(core: Core) -> Self {
        let Core { transactional_id, producer_id, producer_epoch, protocol } = core;
        Self { transactional_id, producer_id, producer_epoch, protocol }
    }
}

impl From<&PreparedTransaction> for Core {
    fn from(prepared: &PreparedTransaction) -> Self {
        Self {
            transactional_id: prepared.transactional_id.clone(),
            producer_id: prepared.producer_id,
            producer_epoch: prepared.producer_epoch,
            protocol: prepared.protocol,
        }
    }
}

#[pymethods]
impl PreparedTransaction {
    #[new]
    fn new(
        transactional_id: String,
        #[pyo3(from_py_with = number::producer_id)] producer_id: i64,
        #[pyo3(from_py_with = number::producer_epoch)] producer_epoch: i16,
        #[pyo3(from_py_with = number::protocol)] protocol: u8,
    ) -> Self {
        Self { transactional_id, producer_id, producer_epoch, protocol }
    }

    fn __getnewargs__(&self) -> (&str, i64, i16, u8) {
        (&self.transactional_id, self.producer_id, self.producer_epoch, self.protocol)
    }

    fn __repr__(&self) -> String {
        format!(
            "PreparedTransaction(transactional_id={:?}, producer_id={}, producer_epoch={}, protocol={})",
            self.transactional_id, self.producer_id, self.producer_epoch, self.protocol
        )
    }
}

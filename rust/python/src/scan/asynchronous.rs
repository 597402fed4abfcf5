//! `AsyncScanBase`: a scan for asyncio, whose batches are futures of the running loop.
//!
//! Invariant: a batch is taken only when it is delivered, so that a cancelled wait loses none.

use std::sync::Arc;

use arrow_array::RecordBatch as ArrowBatch;
use arrow_schema::SchemaRef;
use ottla_client::consumer::Scan as Core;
use parking_lot::Mutex as SyncMutex;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::log_gaps;
use crate::asyncio::{FutureResult, start};
use crate::convert::errors;
use crate::convert::record_batch::RecordBatch;
use crate::runtime::ProcessLocal;

/// A read of ranges of offsets for asyncio, which ``ottla.AsyncScan`` wraps.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct AsyncScanBase {
    schema: SchemaRef,
    source: SyncMutex<Option<ProcessLocal<Arc<Mutex<Source>>>>>,
}

/// The scan, and a batch that was read and not delivered yet.
struct Source {
    scan: Core,
    buffered: Option<ArrowBatch>,
}

impl AsyncScanBase {
    pub(crate) fn of(scan: Core) -> Self {
        let schema = scan.schema();
        let source = Arc::new(Mutex::new(Source { scan, buffered: None }));
        Self { schema, source: SyncMutex::new(Some(ProcessLocal::new(source))) }
    }

    fn source(&self) -> PyResult<Arc<Mutex<Source>>> {
        match &*self.source.lock() {
            Some(source) => Ok(Arc::clone(source.get()?)),
            None => Err(errors::closed("this scan was closed: a scan can be read once")),
        }
    }
}

#[pymethods]
impl AsyncScanBase {
    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Return the next batch, or None at the end.
    fn next<'py>(&self, py: Python<'py>) -> FutureResult<'py> {
        let source = self.source()?;
        let work = async move {
            // A wait that was cancelled before this one may hold the lock until its task has ended.
            let mut source = source.lock_owned().await;
            let failed = match &source.buffered {
                Some(_) => None,
                None => source.read().await,
            };
            Ok((source, failed))
        };
        start(py, work, |py, (mut source, failed): (OwnedMutexGuard<Source>, _)| {
            log_gaps(py, &source.scan.take_gaps())?;
            match failed {
                Some(error) => Err(errors::raise(py, &error)),
                None => source.buffered.take().map(RecordBatch).into_py_any(py),
            }
        })
    }

    /// Stop reading, and release the buffers, without waiting.
    ///
    /// Closing a scan again has no effect.
    fn close(&self) {
        drop(self.source.lock().take());
    }
}

impl Source {
    /// Reads the next batch into the buffer, and returns the error of a read that failed.
    async fn read(&mut self) -> Option<ottla_client::Error> {
        match self.scan.next_batch().await {
            Ok(batch) => {
                self.buffered = batch;
                None
            }
            Err(error) => Some(error),
        }
    }
}

//! `Scan`: a read of ranges of offsets, as a stream of Arrow batches.
//!
//! `asynchronous` is its twin for asyncio; `scan_request` checks the arguments of both. The runtime's tasks fetch chunks while the calling thread decodes earlier ones, without the GIL.

mod asynchronous;
pub(crate) mod scan_request;

use arrow_array::RecordBatch as ArrowBatch;
use arrow_schema::{ArrowError, SchemaRef};
use ottla_arrow::{Column, ExportedReader};
use ottla_client::consumer::{Gap, Scan as Core};
use parking_lot::Mutex;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tokio::sync::watch;

pub(crate) use self::asynchronous::AsyncScanBase;
pub(crate) use self::scan_request::{RangeArguments, ScanArgs, ScanRequest};
use crate::convert::errors;
use crate::convert::names::Names;
use crate::convert::record_batch::RecordBatch;
use crate::runtime::{ProcessLocal, wait};

/// Returns the requested columns in order; by default all, with `headers` only on request.
pub(crate) fn columns(py: Python<'_>, names: Option<Names>, headers: bool) -> PyResult<Vec<Column>> {
    let Some(Names(names)) = names else {
        let is_default = |column: &Column| headers || *column != Column::Headers;
        return Ok(Column::ALL.into_iter().filter(is_default).collect());
    };
    let find = |name: &String| {
        let column = Column::ALL.into_iter().find(|column| column.name() == name);
        column.ok_or_else(|| {
            let known = Column::ALL.map(Column::name).join(", ");
            errors::config(py, format!("column {name:?} does not exist: there are {known}"))
        })
    };
    let columns: Vec<Column> = names.iter().map(find).collect::<PyResult<_>>()?;
    match columns.iter().enumerate().find(|(at, column)| columns[..*at].contains(column)) {
        Some((_, duplicate)) => {
            Err(errors::config(py, format!("columns: {:?} is listed twice", duplicate.name())))
        }
        None if columns.is_empty() => Err(errors::config(py, "columns is empty: name at least one")),
        None => Ok(columns),
    }
}

/// Waits for the next batch of rows, and logs the gaps that were skipped before it. A scan that is closed meanwhile
/// has no more.
fn next_batch(
    py: Python<'_>,
    scan: &mut Core,
    closed: &mut watch::Receiver<bool>,
) -> PyResult<Option<ArrowBatch>> {
    let next = wait(py, async {
        tokio::select! {
            biased;
            // An Arrow stream outlives its scan, which nobody can close then.
            Ok(_) = closed.wait_for(|closed| *closed) => Ok(None),
            next = scan.next_batch() => next,
        }
    });
    log_gaps(py, &scan.take_gaps())?;
    next?.map_err(|error| errors::raise(py, &error))
}

/// Logs the gaps that a scan skipped.
fn log_gaps(py: Python<'_>, gaps: &[Gap]) -> PyResult<()> {
    for gap in gaps {
        let (topic, partition) = &gap.partition;
        let logger = py.import("logging")?.call_method1("getLogger", ("ottla.fetch",))?;
        let message = "%s-%d: the records from offset %d to %d are gone and were skipped";
        logger.call_method1("warning", (message, &**topic, *partition, gap.from, gap.to))?;
    }
    Ok(())
}

/// A read of ranges of offsets: an iterator of ``RecordBatch``, and an Arrow stream.
///
/// ``pyarrow.RecordBatchReader.from_stream(scan)`` reads it, as does any library that supports
/// Arrow's PyCapsule interface. It can be read once. Use it in a ``with`` block to stop reading
/// early.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Scan {
    schema: SchemaRef,
    scan: Mutex<Option<ProcessLocal<Core>>>,
    /// Ends a read in another thread.
    closed: watch::Sender<bool>,
}

impl Scan {
    pub(crate) fn of(scan: Core) -> Self {
        let closed = watch::Sender::new(false);
        Self { schema: scan.schema(), scan: Mutex::new(Some(ProcessLocal::new(scan))), closed }
    }

    fn take(&self) -> PyResult<ProcessLocal<Core>> {
        let taken = self.scan.lock().take();
        taken.ok_or_else(|| {
            errors::closed("this scan was closed, or another reader uses it: a scan can be read once")
        })
    }
}

#[pymethods]
impl Scan {
    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        // Taken out while it is read: a second reader gets an error instead of waiting.
        let mut owned = self.take()?;
        let mut closed = self.closed.subscribe();
        let next = owned.get_mut().and_then(|scan| next_batch(py, scan, &mut closed));
        let mut scan = self.scan.lock();
        if !*self.closed.borrow() {
            *scan = Some(owned);
        }
        drop(scan);
        Ok(next?.map(RecordBatch))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        ottla_capsules::schema_capsule(py, self.schema.as_ref()).map_err(|error| errors::capsule(py, error))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface leaves casts to consumers that ask for another schema.
        drop(requested_schema);
        let batches = ExportedBatches { scan: self.take()?, closed: self.closed.subscribe() };
        let reader = Box::new(ExportedReader::new(self.schema.clone(), batches));
        ottla_capsules::stream_capsule(py, reader).map_err(|error| errors::capsule(py, error))
    }

    /// Stop reading, and release the buffers. Closing a scan again has no effect.
    fn close(&self) {
        self.closed.send_replace(true);
        let scan = self.scan.lock().take();
        drop(scan);
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("Scan(columns={:?})", self.column_names())
    }
}

/// The batches of an Arrow C stream.
struct ExportedBatches {
    scan: ProcessLocal<Core>,
    closed: watch::Receiver<bool>,
}

impl Iterator for ExportedBatches {
    type Item = Result<ArrowBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The reader may or may not hold the GIL; attaching first makes detaching right for both.
        let batch = Python::try_attach(|py| {
            let next = self.scan.get_mut().and_then(|scan| next_batch(py, scan, &mut self.closed));
            next.map_err(|error| {
                // The stream interface carries text only.
                let message = error.to_string();
                // Signal the interrupt again, for Python to raise as soon as it runs; after
                // `to_string`, which would otherwise raise and lose it.
                if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    simulate_interrupt(py);
                }
                message
            })
        });
        match batch {
            Some(Ok(batch)) => batch.map(Ok),
            Some(Err(message)) => Some(Err(ArrowError::ExternalError(message.into()))),
            None => Some(Err(ArrowError::CDataInterface("the interpreter is shutting down".to_owned()))),
        }
    }
}

/// Acts as if Ctrl-C was pressed now.
fn simulate_interrupt(py: Python<'_>) {
    let interrupted = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
    if let Err(error) = interrupted {
        error.write_unraisable(py, None);
    }
}

//! `Scan`: a read of ranges of offsets, as a stream of Arrow batches.
//!
//! The runtime's tasks fetch chunks while the calling thread decodes earlier ones, without the GIL.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch as ArrowBatch, StructArray};
use arrow_schema::{ArrowError, FieldRef, SchemaRef};
use ottla_arrow::{ArrowDecoder, Column, DecoderConfig, OffsetRange, PushOptions};
use ottla_client::consumer::{Chunk, FOLLOW, Range, Scan as Core, ScanOptions};
use ottla_client::{Client, Error, Kind};
use ottla_protocol::records::AbortedTransactions;
use parking_lot::Mutex;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayReader, to_schema_pycapsule, to_stream_pycapsule};

use crate::convert::errors;
use crate::convert::record_batch::{RecordBatch, as_struct_field, undecodable};
use crate::runtime::{ProcessLocal, wait};

/// The maximum size of a fetch response in bytes: large responses cost little CPU per record, and
/// memory is bounded by a few of them.
pub(crate) const FETCH_BYTES: i32 = 8 << 20;

/// Returns the requested columns in order; by default all, with `headers` only on request.
pub(crate) fn columns(py: Python<'_>, names: Option<Vec<String>>, headers: bool) -> PyResult<Vec<Column>> {
    let Some(names) = names else {
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

/// The core's scan and its decoder; an exported Arrow stream takes it over.
struct BatchStream {
    core: Core,
    decoder: ArrowDecoder,
    read_committed: bool,
    /// Whether the scan follows the log: available rows are returned before it waits for more.
    follow: bool,
    /// Whether all chunks were decoded.
    is_drained: bool,
    /// The error that ended the scan; reading on after it would miss records.
    error: Option<Error>,
}

impl BatchStream {
    /// Returns the next batch of rows; `None` at the end. After an error, returns that error again.
    async fn next(&mut self) -> ottla_client::Result<Option<ArrowBatch>> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let next = self.decode_next().await;
        self.error = next.as_ref().err().cloned();
        next
    }

    async fn decode_next(&mut self) -> ottla_client::Result<Option<ArrowBatch>> {
        loop {
            if let Some(decoded) = self.decoder.pop() {
                return Ok(Some(decoded.batch));
            }
            if self.is_drained {
                return Ok(None);
            }
            match self.core.next().await {
                Some(chunk) => {
                    self.decode(&chunk?)?;
                    if self.follow {
                        self.flush_available()?;
                    }
                }
                None => {
                    self.is_drained = true;
                    self.flush()?;
                }
            }
        }
    }

    /// Finishes a batch from the chunks that are available.
    fn flush_available(&mut self) -> ottla_client::Result<()> {
        while self.decoder.ready_count() == 0
            && let Some(chunk) = self.core.ready()
        {
            self.decode(&chunk?)?;
        }
        self.flush()
    }

    fn flush(&mut self) -> ottla_client::Result<()> {
        self.decoder.flush().map_err(|cause| Error::new(Kind::Protocol, cause.to_string()))
    }

    /// Waits for the next batch of rows, and logs the gaps that were skipped before it.
    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        let next = wait(py, self.next());
        for gap in self.core.take_gaps() {
            let (topic, partition) = &gap.partition;
            let logger = py.import("logging")?.call_method1("getLogger", ("ottla.fetch",))?;
            let message = "%s-%d: the records from offset %d to %d are gone and were skipped";
            logger.call_method1("warning", (message, &**topic, *partition, gap.from, gap.to))?;
        }
        next?.map_err(|error| errors::raise(py, &error))
    }

    fn decode(&mut self, chunk: &Chunk) -> ottla_client::Result<()> {
        let (topic, partition) = &chunk.partition;
        let range = OffsetRange { topic, partition: *partition, start: chunk.start, end: chunk.end };
        let mut aborted =
            self.read_committed.then(|| AbortedTransactions::new(chunk.aborted.iter().copied()));
        // The core's scan has checked the CRCs already: it can fetch a corrupt batch again.
        let options = PushOptions { check_crcs: false, aborted: aborted.as_mut() };
        let pushed = self.decoder.push(&chunk.records, &range, options);
        pushed.map(drop).map_err(|error| undecodable(error).at(topic, *partition))
    }
}

/// A read of ranges of offsets: an iterator of ``RecordBatch``, and an Arrow stream.
///
/// ``pyarrow.RecordBatchReader.from_stream(scan)`` reads it, as does any library that supports
/// Arrow's PyCapsule interface. It can be read once. Use it in a ``with`` block to stop reading
/// early.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Scan {
    schema: SchemaRef,
    stream: Mutex<Option<ProcessLocal<BatchStream>>>,
}

impl Scan {
    /// Starts reading. The caller must have entered the runtime.
    pub(crate) fn start(
        client: Client,
        ranges: Vec<Range>,
        options: ScanOptions,
        columns: Vec<Column>,
        max_rows: usize,
        target_bytes: usize,
    ) -> PyResult<Self> {
        let config = DecoderConfig {
            max_rows: max_rows.max(1),
            target_bytes: target_bytes.clamp(1, 1 << 30),
            max_decompressed: client.config().decompressed_batch_max,
        };
        let decoder = ArrowDecoder::new(&columns, config);
        let schema = decoder.schema();
        let follow = ranges.iter().any(|range| range.end == FOLLOW);
        let core = Core::start(client, ranges, options);
        let stream = BatchStream {
            core,
            decoder,
            read_committed: options.read_committed,
            follow,
            is_drained: false,
            error: None,
        };
        Ok(Self { schema, stream: Mutex::new(Some(ProcessLocal::new(stream))) })
    }

    fn take(&self) -> PyResult<ProcessLocal<BatchStream>> {
        let taken = self.stream.lock().take();
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
        let next = owned.get_mut().and_then(|stream| stream.next_batch(py));
        *self.stream.lock() = Some(owned);
        Ok(next?.map(RecordBatch))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.schema.as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let exported = ArrowStreamExport { field: as_struct_field(&self.schema), stream: self.take()? };
        Ok(to_stream_pycapsule(py, Box::new(exported), requested_schema)?)
    }

    /// Stop reading, and release the buffers. Closing a scan again has no effect.
    fn close(&self) {
        drop(self.stream.lock().take());
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

/// A scan as an Arrow C stream.
struct ArrowStreamExport {
    field: FieldRef,
    stream: ProcessLocal<BatchStream>,
}

impl Iterator for ArrowStreamExport {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The reader may or may not hold the GIL; attaching first makes detaching right for both.
        let batch = Python::try_attach(|py| {
            let next = self.stream.get_mut().and_then(|stream| stream.next_batch(py));
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
            Some(Ok(batch)) => batch.map(|batch| Ok(Arc::new(StructArray::from(batch)) as ArrayRef)),
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

impl ArrayReader for ArrowStreamExport {
    fn field(&self) -> FieldRef {
        Arc::clone(&self.field)
    }
}

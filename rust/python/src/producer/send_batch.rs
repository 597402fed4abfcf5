//! `send_batch`: many records in one call, from lists or from Arrow columns.
//!
//! Rows are encoded from where they are straight into their partition's open batch. Arrow columns are
//! read without the GIL; lists need the GIL, but never wait with it.
//!
//! Invariant: wrong types are reported before anything is sent. An error of a single record (too
//! large, no such partition) fails that record alone.

use std::ops::Range;

use ottla_arrow::RecordColumns;
use ottla_client::producer::{
    AppendResult, BufferReservation, Producer, Record, SendResult, TopicWriter, now_millis,
};
use ottla_client::{Error, Kind};
use ottla_protocol::records::Header;
use pyo3::prelude::*;

use crate::convert::errors;
use crate::producer::arrow_rows::{all_columns, pairs, speaks_arrow};
use crate::producer::batch_args::BatchArgs;
use crate::producer::batch_delivery::BatchDelivery;
use crate::producer::hooks::Hooks;
use crate::producer::intercepted_rows::{self, AsyncRowSender};
use crate::producer::list_rows::{ListRows, check_lists};
use crate::producer::owned_rows::OwnedRows;
use crate::producer::producer_handle::ProducerHandle;
use crate::producer::record::OwnedRecord;
use crate::producer::row_results::{RowResults, error_at_row};
use crate::producer::serializers::Serializers;
use crate::runtime::wait_for;
use crate::typed::{SchemaIdHeaders, batch_encoders};

/// All rows, checked and ready to be sent.
pub(crate) enum Rows<'a, 'py> {
    /// Read row by row while they are sent, with the highest partition among them.
    Lists(&'a BatchArgs<'a, 'py>, Option<i32>),
    /// Already read and serialized, or Arrow columns.
    Owned(OwnedRows),
}

impl<'a, 'py> Rows<'a, 'py> {
    /// Checks all arguments, and runs interceptors and serializers.
    pub(crate) fn new(py: Python<'py>, args: &'a BatchArgs<'a, 'py>, hooks: &Hooks) -> PyResult<Self> {
        if speaks_arrow(args.values)? {
            if hooks.interceptors.is_some() {
                let message = "interceptors take Python records, not Arrow columns: pass lists, or use a producer without interceptors";
                return Err(errors::config(py, message));
            }
            let (key, value) = hooks.serializers.formats();
            let key = args.key_format.map(|key| key.get()).or(key);
            let value = args.value_format.map(|value| value.get()).or(value);
            let encoders = batch_encoders(py, key, value)?;
            let pairs = pairs(py, args, !encoders.are_none())?;
            if !encoders.are_none() {
                return Ok(Self::Owned(OwnedRows::Typed(pairs, encoders)));
            }
            all_columns(&pairs).map_err(|error| errors::config(py, error.to_string()))?;
            return Ok(Self::Owned(OwnedRows::Arrow(pairs, SchemaIdHeaders::default())));
        }
        if args.key_format.is_some() || args.value_format.is_some() {
            let message = "key_format and value_format encode Arrow columns: for lists, pass formats to the producer as serializers";
            return Err(errors::config(py, message));
        }
        let highest = check_lists(py, args, hooks)?;
        let Hooks { interceptors, serializers, partitioner } = hooks;
        if interceptors.is_none() && serializers.are_none() && partitioner.is_none() {
            return Ok(Self::Lists(args, highest));
        }
        // All rows first: a serialization error is reported before anything is sent.
        let mut rows = Vec::new();
        for row in ListRows::new(args, serializers, interceptors.as_ref())? {
            match row {
                Ok(row) => rows.push(row),
                Err(error) => {
                    intercepted_rows::report_unsent(py, args.topic, rows, &error)?;
                    return Err(error);
                }
            }
        }
        let variant = if interceptors.is_some() { OwnedRows::Intercepted } else { OwnedRows::Lists };
        Ok(Self::Owned(variant(rows)))
    }

    /// The highest partition that a row names.
    pub(crate) fn highest_partition(&self) -> Option<i32> {
        match self {
            Self::Lists(_, highest) => *highest,
            Self::Owned(rows) => rows.highest_partition(),
        }
    }

    /// Sends all rows; returns when all are in the buffer. An error carries the delivery of the
    /// accepted ones.
    pub(crate) fn send(
        self,
        py: Python<'py>,
        handle: &ProducerHandle,
        topic: &str,
        writer: &TopicWriter,
    ) -> PyResult<RowResults> {
        let mut results = RowResults::default();
        match self.send_into(&mut results, py, handle, topic, writer) {
            Ok(()) => Ok(results),
            Err(error) => {
                let accepted = results.count();
                Err(errors::with_partial_delivery(py, error, accepted, BatchDelivery::from(results)))
            }
        }
    }

    fn send_into(
        self,
        results: &mut RowResults,
        py: Python<'py>,
        handle: &ProducerHandle,
        topic: &str,
        writer: &TopicWriter,
    ) -> PyResult<()> {
        let core = &handle.core;
        match self {
            Self::Lists(args, _) => {
                let plain = Serializers::default();
                send_lists(py, core, writer, ListRows::new(args, &plain, None)?, results)
            }
            Self::Owned(OwnedRows::Lists(rows)) => {
                send_lists(py, core, writer, rows.into_iter().map(Ok), results)
            }
            Self::Owned(OwnedRows::Intercepted(rows)) => {
                intercepted_rows::send(py, handle, topic, writer, rows, results)
            }
            Self::Owned(OwnedRows::Typed(..)) => {
                Err(errors::config(py, "columns were sent before they were encoded"))
            }
            Self::Owned(OwnedRows::Arrow(pairs, schema_ids)) => {
                let all = all_columns(&pairs).map_err(|error| errors::config(py, error.to_string()))?;
                let mut all = all.iter().map(|columns| ColumnRows::new(columns, &schema_ids));
                all.try_for_each(|rows| send_columns(py, core, writer, &rows, results))
            }
        }
    }

    /// The same rows, to be sent without the GIL.
    pub(crate) fn owned(self) -> PyResult<OwnedRows> {
        match self {
            Self::Lists(args, _) => {
                let plain = Serializers::default();
                let rows = ListRows::new(args, &plain, None)?;
                Ok(OwnedRows::Lists(rows.collect::<PyResult<_>>()?))
            }
            Self::Owned(rows) => Ok(rows),
        }
    }
}

/// The number of rows that a task sends before it yields.
const ROWS_AT_ONCE: usize = 1000;
/// The number of list rows to read before sending them.
const ROWS_READ: usize = 128;

impl OwnedRows {
    /// Sends all rows; returns when all are in the buffer. With an error come the results of the
    /// accepted ones.
    pub(crate) async fn send(
        self,
        core: &Producer,
        writer: &TopicWriter,
        row_sender: &AsyncRowSender,
    ) -> (RowResults, ottla_client::Result<()>) {
        let mut results = RowResults::default();
        let sent = self.send_into(&mut results, core, writer, row_sender).await;
        (results, sent)
    }

    async fn send_into(
        self,
        results: &mut RowResults,
        core: &Producer,
        writer: &TopicWriter,
        row_sender: &AsyncRowSender,
    ) -> ottla_client::Result<()> {
        match self {
            Self::Intercepted(rows) => row_sender.send(core, writer, rows, results).await?,
            Self::Lists(rows) => {
                send_parts(core, results, rows.len(), |part, results, reservation| {
                    append_rows(core, writer, &rows, part, results, reservation)
                })
                .await?;
            }
            Self::Typed(..) => {
                return Err(Error::new(Kind::Internal, "columns were sent before they were encoded"));
            }
            Self::Arrow(pairs, schema_ids) => {
                let all = all_columns(&pairs).map_err(|error| Error::new(Kind::Config, error.to_string()))?;
                for columns in &all {
                    let rows = ColumnRows::new(columns, &schema_ids);
                    let append = |part: Range<usize>, results: &mut RowResults, reservation| {
                        append_columns(core, writer, &rows, part, results, reservation)
                    };
                    send_parts(core, results, columns.len(), append).await?;
                }
            }
        }
        Ok(())
    }
}

/// The rows of a batch that were not appended yet, in order.
struct RemainingRows<'a, F> {
    results: &'a mut RowResults,
    /// The number of results before the first row.
    first: usize,
    count: usize,
    /// Appends rows until the buffer is full, and returns the bytes that the next row needs.
    append: F,
}

impl<F> RemainingRows<'_, F>
where
    F: FnMut(Range<usize>, &mut RowResults, Option<BufferReservation>) -> ottla_client::Result<Option<usize>>,
{
    fn next(&self) -> usize {
        self.results.count() - self.first
    }

    /// Appends at most `at_once` rows. It is accepted unless the first of them lacks memory: each row may wait
    /// for `max.block.ms`.
    fn attempt(
        &mut self,
        at_once: usize,
        reservation: Option<BufferReservation>,
    ) -> ottla_client::Result<SendResult<()>> {
        let from = self.next();
        let part = from..self.count.min(from.saturating_add(at_once));
        let lacking = (self.append)(part, self.results, reservation)?;
        Ok(match lacking {
            Some(bytes) if self.next() == from => SendResult::BufferFull(bytes),
            _ => SendResult::Accepted(()),
        })
    }

    /// Appends all rows, some at a time, and waits for buffer memory when necessary.
    async fn send(&mut self, core: &Producer) -> ottla_client::Result<()> {
        while self.next() < self.count {
            let attempt = |reservation| self.attempt(ROWS_AT_ONCE, reservation);
            let sent = core.append_when_free(None, attempt).await;
            sent.map_err(|error| error_at_row(self.results.count(), error))?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

/// Sends `count` rows, and waits for buffer memory when necessary.
async fn send_parts(
    core: &Producer,
    results: &mut RowResults,
    count: usize,
    append: impl FnMut(
        Range<usize>,
        &mut RowResults,
        Option<BufferReservation>,
    ) -> ottla_client::Result<Option<usize>>,
) -> ottla_client::Result<()> {
    let first = results.count();
    RemainingRows { results, first, count, append }.send(core).await
}

/// Appends rows until the buffer is full, and returns the bytes that the next row needs. Must not
/// call Python, because it holds locks.
fn append_rows(
    core: &Producer,
    writer: &TopicWriter,
    rows: &[OwnedRecord],
    part: Range<usize>,
    results: &mut RowResults,
    reservation: Option<BufferReservation>,
) -> ottla_client::Result<Option<usize>> {
    let mut appender = core.appender(writer, reservation);
    for row in rows.get(part).unwrap_or_default() {
        match row.append(&mut appender) {
            Ok(AppendResult::BufferFull(bytes)) => return Ok(Some(bytes)),
            Ok(AppendResult::Accepted(batch, index)) => results.push_accepted(batch, index),
            Err(error) => results.push_rejected(core, writer, error)?,
        }
    }
    Ok(None)
}

/// The rows of some columns, whose headers name the schemas of what was encoded.
struct ColumnRows<'a> {
    columns: &'a RecordColumns<'a>,
    schema_ids: &'a SchemaIdHeaders,
    now: i64,
}

impl<'a> ColumnRows<'a> {
    fn new(columns: &'a RecordColumns<'a>, schema_ids: &'a SchemaIdHeaders) -> Self {
        Self { columns, schema_ids, now: now_millis() }
    }
}

/// As [`append_rows`], for columns.
fn append_columns(
    core: &Producer,
    writer: &TopicWriter,
    &ColumnRows { columns, schema_ids, now }: &ColumnRows<'_>,
    part: Range<usize>,
    results: &mut RowResults,
    reservation: Option<BufferReservation>,
) -> ottla_client::Result<Option<usize>> {
    let mut appender = core.appender(writer, reservation);
    let mut headers: Vec<Header<'_>> = Vec::new();
    for at in part {
        let Some(row) = columns.row(at) else { break };
        columns.headers(at, &mut headers);
        schema_ids.apply(&mut headers, row.key, row.value);
        let timestamp = row.timestamp.unwrap_or(now);
        let record = Record { timestamp, key: row.key, value: row.value, headers: &headers };
        match appender.send(row.partition, &record) {
            Ok(AppendResult::BufferFull(bytes)) => return Ok(Some(bytes)),
            Ok(AppendResult::Accepted(batch, index)) => results.push_accepted(batch, index),
            Err(error) => results.push_rejected(core, writer, error)?,
        }
    }
    Ok(None)
}

fn send_columns(
    py: Python<'_>,
    core: &Producer,
    writer: &TopicWriter,
    rows: &ColumnRows<'_>,
    results: &mut RowResults,
) -> PyResult<()> {
    let append = |part: Range<usize>, results: &mut RowResults, reservation| {
        append_columns(core, writer, rows, part, results, reservation)
    };
    send_all(py, core, results, rows.columns.len(), append)
}

/// Sends `count` rows without the GIL, and waits for buffer memory when necessary.
fn send_all(
    py: Python<'_>,
    core: &Producer,
    results: &mut RowResults,
    count: usize,
    append: impl FnMut(
        Range<usize>,
        &mut RowResults,
        Option<BufferReservation>,
    ) -> ottla_client::Result<Option<usize>>
    + Send,
) -> PyResult<()> {
    let first = results.count();
    let mut rows = RemainingRows { results, first, count, append };
    let appended = py.detach(|| rows.attempt(usize::MAX, None));
    appended.map_err(|error| errors::raise(py, &error_at_row(rows.results.count(), error)))?;
    // Mostly the buffer has space for all.
    if rows.next() == count { Ok(()) } else { wait_for(py, rows.send(core)) }
}

fn send_lists(
    py: Python<'_>,
    core: &Producer,
    writer: &TopicWriter,
    mut rows: impl Iterator<Item = PyResult<OwnedRecord>>,
    results: &mut RowResults,
) -> PyResult<()> {
    let mut some = Vec::with_capacity(ROWS_READ);
    loop {
        some.clear();
        // Read first and append later: Python code that runs in between must not find locks held.
        let read = rows.by_ref().take(ROWS_READ).try_for_each(|row| row.map(|row| some.push(row)));
        send_all(py, core, results, some.len(), |part, results, reservation| {
            append_rows(core, writer, &some, part, results, reservation)
        })?;
        read?;
        if some.len() < ROWS_READ {
            return Ok(());
        }
    }
}

//! `Producer.send_batch`: many records in one call, from lists or from Arrow columns.
//!
//! Rows go straight from where they are into their partition's open batch. Arrow columns are read
//! without the GIL; lists are read with it, but never waited with.
//!
//! Invariant: what is wrong with the types of what was given is told before anything is sent; what
//! is wrong with a single record (too large, no such partition) fails that record alone.

use std::ops::Range;

use ottla_arrow::Columns;
use ottla_client::producer::{Appended, Producer, Record, Room, Target, now_millis};
use ottla_client::{Error, Kind};
use ottla_protocol::records::Header;
use pyo3::prelude::*;
use tokio::time::Instant;

use crate::convert::errors;
use crate::convert::record::OwnedRecord;
use crate::producer::arrow_rows::{Pair, all_columns, pairs, speaks_arrow};
use crate::producer::batch_delivery::BatchDelivery;
use crate::producer::hooks::Hooks;
use crate::producer::intercepted_rows::{self, Told};
use crate::producer::list_rows::{ListRows, check_lists};
use crate::producer::producer_handle::Engine;
use crate::producer::row_results::Runs;
use crate::producer::serializers::Serializers;
use crate::runtime::wait;

/// What the caller gave.
pub(crate) struct Given<'a, 'py> {
    pub(crate) topic: &'a str,
    pub(crate) values: &'a Bound<'py, PyAny>,
    pub(crate) keys: Option<&'a Bound<'py, PyAny>>,
    pub(crate) headers: Option<&'a Bound<'py, PyAny>>,
    pub(crate) timestamps: Option<&'a Bound<'py, PyAny>>,
    pub(crate) partitions: Option<&'a Bound<'py, PyAny>>,
}

/// All rows, looked through and ready to be sent.
pub(crate) enum Rows<'a, 'py> {
    /// Read row by row as they are sent; the highest partition among them.
    Lists(&'a Given<'a, 'py>, Option<i32>),
    Owned(OwnedRows),
}

impl<'a, 'py> Rows<'a, 'py> {
    /// Looks through all that was given, and has it serialized.
    pub(crate) fn new(py: Python<'py>, given: &'a Given<'a, 'py>, hooks: &Hooks) -> PyResult<Self> {
        if speaks_arrow(given.values)? {
            if hooks.interceptors.is_some() {
                let words = "interceptors see records of Python, not columns of Arrow: pass lists, or use a producer without interceptors";
                return Err(errors::config(py, words));
            }
            let pairs = pairs(py, given)?;
            all_columns(&pairs).map_err(|error| errors::config(py, error.to_string()))?;
            return Ok(Self::Owned(OwnedRows::Arrow(pairs)));
        }
        let highest = check_lists(py, given, hooks)?;
        let Hooks { interceptors, serializers, partitioner } = hooks;
        if interceptors.is_none() && serializers.are_none() && partitioner.is_none() {
            return Ok(Self::Lists(given, highest));
        }
        // All of them first: what cannot be serialized is told before anything is sent.
        let mut rows = Vec::new();
        for row in ListRows::new(given, serializers, interceptors.as_ref())? {
            match row {
                Ok(row) => rows.push(row),
                Err(error) => {
                    intercepted_rows::refuse(py, given.topic, rows, &error)?;
                    return Err(error);
                }
            }
        }
        let made = if interceptors.is_some() { OwnedRows::Told } else { OwnedRows::Lists };
        Ok(Self::Owned(made(rows)))
    }

    /// The highest partition that a row names.
    pub(crate) fn highest_partition(&self) -> Option<i32> {
        match self {
            Self::Lists(_, highest) => *highest,
            Self::Owned(OwnedRows::Lists(rows) | OwnedRows::Told(rows)) => {
                rows.iter().filter_map(|row| row.partition).max()
            }
            Self::Owned(OwnedRows::Arrow(pairs)) => {
                let all = all_columns(pairs).unwrap_or_default();
                all.iter().filter_map(Columns::highest_partition).max()
            }
        }
    }

    /// Sends all; returns when all are in the buffer. An error has the promise of those that are.
    pub(crate) fn send(
        self,
        py: Python<'py>,
        engine: &Engine,
        topic: &str,
        target: &Target,
    ) -> PyResult<Runs> {
        let mut runs = Runs::default();
        match self.send_into(&mut runs, py, engine, topic, target) {
            Ok(()) => Ok(runs),
            Err(error) => {
                let accepted = runs.count();
                Err(errors::with_partial_delivery(py, error, accepted, BatchDelivery::from(runs)))
            }
        }
    }

    fn send_into(
        self,
        runs: &mut Runs,
        py: Python<'py>,
        engine: &Engine,
        topic: &str,
        target: &Target,
    ) -> PyResult<()> {
        let core = &engine.core;
        match self {
            Self::Lists(given, _) => {
                let plain = Serializers::default();
                send_lists(py, core, target, ListRows::new(given, &plain, None)?, runs)
            }
            Self::Owned(OwnedRows::Lists(rows)) => {
                send_lists(py, core, target, rows.into_iter().map(Ok), runs)
            }
            Self::Owned(OwnedRows::Told(rows)) => {
                intercepted_rows::send(py, engine, topic, target, rows, runs)
            }
            Self::Owned(OwnedRows::Arrow(pairs)) => {
                let all = all_columns(&pairs).map_err(|error| errors::config(py, error.to_string()))?;
                all.iter().try_for_each(|columns| send_columns(py, core, target, columns, runs))
            }
        }
    }

    /// The same rows, to be sent without the GIL.
    pub(crate) fn owned(self) -> PyResult<OwnedRows> {
        match self {
            Self::Lists(given, _) => {
                let plain = Serializers::default();
                let rows = ListRows::new(given, &plain, None)?;
                Ok(OwnedRows::Lists(rows.collect::<PyResult<_>>()?))
            }
            Self::Owned(rows) => Ok(rows),
        }
    }
}

/// Rows that need no GIL.
pub(crate) enum OwnedRows {
    Arrow(Vec<Pair>),
    Lists(Vec<OwnedRecord>),
    /// Interceptors are told of each.
    Told(Vec<OwnedRecord>),
}

/// So many rows are sent before a task lets others run.
const ROWS_AT_ONCE: usize = 1000;
/// So many rows of a list are read before they are sent.
const ROWS_READ: usize = 128;

impl OwnedRows {
    /// The rows that are told of, if there are such.
    pub(crate) fn told(self) -> Vec<OwnedRecord> {
        match self {
            Self::Told(rows) => rows,
            Self::Arrow(_) | Self::Lists(_) => Vec::new(),
        }
    }

    /// Sends all; returns when all are in the buffer, or with an error and the fates of those that are.
    pub(crate) async fn send(
        self,
        core: &Producer,
        target: &Target,
        told: &Told,
    ) -> (Runs, ottla_client::Result<()>) {
        let mut runs = Runs::default();
        let sent = self.send_into(&mut runs, core, target, told).await;
        (runs, sent)
    }

    async fn send_into(
        self,
        runs: &mut Runs,
        core: &Producer,
        target: &Target,
        told: &Told,
    ) -> ottla_client::Result<()> {
        match self {
            Self::Told(rows) => told.send(core, target, rows, runs).await?,
            Self::Lists(rows) => {
                send_parts(core, runs, rows.len(), |part, runs, room| {
                    append_rows(core, target, &rows, part, runs, room)
                })
                .await?;
            }
            Self::Arrow(pairs) => {
                let all = all_columns(&pairs).map_err(|error| Error::new(Kind::Config, error.to_string()))?;
                for columns in &all {
                    let now = now_millis();
                    let append = |part: Range<usize>, runs: &mut Runs, room| {
                        append_columns(core, target, columns, now, part, runs, room)
                    };
                    send_parts(core, runs, columns.len(), append).await?;
                }
            }
        }
        Ok(())
    }
}

/// Sends `count` rows, some at a time, and waits for room where there is none.
async fn send_parts(
    core: &Producer,
    runs: &mut Runs,
    count: usize,
    append: impl Fn(Range<usize>, &mut Runs, Option<Room>) -> ottla_client::Result<Option<usize>>,
) -> ottla_client::Result<()> {
    let (first, end) = (runs.count(), runs.count() + count);
    // Until when the row that found no room may wait, and what it got.
    let (mut waits, mut room) = (None, None);
    while runs.count() < end {
        let row = runs.count();
        let from = row - first;
        let stopped = append(from..count.min(from + ROWS_AT_ONCE), runs, room.take());
        let row = runs.count();
        match stopped.map_err(|error| cut_short(row, error))? {
            None => tokio::task::yield_now().await,
            Some(bytes) => {
                let deadline = deadline(&mut waits, core, row);
                room = Some(core.room_for(bytes, deadline).await.map_err(|error| cut_short(row, error))?);
            }
        }
    }
    Ok(())
}

/// Until when a row may wait for room, in all.
fn deadline(waits: &mut Option<(usize, Instant)>, core: &Producer, row: usize) -> Instant {
    match *waits {
        Some((of, deadline)) if of == row => deadline,
        _ => waits.insert((row, core.blocks_until())).1,
    }
}

/// Appends these rows until one finds no room: how many bytes it needs. Calls nothing of Python's, since
/// it holds locks.
fn append_rows(
    core: &Producer,
    target: &Target,
    rows: &[OwnedRecord],
    part: Range<usize>,
    runs: &mut Runs,
    room: Option<Room>,
) -> ottla_client::Result<Option<usize>> {
    let mut appender = core.appender(target, room);
    for row in rows.get(part).unwrap_or_default() {
        match row.append(&mut appender) {
            Ok(Appended::Full(bytes)) => return Ok(Some(bytes)),
            Ok(Appended::Accepted(batch, index)) => runs.push(batch, index),
            Err(error) => runs.refuse(core, target, error)?,
        }
    }
    Ok(None)
}

/// As [`append_rows`], of columns.
fn append_columns(
    core: &Producer,
    target: &Target,
    columns: &Columns<'_>,
    now: i64,
    part: Range<usize>,
    runs: &mut Runs,
    room: Option<Room>,
) -> ottla_client::Result<Option<usize>> {
    let mut appender = core.appender(target, room);
    let mut headers: Vec<Header<'_>> = Vec::new();
    for at in part {
        let Some(fields) = columns.row(at) else { break };
        columns.headers(at, &mut headers);
        let timestamp = fields.timestamp.unwrap_or(now);
        let record = Record { timestamp, key: fields.key, value: fields.value, headers: &headers };
        match appender.send(fields.partition, &record) {
            Ok(Appended::Full(bytes)) => return Ok(Some(bytes)),
            Ok(Appended::Accepted(batch, index)) => runs.push(batch, index),
            Err(error) => runs.refuse(core, target, error)?,
        }
    }
    Ok(None)
}

/// The error of a call that ends before its last row.
pub(crate) fn cut_short(row: usize, error: Error) -> Error {
    error.because(format_args!("at index {row}; the records before it are under way"))
}

fn send_columns(
    py: Python<'_>,
    core: &Producer,
    target: &Target,
    columns: &Columns<'_>,
    runs: &mut Runs,
) -> PyResult<()> {
    let now = now_millis();
    let append = |part, runs: &mut Runs, room| {
        // Until the buffer is full, without the GIL; then wait and go on.
        py.detach(|| append_columns(core, target, columns, now, part, runs, room))
    };
    send_all(py, core, runs, columns.len(), append)
}

/// Sends `count` rows, and waits for room where there is none.
fn send_all(
    py: Python<'_>,
    core: &Producer,
    runs: &mut Runs,
    count: usize,
    append: impl Fn(Range<usize>, &mut Runs, Option<Room>) -> ottla_client::Result<Option<usize>>,
) -> PyResult<()> {
    let first = runs.count();
    let (mut waits, mut room) = (None, None);
    while runs.count() < first + count {
        let stopped = append(runs.count() - first..count, runs, room.take());
        let row = runs.count();
        if let Some(bytes) = stopped.map_err(|error| errors::raise(py, &cut_short(row, error)))? {
            let deadline = deadline(&mut waits, core, row);
            let waited = wait(py, core.room_for(bytes, deadline))?;
            room = Some(waited.map_err(|error| errors::raise(py, &cut_short(row, error)))?);
        }
    }
    Ok(())
}

fn send_lists(
    py: Python<'_>,
    core: &Producer,
    target: &Target,
    mut rows: impl Iterator<Item = PyResult<OwnedRecord>>,
    runs: &mut Runs,
) -> PyResult<()> {
    let mut some = Vec::with_capacity(ROWS_READ);
    loop {
        some.clear();
        // Read first and appended then: what Python does meanwhile must find no lock taken.
        let read = rows.by_ref().take(ROWS_READ).try_for_each(|row| row.map(|row| some.push(row)));
        send_all(py, core, runs, some.len(), |part, runs, room| {
            append_rows(core, target, &some, part, runs, room)
        })?;
        read?;
        if some.len() < ROWS_READ {
            return Ok(());
        }
    }
}

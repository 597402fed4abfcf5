//! Rows of a `send_batch` whose interceptors are told of each: sent one by one.
//!
//! Invariant: of each row that is passed here its `on_delivery` is called once: when it is known what
//! became of it, or with the reason why it is not sent.

use std::sync::Arc;

use ottla_client::Error;
use ottla_client::producer::{Delivery, Producer, Sent, Target};
use pyo3::prelude::*;

use crate::asyncio::{LoopQueue, report_to_loop};
use crate::convert::errors;
use crate::convert::record::OwnedRecord;
use crate::producer::delivery::RecordMetadata;
use crate::producer::delivery_groups::{Groups, refused};
use crate::producer::producer_handle::Engine;
use crate::producer::row_results::Runs;
use crate::producer::send_batch::cut_short;
use crate::runtime::wait_for;

/// Sends all; returns when all are in the buffer.
pub(crate) fn send(
    py: Python<'_>,
    engine: &Engine,
    topic: &str,
    target: &Target,
    rows: Vec<OwnedRecord>,
    runs: &mut Runs,
) -> PyResult<()> {
    let mut rows = rows.into_iter();
    while let Some(mut row) = rows.next() {
        if let Err(error) = send_row(py, engine, topic, target, &mut row, runs) {
            refuse(py, topic, [row].into_iter().chain(rows), &error)?;
            return Err(error);
        }
    }
    Ok(())
}

/// Sends a row; an error concerns those after it, too.
fn send_row(
    py: Python<'_>,
    engine: &Engine,
    topic: &str,
    target: &Target,
    fields: &mut OwnedRecord,
    runs: &mut Runs,
) -> PyResult<()> {
    let core = &engine.core;
    let row = runs.count();
    let mut deadline = None;
    let mut until = || *deadline.get_or_insert_with(|| core.blocks_until());
    let place = engine.place(py, &mut until)?;
    let mut room = None;
    loop {
        match fields.try_send(core, target, room.take()) {
            Ok(Sent::Accepted(delivery)) => {
                runs.push(&delivery.completion, delivery.index);
                if let Some(told) = fields.on_delivery.take() {
                    place.take(delivery, fields.timestamp, told);
                }
                return Ok(());
            }
            Ok(Sent::Full(bytes)) => {
                let wait =
                    async { core.room_for(bytes, until()).await.map_err(|error| cut_short(row, error)) };
                room = Some(wait_for(py, wait)?);
            }
            Err(error) => {
                let alone = errors::raise(py, &error);
                runs.refuse(core, target, error)
                    .map_err(|error| errors::raise(py, &cut_short(row, error)))?;
                let told = fields.on_delivery.take();
                let metadata = RecordMetadata::nowhere(&topic.into(), fields.partition, fields.timestamp);
                return told.map_or(Ok(()), |told| refused(py, &told, metadata, &alone));
            }
        }
    }
}

/// Tells those who want to know of a row that it is not sent.
pub(crate) fn refuse(
    py: Python<'_>,
    topic: &str,
    rows: impl IntoIterator<Item = OwnedRecord>,
    error: &PyErr,
) -> PyResult<()> {
    for row in rows {
        if let Some(told) = &row.on_delivery {
            let metadata = RecordMetadata::nowhere(&topic.into(), row.partition, row.timestamp);
            refused(py, told, metadata, error)?;
        }
    }
    Ok(())
}

/// Where asyncio is told of rows.
pub(crate) struct Told {
    pub(crate) topic: Arc<str>,
    pub(crate) groups: Arc<Groups>,
    pub(crate) loop_queue: Arc<LoopQueue>,
}

impl Told {
    /// Sends all; returns when all are in the buffer.
    pub(crate) async fn send(
        &self,
        core: &Producer,
        target: &Target,
        rows: Vec<OwnedRecord>,
        runs: &mut Runs,
    ) -> ottla_client::Result<()> {
        let mut rows = rows.into_iter();
        while let Some(mut row) = rows.next() {
            match append(core, target, &row, runs).await {
                Ok(Ok(delivery)) => {
                    let told = (None, row.on_delivery.take());
                    self.groups.add(delivery, row.timestamp, told, &self.loop_queue);
                }
                Ok(Err(error)) => self.refuse(vec![row], error),
                Err(error) => {
                    self.refuse([row].into_iter().chain(rows).collect(), error.clone());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Tells that rows are not sent.
    pub(crate) fn refuse(&self, rows: Vec<OwnedRecord>, error: Error) {
        let topic = Arc::clone(&self.topic);
        self.loop_queue.call_soon(move |py| {
            let error = errors::raise(py, &error);
            if let Err(raised) = refuse(py, &topic, rows, &error) {
                report_to_loop(py, "an interceptor cannot be told of a record", raised);
            }
        });
    }
}

/// Sends a row, or says why it alone cannot be sent. An error concerns those after it, too.
async fn append(
    core: &Producer,
    target: &Target,
    fields: &OwnedRecord,
    runs: &mut Runs,
) -> ottla_client::Result<ottla_client::Result<Delivery>> {
    let row = runs.count();
    let mut deadline = None;
    let mut room = None;
    loop {
        match fields.try_send(core, target, room.take()) {
            Ok(Sent::Accepted(delivery)) => {
                runs.push(&delivery.completion, delivery.index);
                return Ok(Ok(delivery));
            }
            Ok(Sent::Full(bytes)) => {
                let deadline = *deadline.get_or_insert_with(|| core.blocks_until());
                room = Some(core.room_for(bytes, deadline).await.map_err(|error| cut_short(row, error))?);
            }
            Err(error) => {
                runs.refuse(core, target, error.clone()).map_err(|error| cut_short(row, error))?;
                return Ok(Err(error));
            }
        }
    }
}

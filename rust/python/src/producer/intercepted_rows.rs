//! Rows of a `send_batch` with interceptors: sent one by one, because each has an `on_delivery`.
//!
//! Invariant: the `on_delivery` of each row is called once: with the record's result, or with the
//! reason why it was not sent.

use std::sync::Arc;

use ottla_client::Error;
use ottla_client::producer::{BufferReservation, Delivery, Producer, SendResult, TopicWriter};
use pyo3::prelude::*;

use crate::asyncio::{LoopQueue, report_to_loop};
use crate::convert::errors;
use crate::producer::delivery_groups::{DeliveryGroups, report_rejected};
use crate::producer::producer_handle::ProducerHandle;
use crate::producer::record::OwnedRecord;
use crate::producer::record_metadata::RecordMetadata;
use crate::producer::row_results::RowResults;
use crate::producer::row_results::error_at_row;
use crate::runtime::wait_for;

/// Sends all rows; returns when all are in the buffer.
pub(crate) fn send(
    py: Python<'_>,
    handle: &ProducerHandle,
    topic: &str,
    writer: &TopicWriter,
    rows: Vec<OwnedRecord>,
    results: &mut RowResults,
) -> PyResult<()> {
    let mut rows = rows.into_iter();
    while let Some(mut row) = rows.next() {
        if let Err(error) = send_row(py, handle, topic, writer, &mut row, results) {
            report_unsent(py, topic, [row].into_iter().chain(rows), &error)?;
            return Err(error);
        }
    }
    Ok(())
}

/// Sends one row. An error also ends the rows after it.
fn send_row(
    py: Python<'_>,
    handle: &ProducerHandle,
    topic: &str,
    writer: &TopicWriter,
    row: &mut OwnedRecord,
    results: &mut RowResults,
) -> PyResult<()> {
    let core = &handle.core;
    let index = results.count();
    let mut deadline = None;
    let permit =
        handle.callback_permit(py, &mut || *deadline.get_or_insert_with(|| core.max_block_deadline()))?;
    let attempt = |reservation| attempt_row(core, writer, row, reservation);
    let sent = match attempt(None) {
        SendResult::Accepted(sent) => sent,
        SendResult::BufferFull(bytes) => {
            let sent = core.append_after(bytes, deadline, |reservation| Ok(attempt(reservation)));
            wait_for(py, async { sent.await.map_err(|error| error_at_row(index, error)) })?
        }
    };
    match sent {
        Ok(delivery) => {
            results.push_accepted(&delivery.produce_result, delivery.index);
            if let Some(on_delivery) = row.on_delivery.take() {
                permit.register(delivery, row.timestamp, on_delivery);
            }
            Ok(())
        }
        Err(error) => {
            let alone = errors::raise(py, &error);
            results
                .push_rejected(core, writer, error)
                .map_err(|error| errors::raise(py, &error_at_row(index, error)))?;
            let on_delivery = row.on_delivery.take();
            let metadata = RecordMetadata::unsent(&topic.into(), row.partition, row.timestamp);
            on_delivery.map_or(Ok(()), |on_delivery| report_rejected(py, &on_delivery, metadata, &alone))
        }
    }
}

/// Tries to send one row, whose own error is a result.
fn attempt_row(
    core: &Producer,
    writer: &TopicWriter,
    row: &OwnedRecord,
    reservation: Option<BufferReservation>,
) -> SendResult<ottla_client::Result<Delivery>> {
    match row.try_send(core, writer, reservation) {
        Ok(SendResult::Accepted(delivery)) => SendResult::Accepted(Ok(delivery)),
        Ok(SendResult::BufferFull(bytes)) => SendResult::BufferFull(bytes),
        Err(error) => SendResult::Accepted(Err(error)),
    }
}

/// Reports to the interceptors that rows are not sent.
pub(crate) fn report_unsent(
    py: Python<'_>,
    topic: &str,
    rows: impl IntoIterator<Item = OwnedRecord>,
    error: &PyErr,
) -> PyResult<()> {
    for row in rows {
        if let Some(on_delivery) = &row.on_delivery {
            let metadata = RecordMetadata::unsent(&topic.into(), row.partition, row.timestamp);
            report_rejected(py, on_delivery, metadata, error)?;
        }
    }
    Ok(())
}

/// Sends intercepted rows for asyncio, and notifies the interceptors on the loop's thread.
pub(crate) struct AsyncRowSender {
    pub(crate) topic: Arc<str>,
    pub(crate) groups: Arc<DeliveryGroups>,
    pub(crate) loop_queue: Arc<LoopQueue>,
}

impl AsyncRowSender {
    /// Sends all rows; returns when all are in the buffer.
    pub(crate) async fn send(
        &self,
        core: &Producer,
        writer: &TopicWriter,
        rows: Vec<OwnedRecord>,
        results: &mut RowResults,
    ) -> ottla_client::Result<()> {
        let mut rows = rows.into_iter();
        while let Some(mut row) = rows.next() {
            match append(core, writer, &row, results).await {
                Ok(Ok(delivery)) => {
                    let on_delivery = (None, row.on_delivery.take());
                    self.groups.add(delivery, row.timestamp, on_delivery, &self.loop_queue);
                }
                Ok(Err(error)) => self.report_unsent(vec![row], error),
                Err(error) => {
                    self.report_unsent([row].into_iter().chain(rows).collect(), error.clone());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Reports that rows are not sent.
    pub(crate) fn report_unsent(&self, rows: Vec<OwnedRecord>, error: Error) {
        let topic = Arc::clone(&self.topic);
        self.loop_queue.call_soon(move |py| {
            let error = errors::raise(py, &error);
            if let Err(raised) = report_unsent(py, &topic, rows, &error) {
                report_to_loop(py, "cannot report a record to the interceptors", raised);
            }
        });
    }
}

/// Sends one row; the inner error concerns this row alone, the outer one also the rows after it.
async fn append(
    core: &Producer,
    writer: &TopicWriter,
    row: &OwnedRecord,
    results: &mut RowResults,
) -> ottla_client::Result<ottla_client::Result<Delivery>> {
    let index = results.count();
    let attempt = |reservation| Ok(attempt_row(core, writer, row, reservation));
    let sent = core.append_when_free(None, attempt).await.map_err(|error| error_at_row(index, error))?;
    match &sent {
        Ok(delivery) => results.push_accepted(&delivery.produce_result, delivery.index),
        Err(error) => {
            results.push_rejected(core, writer, error.clone()).map_err(|error| error_at_row(index, error))?
        }
    }
    Ok(sent)
}

//! Records that somebody wants to hear of, by batch: futures of asyncio and callbacks.
//!
//! Invariants: whoever wants to hear of a record is told once. Those of a partition are told in the
//! order of its batches, whatever the order in which these are done. The futures of a batch are filled
//! together, so that a loop is woken once a batch and not once a record.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use ottla_client::Result;
use ottla_client::producer::{Completion, Delivery, Written};
use parking_lot::Mutex;
use pyo3::intern;
use pyo3::prelude::*;

use crate::asyncio::failed_futures::FailedFutures;
use crate::asyncio::{LoopQueue, complete, report_to_loop};
use crate::convert::errors;
use crate::producer::delivery::{Delivery as PyDelivery, RecordMetadata};

/// Who is told what became of records, a batch at a time.
pub(crate) trait Sink: Send + Sync + 'static {
    /// A batch is done: told once, on any thread, which must not wait.
    fn done(&self, group: Group);
}

/// The records of one batch that one sink is told of.
pub(crate) struct Group {
    completion: Arc<Completion>,
    pub(crate) records: Vec<Awaited>,
    is_done: bool,
    /// Where futures go that have got an error.
    failed: Arc<FailedFutures>,
}

/// A record, and who awaits it.
pub(crate) struct Awaited {
    pub(crate) future: Option<Py<PyAny>>,
    pub(crate) on_delivery: Option<Py<PyAny>>,
    /// Of a callback that `add_done_callback` was given: what it is called with.
    pub(crate) delivery: Option<Py<PyDelivery>>,
    index: usize,
    timestamp: i64,
}

/// What `on_delivery` is told: the error, if it failed, and where it is.
pub(crate) type Report = (Option<Py<PyAny>>, RecordMetadata);

/// Tells, of a record that was never in a batch, why.
pub(crate) fn refused(
    py: Python<'_>,
    on_delivery: &Py<PyAny>,
    metadata: RecordMetadata,
    error: &PyErr,
) -> PyResult<()> {
    on_delivery.call1(py, (error.value(py), metadata)).map(drop)
}

/// What is told of a record of a batch that is done.
pub(crate) fn report(py: Python<'_>, completion: &Completion, awaited: &Awaited) -> PyResult<Report> {
    let metadata = |written| RecordMetadata::new(completion, written, awaited.timestamp);
    match completion.settled(awaited.index) {
        Ok(written) => Ok((None, metadata(written))),
        Err(error) => {
            completion.mark_seen(awaited.index, awaited.index + 1);
            Ok((Some(errors::value(py, &error)?), metadata(Written::UNKNOWN)))
        }
    }
}

impl Group {
    /// Of one record whose delivery a callback is called with, whatever other records there are.
    pub(crate) fn of_one(promise: &Delivery, callback: Py<PyAny>, delivery: Py<PyDelivery>) -> Self {
        let (on_delivery, delivery) = (Some(callback), Some(delivery));
        let awaited = Awaited { future: None, on_delivery, delivery, index: promise.index, timestamp: -1 };
        let (completion, failed) = (Arc::clone(&promise.completion), Arc::default());
        Self { completion, records: vec![awaited], is_done: true, failed }
    }

    pub(crate) fn completion(&self) -> &Arc<Completion> {
        &self.completion
    }

    /// Fills the futures and calls the callbacks, on the loop's thread.
    fn fill(self, py: Python<'_>) {
        for awaited in self.records {
            if let Some(callback) = &awaited.on_delivery {
                let called = report(py, &self.completion, &awaited)
                    .and_then(|(error, metadata)| callback.call1(py, (error, metadata)));
                if let Err(error) = called {
                    report_to_loop(py, "on_delivery raised", error);
                }
            }
            let Some(future) = awaited.future else { continue };
            let result: Result<RecordMetadata> = self
                .completion
                .settled(awaited.index)
                .map(|written| RecordMetadata::new(&self.completion, written, awaited.timestamp));
            let failed = result.as_ref().err().cloned();
            let result = match result {
                Ok(metadata) => Py::new(py, metadata).map(Py::into_any),
                Err(error) => Err(errors::raise(py, &error)),
            };
            complete(future.bind(py), result);
            let Some(error) = failed else { continue };
            self.completion.mark_seen(awaited.index, awaited.index + 1);
            if awaited.on_delivery.is_some() {
                // It was told, so asyncio need not complain that nobody asked the future.
                let _ = future.call_method0(py, intern!(py, "exception"));
            } else {
                self.failed.push(future, error);
            }
        }
    }
}

impl Sink for LoopQueue {
    fn done(&self, group: Group) {
        self.call_soon(move |py| group.fill(py));
    }
}

/// A partition, as a sink hears of it: the addresses of the sink and of the topic's name, and the
/// number. Both live for as long as there is a batch of it here, so nobody else has their addresses.
type Line = (usize, usize, i32);

/// The batches that somebody waits for, those of a partition in their order.
#[derive(Default)]
pub(crate) struct Groups {
    lines: Mutex<HashMap<Line, VecDeque<Group>>>,
    pub(crate) failed: Arc<FailedFutures>,
}

impl Groups {
    /// Has `sink` told when the record's batch is done, and those before it.
    pub(crate) fn add<S: Sink>(
        self: &Arc<Self>,
        delivery: Delivery,
        timestamp: i64,
        (future, on_delivery): (Option<Py<PyAny>>, Option<Py<PyAny>>),
        sink: &Arc<S>,
    ) {
        let Delivery { completion, index } = delivery;
        let (topic, partition) = completion.partition();
        let line = (Arc::as_ptr(sink).addr(), Arc::as_ptr(topic).addr(), *partition);
        let awaited = Awaited { future, on_delivery, delivery: None, index, timestamp };
        let mut lines = self.lines.lock();
        let groups = lines.entry(line).or_default();
        let same = |group: &&mut Group| Arc::ptr_eq(&group.completion, &completion);
        if let Some(group) = groups.iter_mut().rev().find(same) {
            // Its turn has not come: it is taken out of here first.
            return group.records.push(awaited);
        }
        let records = vec![awaited];
        let failed = Arc::clone(&self.failed);
        groups.push_back(Group { completion: Arc::clone(&completion), records, is_done: false, failed });
        drop(lines);
        let (groups, sink, batch) = (Arc::clone(self), Arc::clone(sink), Arc::as_ptr(&completion).addr());
        completion.on_done(move || groups.done(line, batch, &*sink));
    }

    fn done(&self, line: Line, batch: usize, sink: &impl Sink) {
        let mut lines = self.lines.lock();
        let Entry::Occupied(mut groups) = lines.entry(line) else { return };
        let is_it = |group: &&mut Group| Arc::as_ptr(&group.completion).addr() == batch;
        if let Some(group) = groups.get_mut().iter_mut().find(is_it) {
            group.is_done = true;
        }
        // Told under the lock, or another thread could tell of a later batch first.
        while groups.get().front().is_some_and(|group| group.is_done)
            && let Some(group) = groups.get_mut().pop_front()
        {
            sink.done(group);
        }
        if groups.get().is_empty() {
            groups.remove();
        }
    }
}

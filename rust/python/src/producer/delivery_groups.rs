//! Asyncio futures and callbacks that wait for records, grouped by batch.
//!
//! Invariants: each waiter is notified once. Notifications of a partition come in the order of its
//! batches, whatever order they complete in. The futures of a batch complete together, so a loop
//! wakes once per batch and not once per record.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use ottla_client::Result;
use ottla_client::producer::{AppendInfo, Delivery, ProduceResult};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::{PyVisit, intern};

use crate::asyncio::failed_futures::FailedFutures;
use crate::asyncio::{LoopQueue, complete, report_to_loop};
use crate::convert::{callback, errors};
use crate::garbage::{Traverse, Visited};
use crate::producer::record_metadata::RecordMetadata;

/// Receives the completed groups of batches: the loop's loop_queue, or the callback queue.
pub(crate) trait GroupReceiver: Send + Sync + 'static {
    /// Called once for each batch, on any thread. It must not block.
    fn on_group_done(&self, group: DeliveryGroup);
}

/// The waiters of one receiver for one batch.
pub(crate) struct DeliveryGroup {
    produce_result: Arc<ProduceResult>,
    pub(crate) waiters: Vec<RecordWaiter>,
    is_done: bool,
    /// Where futures that got an error are registered.
    failed: Arc<FailedFutures>,
}

/// A future or callback that waits for a record.
pub(crate) struct RecordWaiter {
    pub(crate) future: Option<Py<PyAny>>,
    pub(crate) on_delivery: Option<Py<PyAny>>,
    /// The argument of a callback of `add_done_callback`.
    pub(crate) py_delivery: Option<Py<PyAny>>,
    /// What a report shows of the record besides its place in the log.
    pub(crate) sent: Option<Box<SentRecord>>,
    /// The record's index in its batch.
    pub(crate) index: usize,
    pub(crate) timestamp: i64,
}

/// The key and the value of a record, and when it was sent: Python objects that exist anyway, so that a record which
/// waits adds nothing that Python's garbage collector would look at.
pub(crate) struct SentRecord {
    pub(crate) key: Py<PyAny>,
    pub(crate) value: Py<PyAny>,
    /// In seconds.
    pub(crate) at: f64,
}

impl Traverse for RecordWaiter {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        [&self.future, &self.on_delivery, &self.py_delivery]
            .into_iter()
            .try_for_each(|one| one.traverse(visit))?;
        match &self.sent {
            Some(sent) => sent.key.traverse(visit).and_then(|()| sent.value.traverse(visit)),
            None => Ok(()),
        }
    }
}

impl Traverse for DeliveryGroup {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.waiters.traverse(visit)
    }
}

/// The arguments of `on_delivery`: the error, if the record failed, and its metadata.
pub(crate) type CallbackArgs = (Option<Py<PyAny>>, RecordMetadata);

/// Calls `on_delivery` for a record that was never in a batch.
pub(crate) fn report_rejected(
    py: Python<'_>,
    on_delivery: &Py<PyAny>,
    metadata: RecordMetadata,
    error: &PyErr,
) -> PyResult<()> {
    callback::ended(on_delivery.bind(py).call1((error.value(py), metadata))?.as_any())
}

/// The arguments of `on_delivery` for a record of a completed batch.
pub(crate) fn callback_args(
    py: Python<'_>,
    produce_result: &ProduceResult,
    waiter: &RecordWaiter,
) -> PyResult<CallbackArgs> {
    let metadata = |written| RecordMetadata::new(produce_result, written, waiter.timestamp);
    match produce_result.final_result(waiter.index) {
        Ok(written) => Ok((None, metadata(written))),
        Err(error) => {
            produce_result.mark_observed(waiter.index, waiter.index + 1);
            Ok((Some(errors::value(py, &error)?), metadata(AppendInfo::UNKNOWN)))
        }
    }
}

impl DeliveryGroup {
    /// A group for one callback that gets the delivery, independent of other records.
    pub(crate) fn of_one(delivery: &Delivery, callback: Py<PyAny>, py_delivery: Py<PyAny>) -> Self {
        let waiter = RecordWaiter {
            future: None,
            on_delivery: Some(callback),
            py_delivery: Some(py_delivery),
            sent: None,
            index: delivery.index,
            timestamp: -1,
        };
        let (produce_result, failed) = (Arc::clone(&delivery.produce_result), Arc::default());
        Self { produce_result, waiters: vec![waiter], is_done: true, failed }
    }

    pub(crate) fn produce_result(&self) -> &Arc<ProduceResult> {
        &self.produce_result
    }

    /// Completes the futures and calls the callbacks, on the loop's thread.
    fn complete(self, py: Python<'_>) {
        for waiter in self.waiters {
            if let Some(callback) = &waiter.on_delivery {
                let called = callback_args(py, &self.produce_result, &waiter)
                    .and_then(|(error, metadata)| callback.bind(py).call1((error, metadata)))
                    .and_then(|returned| callback::ended(&returned));
                if let Err(error) = called {
                    report_to_loop(py, "on_delivery raised", error);
                }
            }
            let Some(future) = waiter.future else { continue };
            let result: Result<RecordMetadata> = self
                .produce_result
                .final_result(waiter.index)
                .map(|written| RecordMetadata::new(&self.produce_result, written, waiter.timestamp));
            let failed = result.as_ref().err().cloned();
            let result = match result {
                Ok(metadata) => Py::new(py, metadata).map(Py::into_any),
                Err(error) => Err(errors::raise(py, &error)),
            };
            complete(future.bind(py), result);
            let Some(error) = failed else { continue };
            self.produce_result.mark_observed(waiter.index, waiter.index + 1);
            if waiter.on_delivery.is_some() {
                // The callback got the error, so asyncio must not warn that the future's exception
                // was never retrieved.
                let _ = future.call_method0(py, intern!(py, "exception"));
            } else {
                self.failed.push(future, error);
            }
        }
    }
}

impl GroupReceiver for LoopQueue {
    fn on_group_done(&self, group: DeliveryGroup) {
        self.call_soon(move |py| group.complete(py));
    }
}

/// A partition of a receiver: the addresses of the receiver and of the topic's name, and the
/// partition's index. The receiver and the name live as long as the map has a batch of them, so their
/// addresses are unique.
type PartitionKey = (usize, usize, i32);

/// The batches that have waiters, in order for each partition.
#[derive(Default)]
pub(crate) struct DeliveryGroups {
    partitions: Mutex<HashMap<PartitionKey, VecDeque<DeliveryGroup>>>,
    pub(crate) failed: Arc<FailedFutures>,
}

impl DeliveryGroups {
    /// Adds a waiter for a record: `receiver` gets it once the record's batch and those before it are
    /// done.
    pub(crate) fn add<S: GroupReceiver>(
        self: &Arc<Self>,
        delivery: Delivery,
        timestamp: i64,
        waiters: (Option<Py<PyAny>>, Option<Py<PyAny>>),
        receiver: &Arc<S>,
    ) {
        self.add_with(delivery, timestamp, waiters, None, receiver);
    }

    /// Adds a waiter with what its report shows.
    pub(crate) fn add_with<S: GroupReceiver>(
        self: &Arc<Self>,
        delivery: Delivery,
        timestamp: i64,
        (future, on_delivery): (Option<Py<PyAny>>, Option<Py<PyAny>>),
        sent: Option<Box<SentRecord>>,
        receiver: &Arc<S>,
    ) {
        let Delivery { produce_result, index } = delivery;
        let (topic, partition) = produce_result.partition();
        let key = (Arc::as_ptr(receiver).addr(), Arc::as_ptr(topic).addr(), *partition);
        let waiter = RecordWaiter { future, on_delivery, py_delivery: None, sent, index, timestamp };
        let mut partitions = self.partitions.lock();
        let groups = partitions.entry(key).or_default();
        let same = |group: &&mut DeliveryGroup| Arc::ptr_eq(&group.produce_result, &produce_result);
        if let Some(group) = groups.iter_mut().rev().find(same) {
            // The group was not delivered yet: that removes it from the queue first.
            return group.waiters.push(waiter);
        }
        let waiters = vec![waiter];
        let failed = Arc::clone(&self.failed);
        groups.push_back(DeliveryGroup {
            produce_result: Arc::clone(&produce_result),
            waiters,
            is_done: false,
            failed,
        });
        drop(partitions);
        let (groups, receiver, batch) =
            (Arc::clone(self), Arc::clone(receiver), Arc::as_ptr(&produce_result).addr());
        produce_result.on_done(move || groups.done(key, batch, &*receiver));
    }

    fn done(&self, key: PartitionKey, batch: usize, receiver: &impl GroupReceiver) {
        let mut partitions = self.partitions.lock();
        let Entry::Occupied(mut groups) = partitions.entry(key) else { return };
        let is_this_batch = |group: &&mut DeliveryGroup| Arc::as_ptr(&group.produce_result).addr() == batch;
        if let Some(group) = groups.get_mut().iter_mut().find(is_this_batch) {
            group.is_done = true;
        }
        // Delivered under the lock: otherwise another thread could deliver a later batch first.
        while groups.get().front().is_some_and(|group| group.is_done)
            && let Some(group) = groups.get_mut().pop_front()
        {
            receiver.on_group_done(group);
        }
        if groups.get().is_empty() {
            groups.remove();
        }
    }
}

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
use ottla_client::producer::{AppendInfo, Delivery, ProduceResult};
use parking_lot::Mutex;
use pyo3::intern;
use pyo3::prelude::*;

use crate::asyncio::failed_futures::FailedFutures;
use crate::asyncio::{Mailbox, report_to_loop, settle};
use crate::convert::errors;
use crate::producer::record_metadata::RecordMetadata;

/// Who is told what became of records, a batch at a time.
pub(crate) trait GroupReceiver: Send + Sync + 'static {
    /// A batch is done: told once, on any thread, which must not wait.
    fn on_group_done(&self, group: DeliveryGroup);
}

/// The records of one batch that one receiver is told of.
pub(crate) struct DeliveryGroup {
    produce_result: Arc<ProduceResult>,
    pub(crate) waiters: Vec<RecordWaiter>,
    is_done: bool,
    /// Where futures go that have got an error.
    failed: Arc<FailedFutures>,
}

/// A record, and who awaits it.
pub(crate) struct RecordWaiter {
    pub(crate) future: Option<Py<PyAny>>,
    pub(crate) on_delivery: Option<Py<PyAny>>,
    /// Of a callback that `add_done_callback` was given: what it is called with.
    pub(crate) py_delivery: Option<Py<PyAny>>,
    index: usize,
    timestamp: i64,
}

/// What `on_delivery` is told: the error, if it failed, and where it is.
pub(crate) type CallbackArgs = (Option<Py<PyAny>>, RecordMetadata);

/// Tells, of a record that was never in a batch, why.
pub(crate) fn report_rejected(
    py: Python<'_>,
    on_delivery: &Py<PyAny>,
    metadata: RecordMetadata,
    error: &PyErr,
) -> PyResult<()> {
    on_delivery.call1(py, (error.value(py), metadata)).map(drop)
}

/// What is told of a record of a batch that is done.
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
    /// Of one record whose delivery a callback is called with, whatever other records there are.
    pub(crate) fn of_one(delivery: &Delivery, callback: Py<PyAny>, py_delivery: Py<PyAny>) -> Self {
        let waiter = RecordWaiter {
            future: None,
            on_delivery: Some(callback),
            py_delivery: Some(py_delivery),
            index: delivery.index,
            timestamp: -1,
        };
        let (produce_result, failed) = (Arc::clone(&delivery.produce_result), Arc::default());
        Self { produce_result, waiters: vec![waiter], is_done: true, failed }
    }

    pub(crate) fn produce_result(&self) -> &Arc<ProduceResult> {
        &self.produce_result
    }

    /// Fills the futures and calls the callbacks, on the loop's thread.
    fn complete(self, py: Python<'_>) {
        for waiter in self.waiters {
            if let Some(callback) = &waiter.on_delivery {
                let called = callback_args(py, &self.produce_result, &waiter)
                    .and_then(|(error, metadata)| callback.call1(py, (error, metadata)));
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
            settle(future.bind(py), result);
            let Some(error) = failed else { continue };
            self.produce_result.mark_observed(waiter.index, waiter.index + 1);
            if waiter.on_delivery.is_some() {
                // It was told, so asyncio need not complain that nobody asked the future.
                let _ = future.call_method0(py, intern!(py, "exception"));
            } else {
                self.failed.push(future, error);
            }
        }
    }
}

impl GroupReceiver for Mailbox {
    fn on_group_done(&self, group: DeliveryGroup) {
        self.post(move |py| group.complete(py));
    }
}

/// A partition, as a receiver hears of it: the addresses of the receiver and of the topic's name, and the
/// number. Both live for as long as there is a batch of it here, so nobody else has their addresses.
type PartitionKey = (usize, usize, i32);

/// The batches that somebody waits for, those of a partition in their order.
#[derive(Default)]
pub(crate) struct DeliveryGroups {
    partitions: Mutex<HashMap<PartitionKey, VecDeque<DeliveryGroup>>>,
    pub(crate) failed: Arc<FailedFutures>,
}

impl DeliveryGroups {
    /// Has `receiver` told when the record's batch is done, and those before it.
    pub(crate) fn add<S: GroupReceiver>(
        self: &Arc<Self>,
        delivery: Delivery,
        timestamp: i64,
        (future, on_delivery): (Option<Py<PyAny>>, Option<Py<PyAny>>),
        receiver: &Arc<S>,
    ) {
        let Delivery { produce_result, index } = delivery;
        let (topic, partition) = produce_result.partition();
        let key = (Arc::as_ptr(receiver).addr(), Arc::as_ptr(topic).addr(), *partition);
        let waiter = RecordWaiter { future, on_delivery, py_delivery: None, index, timestamp };
        let mut partitions = self.partitions.lock();
        let groups = partitions.entry(key).or_default();
        let same = |group: &&mut DeliveryGroup| Arc::ptr_eq(&group.produce_result, &produce_result);
        if let Some(group) = groups.iter_mut().rev().find(same) {
            // Its turn has not come: it is taken out of here first.
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
        let is_it = |group: &&mut DeliveryGroup| Arc::as_ptr(&group.produce_result).addr() == batch;
        if let Some(group) = groups.get_mut().iter_mut().find(is_it) {
            group.is_done = true;
        }
        // Told under the lock, or another thread could tell of a later batch first.
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

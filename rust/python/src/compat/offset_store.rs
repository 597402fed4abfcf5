//! `OffsetStore`: the offsets that a consumer of `ottla.compat.confluent_kafka` has returned, stored and committed.
//!
//! Invariants: an offset is stored only for a partition that is assigned; what is committed by itself was stored
//! before; a stored offset at or below the committed one is not committed again. Markers of transactions and aborted
//! records are passed once a poll has found nothing else, never a record that was not returned.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_client::TopicPartition;
use ottla_client::group_offsets::CommittedOffset;
use parking_lot::Mutex;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::consumer::partitions::{self, to_dict};
use crate::consumer::{Consumer, OffsetAndMetadata};
use crate::garbage::Visited;

/// The offsets of one partition; `None` where there is none yet.
#[derive(Default, Clone)]
struct Offsets {
    position: Option<i64>,
    stored: Option<CommittedOffset>,
    committed: Option<i64>,
}

impl Offsets {
    fn is_due(&self) -> bool {
        let stored = self.stored.as_ref().map(|stored| stored.offset);
        stored.is_some_and(|stored| self.committed.is_none_or(|committed| stored > committed))
    }
}

/// The offsets of the assigned partitions. Any thread may use it.
///
/// Args:
///     consumer: the consumer.
///     stores: whether the offsets of returned messages are stored, for the next commit.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct OffsetStore {
    consumer: Py<Consumer>,
    stores: bool,
    partitions: Mutex<HashMap<TopicPartition, Offsets>>,
    /// Whether the last poll found no message.
    is_drained: AtomicBool,
}

impl OffsetStore {
    /// Notes that a poll has found no message.
    pub(super) fn note_drained(&self) {
        self.is_drained.store(true, Ordering::Relaxed);
    }

    /// Notes that records up to `offset` were returned to the application.
    pub(super) fn note(&self, partition: &TopicPartition, offset: i64, leader_epoch: i32) {
        self.is_drained.store(false, Ordering::Relaxed);
        let mut partitions = self.partitions.lock();
        let found = match partitions.get_mut(partition) {
            Some(found) => found,
            None => partitions.entry(partition.clone()).or_default(),
        };
        let next = offset.saturating_add(1);
        found.position = Some(next);
        if self.stores {
            let epoch = (leader_epoch >= 0).then_some(leader_epoch);
            match &mut found.stored {
                Some(stored) => (stored.offset, stored.leader_epoch) = (next, epoch),
                none => {
                    *none = Some(CommittedOffset {
                        offset: next,
                        leader_epoch: epoch,
                        ..CommittedOffset::default()
                    });
                }
            }
        }
    }

    /// Passes what follows the last messages without a message, if a poll has found nothing else.
    fn pass_unseen(&self, py: Python<'_>) {
        if !self.is_drained.load(Ordering::Relaxed) {
            return;
        }
        // A consumer that is closed has no positions.
        let Ok(handle) = self.consumer.bind(py).as_super().get().handle() else { return };
        let positions = handle.core.positions();
        let mut partitions = self.partitions.lock();
        for (partition, position) in positions {
            let Some(found) = partitions.get_mut(&partition) else { continue };
            let Some(passed) = found.position.filter(|passed| position.offset > *passed) else { continue };
            found.position = Some(position.offset);
            // What the application has stored by itself stays.
            if self.stores && found.stored.as_ref().is_some_and(|stored| stored.offset == passed) {
                found.stored = Some(position);
            }
        }
    }
}

#[pymethods]
impl OffsetStore {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        visit.call(&self.consumer)
    }

    #[new]
    fn new(consumer: Py<Consumer>, stores: bool) -> Self {
        Self { consumer, stores, partitions: Mutex::default(), is_drained: AtomicBool::new(false) }
    }

    /// Whether the last poll has found no message.
    #[getter]
    fn is_drained(&self) -> bool {
        self.is_drained.load(Ordering::Relaxed)
    }

    /// Begin with partitions that were assigned.
    fn add(&self, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let keys = partitions::partitions(keys)?;
        let mut partitions = self.partitions.lock();
        for key in keys {
            partitions.entry(key).or_default();
        }
        Ok(())
    }

    /// Forget partitions that were given up or lost.
    fn remove(&self, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let keys = partitions::partitions(keys)?;
        let mut partitions = self.partitions.lock();
        for key in &keys {
            partitions.remove(key);
        }
        Ok(())
    }

    /// Store an offset; return False if the partition is not assigned.
    fn store(&self, key: &Bound<'_, PyAny>, offset: &Bound<'_, OffsetAndMetadata>) -> PyResult<bool> {
        let key = partitions::partition(key)?;
        match self.partitions.lock().get_mut(&key) {
            Some(found) => found.stored = Some(CommittedOffset::from(offset.get())),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Return the offset after the last record that was returned, and what follows without one.
    ///
    /// None if no record was returned.
    fn position(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let key = partitions::partition(key)?;
        self.pass_unseen(py);
        Ok(self.partitions.lock().get(&key).and_then(|found| found.position))
    }

    /// Forget what was stored before a seek.
    fn sought(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = partitions::partition(key)?;
        if let Some(found) = self.partitions.lock().get_mut(&key) {
            (found.position, found.stored) = (None, None);
        }
        Ok(())
    }

    /// Note that offsets were committed.
    fn committed(&self, offsets: &Bound<'_, PyAny>) -> PyResult<()> {
        let committed = partitions::offsets(Some(offsets))?.unwrap_or_default();
        let mut partitions = self.partitions.lock();
        for (key, offset) in committed {
            if let Some(found) = partitions.get_mut(&key) {
                found.committed = Some(offset.offset);
            }
        }
        Ok(())
    }

    /// Return what was stored and is not committed yet, by partition: of some, or of all.
    #[pyo3(signature = (keys=None))]
    fn to_commit<'py>(
        &self,
        py: Python<'py>,
        keys: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let wanted: Option<HashSet<TopicPartition>> =
            keys.map(partitions::partitions).transpose()?.map(|keys| keys.into_iter().collect());
        self.pass_unseen(py);
        let due: Vec<(TopicPartition, CommittedOffset)> = {
            let partitions = self.partitions.lock();
            let is_wanted = |key: &TopicPartition| wanted.as_ref().is_none_or(|wanted| wanted.contains(key));
            let due = partitions.iter().filter(|(key, offsets)| offsets.is_due() && is_wanted(key));
            due.filter_map(|(key, offsets)| Some((key.clone(), offsets.stored.clone()?))).collect()
        };
        to_dict(py, due, |stored| Py::new(py, OffsetAndMetadata::from(stored)).map(Py::into_any))
    }

    /// Return position, stored and committed offset by partition, for statistics.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.pass_unseen(py);
        let all: Vec<_> = {
            let partitions = self.partitions.lock();
            partitions.iter().map(|(key, offsets)| (key.clone(), offsets.clone())).collect()
        };
        to_dict(py, all, |offsets| {
            let stored = offsets.stored.map(|stored| stored.offset);
            Ok((offsets.position, stored, offsets.committed).into_pyobject(py)?.into_any().unbind())
        })
    }
}

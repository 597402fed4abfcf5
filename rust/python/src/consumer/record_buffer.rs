//! Records that were taken from the core and not returned to the application yet.
//!
//! Invariants: a partition's position moves as its records are returned, and no further. Buffered
//! records become stale when the core's version changes; then they are dropped and fetched again. A
//! record that cannot be deserialized stays the next one. Ctrl-C during deserialization is raised at
//! once, and all records stay.

use std::collections::VecDeque;

use ottla_client::consumer::{Consumer, RecordSet};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::deserializers::Deserializers;
use super::record::Record;

#[derive(Default)]
pub(super) struct RecordBuffer {
    sets: VecDeque<RecordSet>,
    /// The index of the next record in the first set.
    next_index: usize,
    /// The core's version when the records were taken.
    version: u64,
    /// The topic of the first set, created on first use.
    topic: Option<Py<PyString>>,
}

impl RecordBuffer {
    /// Drops stale records; returns whether any are left.
    pub(super) fn drop_stale(&mut self, core: &Consumer) -> bool {
        if self.sets.is_empty() {
            return false;
        }
        if self.version == core.version() {
            return true;
        }
        self.discard(core);
        false
    }

    /// Drops all records; they are fetched again.
    pub(super) fn discard(&mut self, core: &Consumer) {
        if !self.sets.is_empty() {
            *self = Self::default();
            core.discard_undelivered();
        }
    }

    /// Takes at most `max_records` records from the core, if the buffer is empty.
    pub(super) fn fill(&mut self, core: &Consumer, max_records: usize) {
        if self.drop_stale(core) {
            return;
        }
        // Read before the records are taken: any later change makes them stale.
        let version = core.version();
        *self = Self { sets: core.take_records(max_records).into(), version, ..Self::default() };
    }

    /// Moves the buffer back to `slot`, in front of records that were added there meanwhile.
    pub(super) fn restore_to(mut self, slot: &mut Self) {
        let later = std::mem::take(slot);
        self.sets.extend(later.sets);
        *slot = self;
    }

    /// Returns the next records, at most `max_records`.
    pub(super) fn pop_records(
        &mut self,
        py: Python<'_>,
        core: &Consumer,
        deserializers: &Deserializers,
        max_records: usize,
    ) -> PyResult<Vec<Py<Record>>> {
        let buffered: usize = self.sets.iter().map(|set| set.entries.len()).sum();
        let mut records = Vec::with_capacity(buffered.saturating_sub(self.next_index).min(max_records));
        // The number of records returned from each set.
        let mut counts = Vec::new();
        let (mut skip, mut failed) = (self.next_index, None);
        for set in &self.sets {
            if records.len() >= max_records || failed.is_some() {
                break;
            }
            let (topic, before) = (topic(py, set).into_bound(py), records.len());
            for entry in set.entries.iter().skip(std::mem::take(&mut skip)).take(max_records - before) {
                match Record::new(&topic, set, entry, deserializers) {
                    Ok(record) => records.push(record),
                    // Raised at once: unlike an error of the record, it will not occur again.
                    Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            counts.push(records.len() - before);
        }
        for count in counts {
            self.advance(core, count);
        }
        match failed {
            Some(error) if records.is_empty() => Err(error),
            _ => Ok(records),
        }
    }

    /// Returns the next record, if there is one.
    pub(super) fn pop_record(
        &mut self,
        py: Python<'_>,
        core: &Consumer,
        deserializers: &Deserializers,
    ) -> PyResult<Option<Py<Record>>> {
        let Some(set) = self.sets.front() else { return Ok(None) };
        let Some(entry) = set.entries.get(self.next_index) else { return Ok(None) };
        let topic = self.topic.get_or_insert_with(|| topic(py, set)).bind(py);
        let record = Record::new(topic, set, entry, deserializers)?;
        self.advance(core, 1);
        Ok(Some(record))
    }

    /// Moves the position of the first set's partition past `count` more records.
    fn advance(&mut self, core: &Consumer, count: usize) {
        self.next_index += count;
        let Some(set) = self.sets.front() else { return };
        let is_exhausted = self.next_index >= set.entries.len();
        let next = match self.next_index.checked_sub(1).and_then(|last| set.entries.get(last)) {
            _ if is_exhausted => set.next,
            Some(last) => last.offset + 1,
            None => return,
        };
        core.mark_delivered(&set.partition, set.version(), next, set.leader_epoch);
        if is_exhausted {
            self.sets.pop_front();
            (self.next_index, self.topic) = (0, None);
        }
    }
}

fn topic(py: Python<'_>, set: &RecordSet) -> Py<PyString> {
    // All records of a topic share one string.
    PyString::intern(py, &set.partition.0).unbind()
}

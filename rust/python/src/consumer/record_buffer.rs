//! Records that were taken from the engine and are on their way to the program.
//!
//! Invariants: the position of a partition moves as its records are handed out, and no further. What
//! was taken is void once the engine's version has changed: it is dropped, and fetched again. A record
//! that cannot be made stays the next one. What ends the making of records, Ctrl-C say, is raised at
//! once, and they all stay.

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
    /// How many of the first set were handed out.
    next_index: usize,
    /// The engine's version when they were taken.
    version: u64,
    /// The topic of the first set, once it was needed.
    topic: Option<Py<PyString>>,
}

impl RecordBuffer {
    /// Whether there are records that may be handed out; drops those that may not be any more.
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

    /// Drops all; what was not handed out is fetched again.
    pub(super) fn discard(&mut self, core: &Consumer) {
        if !self.sets.is_empty() {
            *self = Self::default();
            core.give_back();
        }
    }

    /// Takes `max_records` records at max_records, if there are none left.
    pub(super) fn fill(&mut self, core: &Consumer, max_records: usize) {
        if self.drop_stale(core) {
            return;
        }
        // What changes from here on makes them void.
        let version = core.version();
        *self = Self { sets: core.take_records(max_records).into(), version, ..Self::default() };
    }

    /// Puts back what was taken out of a place for a while, and keeps what has come into it meanwhile.
    pub(super) fn restore_to(mut self, slot: &mut Self) {
        let later = std::mem::take(slot);
        self.sets.extend(later.sets);
        *slot = self;
    }

    /// The next records, `max_records` at max_records.
    pub(super) fn pop_records(
        &mut self,
        py: Python<'_>,
        core: &Consumer,
        deserializers: &Deserializers,
        max_records: usize,
    ) -> PyResult<Vec<Py<Record>>> {
        let buffered: usize = self.sets.iter().map(|set| set.entries.len()).sum();
        let mut records = Vec::with_capacity(buffered.saturating_sub(self.next_index).min(max_records));
        // How many of each set.
        let mut made = Vec::new();
        let (mut skip, mut failed) = (self.next_index, None);
        for set in &self.sets {
            if records.len() >= max_records || failed.is_some() {
                break;
            }
            let (topic, before) = (topic(py, set).into_bound(py), records.len());
            for entry in set.entries.iter().skip(std::mem::take(&mut skip)).take(max_records - before) {
                match Record::new(&topic, set, entry, deserializers) {
                    Ok(record) => records.push(record),
                    // It does not come again with the next call, as what a record is to blame for does.
                    Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            made.push(records.len() - before);
        }
        for count in made {
            self.advance(core, count);
        }
        match failed {
            Some(error) if records.is_empty() => Err(error),
            _ => Ok(records),
        }
    }

    /// The next record.
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
        core.handed_out(&set.partition, set.version(), next, set.leader_epoch);
        if is_exhausted {
            self.sets.pop_front();
            (self.next_index, self.topic) = (0, None);
        }
    }
}

fn topic(py: Python<'_>, set: &RecordSet) -> Py<PyString> {
    // All records of a topic share the text.
    PyString::intern(py, &set.partition.0).unbind()
}

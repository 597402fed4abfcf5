//! What a consumer is assigned, and where it is in each partition. No I/O; the time is given.
//!
//! Invariants: the position moves only past what was handed out and past offsets that hold nothing
//! for the application. What is fetched goes on exactly where the last fetch ended. Whatever was
//! asked for before a seek, a pause or a new assignment changes nothing when it comes: each such
//! change gives the partition a new version, and answers carry the version they were asked under.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use crate::consumer::completed_fetch::Prefetched;
use crate::consumer::partition_state::{Phase, Slot, Standing};
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// The assigned partitions.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    slots: HashMap<TopicPartition, Slot>,
    /// One entry for each prefetched piece, in the order of their coming.
    ready: VecDeque<TopicPartition>,
    /// Partitions with an error for the application.
    troubled: VecDeque<TopicPartition>,
    /// Bytes that are prefetched.
    buffered: usize,
    /// Read without the lock, record by record.
    versions: Arc<AtomicU64>,
    turns: u64,
}

impl Assignment {
    /// The partitions, in no order.
    pub(super) fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.slots.keys()
    }

    pub(super) fn slots(&mut self) -> impl Iterator<Item = (&TopicPartition, &mut Slot)> {
        self.slots.iter_mut()
    }

    pub(super) fn slot(&mut self, partition: &TopicPartition) -> Option<&mut Slot> {
        self.slots.get_mut(partition)
    }

    /// A partition's slot if it is still what it was when `version` was current.
    pub(super) fn current(&mut self, partition: &TopicPartition, version: u64) -> Option<&mut Slot> {
        self.slots.get_mut(partition).filter(|slot| slot.version == version)
    }

    /// The slot of a partition that the application names.
    pub(super) fn assigned(&mut self, partition: &TopicPartition) -> Result<&mut Slot> {
        match self.slots.get_mut(partition) {
            Some(slot) => Ok(slot),
            None => Err(Error::new(Kind::State, "this partition is not assigned to this consumer")
                .at(&partition.0, partition.1)),
        }
    }

    /// Grows with each change after which what was taken and not handed out is void.
    pub(super) fn versions(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.versions)
    }

    fn next_version(&mut self) -> u64 {
        self.versions.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Adds partitions that start as `phase` says; those that are there stay as they are.
    pub(super) fn add(&mut self, partitions: impl IntoIterator<Item = TopicPartition>, phase: Phase) {
        for partition in partitions {
            let version = self.next_version();
            if let Entry::Vacant(vacant) = self.slots.entry(partition) {
                vacant.insert(Slot::new(version, phase));
            }
        }
    }

    /// Partitions of which something was taken and not handed out.
    pub(super) fn held(&self) -> impl Iterator<Item = &TopicPartition> {
        let held = self.slots.iter().filter(|(_, slot)| slot.taken != slot.position.offset);
        held.map(|(partition, _)| partition)
    }

    /// Takes partitions away, with all that was fetched of them.
    pub(super) fn remove(&mut self, partitions: &[TopicPartition]) {
        for partition in partitions {
            if let Some(mut slot) = self.slots.remove(partition) {
                self.buffered -= slot.drain();
            }
        }
        // In one pass: there may be a hundred thousand of them.
        self.ready.retain(|ready| self.slots.contains_key(ready));
        self.troubled.retain(|troubled| self.slots.contains_key(troubled));
        self.next_version();
    }

    /// Makes `partitions` the whole assignment.
    pub(super) fn replace(&mut self, partitions: Vec<TopicPartition>, phase: Phase) {
        let wanted: HashSet<&TopicPartition> = partitions.iter().collect();
        let gone: Vec<_> = self.slots.keys().filter(|known| !wanted.contains(known)).cloned().collect();
        self.remove(&gone);
        self.add(partitions, phase);
    }

    /// Goes on at `to`, whatever was known, asked or fetched before.
    pub(super) fn seek(&mut self, partition: &TopicPartition, to: Phase, at: Standing) -> Result<()> {
        self.assigned(partition)?;
        self.drop_prefetched(partition);
        self.troubled.retain(|troubled| troubled != partition);
        let version = self.next_version();
        let slot = self.assigned(partition)?;
        slot.restart(version, to, at);
        Ok(())
    }

    /// As [`Assignment::seek`], within the same log.
    pub(super) fn go_on(&mut self, partition: &TopicPartition, to: Phase, at: Standing) {
        let Some(topic_id) = self.slots.get(partition).map(|slot| slot.topic_id) else { return };
        if self.seek(partition, to, at).is_ok()
            && let Some(slot) = self.slots.get_mut(partition)
        {
            slot.topic_id = topic_id;
        }
    }

    /// Gives back what was taken or prefetched and not handed out: it is fetched again.
    pub(super) fn give_back(&mut self, partition: &TopicPartition) {
        let Some(slot) = self.slots.get(partition) else { return };
        let phase = match slot.phase {
            // Nothing is left that would be handed out first: where that was fetched from is asked anew.
            Phase::OutOfRange => Phase::Fetch,
            phase @ (Phase::Fetch | Phase::Validate) => phase,
            _ => return,
        };
        self.go_on(partition, phase, slot.position);
    }

    /// Stops or resumes handing out and fetching.
    pub(super) fn pause(&mut self, partition: &TopicPartition, paused: bool) -> Result<()> {
        let slot = self.assigned(partition)?;
        let held = slot.taken != slot.position.offset;
        slot.pause(paused);
        if held && paused {
            self.give_back(partition);
        }
        Ok(())
    }

    fn drop_prefetched(&mut self, partition: &TopicPartition) {
        if let Some(slot) = self.slots.get_mut(partition) {
            let pieces = slot.drain();
            self.buffered -= pieces;
            self.ready.retain(|ready| ready != partition);
        }
    }

    /// Makes room by dropping what is prefetched of paused partitions; it is fetched again when they go
    /// on. What was taken of others stays what it is.
    pub(super) fn drop_held_back(&mut self) {
        let mut dropped = HashSet::new();
        for (partition, slot) in self.slots.iter_mut().filter(|(_, slot)| slot.is_held_back()) {
            self.buffered -= slot.drain();
            slot.rewind();
            dropped.insert(partition);
        }
        self.ready.retain(|ready| !dropped.contains(ready));
    }

    /// Whether there is a piece that may be handed out.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.iter().any(|partition| self.slots.get(partition).is_some_and(Slot::is_readable))
    }

    /// Bytes that are prefetched.
    pub(super) fn buffered(&self) -> usize {
        self.buffered
    }

    /// Keeps a piece that goes on where the last one ended.
    pub(super) fn push(&mut self, piece: Prefetched) {
        if let Some(slot) = self.slots.get_mut(&piece.partition) {
            self.buffered += piece.records.len();
            self.ready.push_back(piece.partition.clone());
            slot.push(piece);
        }
    }

    /// Takes the oldest piece that may be handed out. The position stays until
    /// [`Assignment::handed_out`].
    pub(super) fn take(&mut self) -> Option<Prefetched> {
        let at = self
            .ready
            .iter()
            .position(|partition| self.slots.get(partition).is_some_and(Slot::is_readable))?;
        let partition = self.ready.remove(at)?;
        let piece = self.slots.get_mut(&partition)?.pop()?;
        self.buffered -= piece.records.len();
        Some(piece)
    }

    /// Puts back what is left of a piece that was just taken.
    pub(super) fn put_back(&mut self, piece: Prefetched) {
        if let Some(slot) = self.slots.get_mut(&piece.partition)
            && slot.version == piece.version
        {
            self.buffered += piece.records.len();
            self.ready.push_front(piece.partition.clone());
            slot.put_back(piece);
        }
    }

    /// Moves the position: all before `offset` was handed out.
    pub(super) fn handed_out(&mut self, partition: &TopicPartition, version: u64, to: Standing) {
        if let Some(slot) = self.current(partition, version) {
            slot.handed_out(to);
        }
    }

    /// Keeps an error for the application.
    pub(super) fn fail(&mut self, partition: &TopicPartition, error: Error) {
        if let Some(slot) = self.slots.get_mut(partition) {
            if slot.failed.is_none() {
                self.troubled.push_back(partition.clone());
            }
            slot.failed = Some(error.at(&partition.0, partition.1));
        }
    }

    /// The oldest error for the application. One that only the application can mend stays.
    pub(super) fn take_error(&mut self) -> Option<Error> {
        let partition = self.troubled.pop_front()?;
        let slot = self.slots.get_mut(&partition)?;
        if slot.phase == Phase::Stuck {
            self.troubled.push_back(partition);
            return slot.failed.clone();
        }
        slot.failed.take()
    }

    /// Notes that a partition had its turn: others go first next time.
    pub(super) fn had_turn(&mut self, partition: &TopicPartition) {
        self.turns += 1;
        if let Some(slot) = self.slots.get_mut(partition) {
            slot.turn = self.turns;
        }
    }

    /// When the first partition that rests may be asked for again.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        self.slots.values().filter_map(|slot| slot.not_before).filter(|due| *due > now).min()
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;

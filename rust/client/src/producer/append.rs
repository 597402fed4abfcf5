//! Records on their way into open batches, one or many in a row.
//!
//! Invariants: a topic's sticky choice is locked before a queue, and a queue while no other is held, so
//! that threads never wait for each other in a circle. Nothing is held for more than [`STRETCH`] bytes
//! of records. Room that was taken and not used is given back.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::accumulator::Record;
use super::partitioner::Sticky;
use super::queue::State;
use super::{Producer, Target};
use crate::error::{Error, Kind, Result};
use crate::producer::buffer_memory::Room;
use crate::producer::produce_result::Completion;

/// So many bytes are appended before others get at the locks, and so much room is taken at once.
const STRETCH: usize = 16 * 1024;

/// What came of a record.
#[derive(Debug)]
pub enum Appended<'a> {
    /// It is in a batch of which this will tell what became, at this place.
    Accepted(&'a Arc<Completion>, usize),
    /// `buffer.memory` has no room for this many bytes now: drop the appender, and wait with
    /// [`Producer::room_for`].
    Full(usize),
}

/// Sends records of one topic without waiting, and keeps hold of a partition's open batch from one
/// record to the next. Other threads wait for it meanwhile: nothing may be waited for before it is
/// dropped.
#[derive(Debug)]
pub struct Appender<'a> {
    producer: &'a Producer,
    target: &'a Target,
    sticky: Option<MutexGuard<'a, Sticky>>,
    queue: Option<(i32, MutexGuard<'a, State>)>,
    /// Bytes appended since the locks were taken.
    stretch: usize,
    /// Room is taken in steps of this many bytes.
    step: usize,
    /// Room that was taken and not used yet.
    room: usize,
    /// The sender has something to look at.
    ready: bool,
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl<'a> Appender<'a> {
    /// For one record.
    pub(super) fn single(producer: &'a Producer, target: &'a Target, room: Option<Room>) -> Self {
        Self::new(producer, target, 0, room)
    }

    /// For many records.
    pub(super) fn many(producer: &'a Producer, target: &'a Target, room: Option<Room>) -> Self {
        Self::new(producer, target, STRETCH, room)
    }

    fn new(producer: &'a Producer, target: &'a Target, step: usize, room: Option<Room>) -> Self {
        let room = room.map_or(0, Room::into_bytes);
        Self { producer, target, sticky: None, queue: None, stretch: 0, step, room, ready: false }
    }

    /// Sends a record without waiting. `partition` overrides the partitioner.
    pub fn send(&mut self, partition: Option<i32>, record: &Record<'_>) -> Result<Appended<'_>> {
        if self.stretch >= STRETCH {
            self.let_go();
        }
        let bytes = record.size();
        let (chooser, client) = (&self.target.chooser, self.producer.client());
        let fixed = partition.or_else(|| chooser.fixed(client, self.target, record));
        let index = fixed.unwrap_or_else(|| self.stick(bytes));
        let sent = self.append(index, record, bytes);
        if !matches!(sent, Ok(Some(_)))
            && fixed.is_none()
            && let Some(sticky) = &mut self.sticky
        {
            sticky.give_back(index, bytes);
        }
        if sent.is_err() {
            self.producer.accumulator().metrics.failed(&self.target.topic.name, 1);
        }
        let Some(place) = sent? else {
            self.let_go();
            self.producer.shared.wake.notify_one();
            return Ok(Appended::Full(bytes));
        };
        self.stretch += bytes;
        match self.queue.as_ref().and_then(|(_, state)| state.open.as_ref()) {
            Some(open) => Ok(Appended::Accepted(open.part.completion(), place)),
            None => Err(self.producer.accumulator().closed_error()),
        }
    }

    /// The partition that records without a fixed one go to.
    fn stick(&mut self, bytes: usize) -> i32 {
        if self.sticky.is_none() {
            self.queue = None;
        }
        let (target, client) = (self.target, self.producer.client());
        let sticky = self.sticky.get_or_insert_with(|| target.chooser.lock());
        self.queue.take_if(|(held, _)| sticky.partition() != Some(*held));
        let batch_size = client.config().batch_size;
        let has_room = |partition: i32| match &self.queue {
            Some((_, state)) => state.has_room_for(bytes, batch_size),
            None => target.queue(partition).is_some_and(|queue| {
                let state = queue.state.lock();
                state.has_room_for(bytes, batch_size)
            }),
        };
        target.chooser.stick(sticky, client, target, bytes, has_room)
    }

    /// Appends a record to a partition, and says at which place of the open batch; `None` if there is no
    /// room for it.
    fn append(&mut self, index: i32, record: &Record<'_>, bytes: usize) -> Result<Option<usize>> {
        let target = self.target;
        let accumulator = &self.producer.shared.accumulator;
        let queue = target.queue(index).ok_or_else(|| {
            let (topic, partitions) = (&target.topic.name, target.partitions());
            let words = format!(
                "partition {index} does not exist: the topic has {partitions} (0 to {})",
                partitions.saturating_sub(1)
            );
            Error::new(Kind::UnknownTopic, words).at(topic, index)
        })?;
        accumulator.check(queue, record, bytes)?;
        if !self.take_room(bytes) {
            return Ok(None);
        }
        self.queue.take_if(|(held, _)| *held != index);
        let (_, state) = self.queue.get_or_insert_with(|| (index, queue.state.lock()));
        let appended = accumulator.append(queue, state, record, bytes);
        match &appended {
            Ok((_, ready)) => self.ready |= ready,
            Err(_) => self.room += bytes,
        }
        appended.map(|(place, _)| Some(place))
    }

    /// Takes room for a record, and if there is much of it for some more.
    fn take_room(&mut self, bytes: usize) -> bool {
        let memory = &self.producer.shared.accumulator.memory;
        let missing = bytes.saturating_sub(self.room);
        if missing > 0 {
            let taken = [missing.max(self.step), missing].into_iter().find(|more| memory.try_reserve(*more));
            self.room += taken.unwrap_or_default();
        }
        match self.room.checked_sub(bytes) {
            Some(left) => self.room = left,
            None => return false,
        }
        true
    }

    /// Lets others at everything that is held.
    fn let_go(&mut self) {
        self.queue = None;
        self.sticky = None;
        self.stretch = 0;
        let room = std::mem::take(&mut self.room);
        if room > 0 {
            self.producer.shared.accumulator.memory.release(room);
        }
        if std::mem::take(&mut self.ready) {
            self.producer.shared.wake.notify_one();
        }
    }
}

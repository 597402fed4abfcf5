//! Records on their way into open batches, one or many in a row.
//!
//! Invariants: a topic's sticky choice is locked before a queue, and a queue while no other is held, so
//! that threads never wait for each other in a circle. Nothing is held for more than [`MAX_LOCKED_BYTES`] bytes
//! of records. BufferReservation that was taken and not used is given back.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::accumulator::Record;
use super::partitioner::StickyPartition;
use super::queue::QueueState;
use super::{Producer, TopicWriter};
use crate::error::{Error, Kind, Result};
use crate::producer::buffer_memory::BufferReservation;
use crate::producer::produce_result::ProduceResult;

/// So many bytes are appended before others get at the locks, and so much room is taken at once.
const MAX_LOCKED_BYTES: usize = 16 * 1024;

/// What came of a record.
#[derive(Debug)]
pub enum AppendResult<'a> {
    /// It is in a batch of which this will tell what became, at this place.
    Accepted(&'a Arc<ProduceResult>, usize),
    /// `buffer.memory` has no room for this many bytes now: drop the appender, and wait with
    /// [`Producer::reserve_buffer`].
    BufferFull(usize),
}

/// Sends records of one topic without waiting, and keeps hold of a partition's open batch from one
/// record to the next. Other threads wait for it meanwhile: nothing may be waited for before it is
/// dropped.
#[derive(Debug)]
pub struct Appender<'a> {
    producer: &'a Producer,
    writer: &'a TopicWriter,
    sticky: Option<MutexGuard<'a, StickyPartition>>,
    queue: Option<(i32, MutexGuard<'a, QueueState>)>,
    /// Bytes appended since the locks were taken.
    locked_bytes: usize,
    /// BufferReservation is taken in steps of this many bytes.
    reserve_step: usize,
    /// BufferReservation that was taken and not used yet.
    reserved: usize,
    /// The sender has something to look at.
    wake_sender: bool,
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

impl<'a> Appender<'a> {
    /// For one record.
    pub(super) fn single(
        producer: &'a Producer,
        writer: &'a TopicWriter,
        reservation: Option<BufferReservation>,
    ) -> Self {
        Self::new(producer, writer, 0, reservation)
    }

    /// For many records.
    pub(super) fn many(
        producer: &'a Producer,
        writer: &'a TopicWriter,
        reservation: Option<BufferReservation>,
    ) -> Self {
        Self::new(producer, writer, MAX_LOCKED_BYTES, reservation)
    }

    fn new(
        producer: &'a Producer,
        writer: &'a TopicWriter,
        reserve_step: usize,
        reservation: Option<BufferReservation>,
    ) -> Self {
        let reserved = reservation.map_or(0, BufferReservation::into_bytes);
        Self {
            producer,
            writer,
            sticky: None,
            queue: None,
            locked_bytes: 0,
            reserve_step,
            reserved,
            wake_sender: false,
        }
    }

    /// Sends a record without waiting. `partition` overrides the partitioner.
    pub fn send(&mut self, partition: Option<i32>, record: &Record<'_>) -> Result<AppendResult<'_>> {
        if self.locked_bytes >= MAX_LOCKED_BYTES {
            self.release();
        }
        let bytes = record.size();
        let (partitioner, client) = (&self.writer.partitioner, self.producer.client());
        let chosen = partition.or_else(|| partitioner.partition_for(client, self.writer, record));
        let to = chosen.unwrap_or_else(|| self.sticky_partition(bytes));
        let sent = self.append(to, record, bytes);
        if !matches!(sent, Ok(Some(_)))
            && chosen.is_none()
            && let Some(sticky) = &mut self.sticky
        {
            sticky.give_back(to, bytes);
        }
        if sent.is_err() {
            self.producer.accumulator().metrics.failed(&self.writer.topic.name, 1);
        }
        let Some(index) = sent? else {
            self.release();
            self.producer.shared.wake.notify_one();
            return Ok(AppendResult::BufferFull(bytes));
        };
        self.locked_bytes += bytes;
        match self.queue.as_ref().and_then(|(_, state)| state.open.as_ref()) {
            Some(open) => Ok(AppendResult::Accepted(open.part.produce_result(), index)),
            None => Err(self.producer.accumulator().closed_error()),
        }
    }

    /// The partition that records without a chosen one go to.
    fn sticky_partition(&mut self, bytes: usize) -> i32 {
        if self.sticky.is_none() {
            self.queue = None;
        }
        let (writer, client) = (self.writer, self.producer.client());
        let sticky = self.sticky.get_or_insert_with(|| writer.partitioner.lock());
        self.queue.take_if(|(held, _)| sticky.partition() != Some(*held));
        let batch_size = client.config().batch_size;
        let has_room = |partition: i32| match &self.queue {
            Some((_, state)) => state.has_room_for(bytes, batch_size),
            None => writer.queue(partition).is_some_and(|queue| {
                let state = queue.state.lock();
                state.has_room_for(bytes, batch_size)
            }),
        };
        writer.partitioner.sticky_partition(sticky, client, writer, bytes, has_room)
    }

    /// Appends a record to a partition, and says at which place of the open batch; `None` if there is no
    /// room for it.
    fn append(&mut self, partition: i32, record: &Record<'_>, bytes: usize) -> Result<Option<usize>> {
        let writer = self.writer;
        let accumulator = &self.producer.shared.accumulator;
        let queue = writer.queue(partition).ok_or_else(|| {
            let (topic, count) = (&writer.topic.name, writer.partition_count());
            let message = format!(
                "partition {partition} does not exist: the topic has {count} (0 to {})",
                count.saturating_sub(1)
            );
            Error::new(Kind::UnknownTopic, message).at(topic, partition)
        })?;
        accumulator.validate(queue, record, bytes)?;
        if !self.take_reserved(bytes) {
            return Ok(None);
        }
        self.queue.take_if(|(held, _)| *held != partition);
        let (_, state) = self.queue.get_or_insert_with(|| (partition, queue.state.lock()));
        let appended = accumulator.append(queue, state, record, bytes);
        match &appended {
            Ok((_, ready)) => self.wake_sender |= ready,
            Err(_) => self.reserved += bytes,
        }
        appended.map(|(index, _)| Some(index))
    }

    /// Takes room for a record, and if there is much of it for some more.
    fn take_reserved(&mut self, bytes: usize) -> bool {
        let memory = &self.producer.shared.accumulator.memory;
        let missing = bytes.saturating_sub(self.reserved);
        if missing > 0 {
            let taken =
                [missing.max(self.reserve_step), missing].into_iter().find(|more| memory.try_reserve(*more));
            self.reserved += taken.unwrap_or_default();
        }
        match self.reserved.checked_sub(bytes) {
            Some(left) => self.reserved = left,
            None => return false,
        }
        true
    }

    /// Lets others at everything that is held.
    fn release(&mut self) {
        self.queue = None;
        self.sticky = None;
        self.locked_bytes = 0;
        let unused = std::mem::take(&mut self.reserved);
        if unused > 0 {
            self.producer.shared.accumulator.memory.release(unused);
        }
        if std::mem::take(&mut self.wake_sender) {
            self.producer.shared.wake.notify_one();
        }
    }
}

//! Appends records to open batches, one or many in a row.
//!
//! Invariants: a thread locks a topic's sticky partition before a queue, and one queue at a time, so
//! threads cannot deadlock. Locks are held for at most [`MAX_LOCKED_BYTES`] of records. Memory that
//! was reserved and not used is released.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::Producer;
use super::partitioner::StickyPartition;
use super::produce_result::ProduceResult;
use super::queue::QueueState;
use super::record::Record;
use super::reservation::BufferReservation;
use super::topic_writer::TopicWriter;
use crate::error::{Error, Kind, Result};

/// The most bytes to append before other threads may take the locks, and the bytes to reserve at
/// once.
const MAX_LOCKED_BYTES: usize = 16 * 1024;

/// The result of appending a record (`RecordAppendResult` in the Java client).
#[derive(Debug)]
pub enum AppendResult<'a> {
    /// The record is in a batch: its result, and the record's index there.
    Accepted(&'a Arc<ProduceResult>, usize),
    /// `buffer.memory` has no space for this many bytes: drop the appender and wait, as
    /// [`Producer::append_when_free`] does.
    BufferFull(usize),
}

/// Sends records of one topic without waiting, and keeps a partition's open batch locked from one
/// record to the next. Other threads wait for it meanwhile, so do not block before you drop it.
#[derive(Debug)]
pub struct Appender<'a> {
    producer: &'a Producer,
    writer: &'a TopicWriter,
    sticky: Option<MutexGuard<'a, StickyPartition>>,
    queue: Option<(i32, MutexGuard<'a, QueueState>)>,
    /// Bytes appended since the locks were taken.
    locked_bytes: usize,
    /// Memory is reserved in steps of this many bytes.
    reserve_step: usize,
    /// Reserved bytes that are not used yet.
    reserved: usize,
    /// The sender has to be woken.
    wake_sender: bool,
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

impl<'a> Appender<'a> {
    /// An appender for one record.
    pub(super) fn single(
        producer: &'a Producer,
        writer: &'a TopicWriter,
        reservation: Option<BufferReservation>,
    ) -> Self {
        Self::new(producer, writer, 0, reservation)
    }

    /// An appender for many records.
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
        let chosen = partition.or_else(|| partitioner.partition_for(client, &self.writer.topic, record));
        let to = chosen.unwrap_or_else(|| self.sticky_partition(bytes));
        let appended = self.append(to, record, bytes);
        if !matches!(appended, Ok(Some(_)))
            && chosen.is_none()
            && let Some(sticky) = &mut self.sticky
        {
            sticky.give_back(to, bytes);
        }
        if let Err(error) = &appended {
            self.producer.accumulator().metrics.failed(&self.writer.topic.name, 1);
            self.producer.accumulator().record_refused(error);
        }
        let Some(index) = appended? else {
            self.release();
            self.producer.inner.wake.notify_one();
            return Ok(AppendResult::BufferFull(bytes));
        };
        self.locked_bytes += bytes;
        match self.queue.as_ref().and_then(|(_, state)| state.open.as_ref()) {
            Some(open) => Ok(AppendResult::Accepted(open.part.produce_result(), index)),
            None => Err(self.producer.accumulator().closed_error()),
        }
    }

    /// The partition for records whose partition is not determined by a key or the caller.
    fn sticky_partition(&mut self, bytes: usize) -> i32 {
        if self.sticky.is_none() {
            self.queue = None;
        }
        let (writer, client) = (self.writer, self.producer.client());
        let sticky = self.sticky.get_or_insert_with(|| writer.partitioner.lock());
        self.queue.take_if(|(locked, _)| sticky.partition() != Some(*locked));
        let batch_size = client.config().batch_size;
        let has_room = |partition: i32| match &self.queue {
            Some((_, state)) => state.has_room_for(bytes, batch_size),
            None => writer.queue(partition).is_some_and(|queue| {
                let state = queue.state.lock();
                state.has_room_for(bytes, batch_size)
            }),
        };
        writer.partitioner.sticky_partition(sticky, client, &writer.topic, bytes, has_room)
    }

    /// Appends a record to a partition and returns its index in the open batch, or `None` if there is
    /// no memory for it.
    fn append(&mut self, partition: i32, record: &Record<'_>, bytes: usize) -> Result<Option<usize>> {
        let writer = self.writer;
        let accumulator = &self.producer.inner.accumulator;
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
        self.queue.take_if(|(locked, _)| *locked != partition);
        let (_, state) = self.queue.get_or_insert_with(|| (partition, queue.state.lock()));
        let appended = accumulator.append(queue, state, record, bytes);
        match &appended {
            Ok((_, ready)) => self.wake_sender |= ready,
            Err(_) => self.reserved += bytes,
        }
        appended.map(|(index, _)| Some(index))
    }

    /// Reserves memory for a record, and for some more if there is plenty.
    fn take_reserved(&mut self, bytes: usize) -> bool {
        let memory = &self.producer.inner.accumulator.memory;
        let missing = bytes.saturating_sub(self.reserved);
        if missing > 0 {
            let reserved =
                [missing.max(self.reserve_step), missing].into_iter().find(|more| memory.try_reserve(*more));
            self.reserved += reserved.unwrap_or_default();
        }
        match self.reserved.checked_sub(bytes) {
            Some(left) => self.reserved = left,
            None => return false,
        }
        true
    }

    /// Releases the locks and the unused memory.
    fn release(&mut self) {
        self.queue = None;
        self.sticky = None;
        self.locked_bytes = 0;
        let unused = std::mem::take(&mut self.reserved);
        if unused > 0 {
            self.producer.inner.accumulator.memory.release(unused);
        }
        if std::mem::take(&mut self.wake_sender) {
            // Of many records the first ones would be a request of their own.
            if self.reserve_step == 0 {
                self.producer.inner.batch_is_ready();
            } else {
                self.producer.inner.wake.notify_one();
            }
        }
    }
}

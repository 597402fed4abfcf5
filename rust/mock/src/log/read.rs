//! Reads a log: by offset and size, by timestamp, by leader epoch.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use ottla_protocol::records::{Batches, Decompressor, RecordRef};

use super::{PartitionLog, StoredBatch};

/// An offset with its timestamp and leader epoch, for ListOffsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimestampAndOffset {
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) leader_epoch: i32,
}

impl PartitionLog {
    /// Reads batches from the one that contains the first offset, up to `max_bytes`. As in Kafka, the last
    /// batch may be cut off, and the first may start before its offset. A first batch that does not fit is
    /// returned whole if `at_least_one`, otherwise nothing is.
    pub(crate) fn read(&self, offsets: Range<i64>, max_bytes: usize, at_least_one: bool) -> Bytes {
        let from = self.entries.partition_point(|entry| entry.batch.last_offset < offsets.start);
        let within = self.entries.range(from..).take_while(|entry| entry.batch.base_offset < offsets.end);
        let mut batches = within.map(|entry| &entry.batch.bytes);
        let Some(first) = batches.next() else { return Bytes::new() };
        if first.len() > max_bytes {
            return if at_least_one { first.clone() } else { Bytes::new() };
        }
        let mut size = first.len();
        let mut chosen = vec![first.clone()];
        for batch in batches {
            let room = max_bytes - size;
            if room == 0 {
                break;
            }
            let part = batch.slice(..batch.len().min(room));
            size += part.len();
            chosen.push(part);
        }
        match chosen.as_slice() {
            [one] => one.clone(),
            many => {
                let mut joined = BytesMut::with_capacity(size);
                many.iter().for_each(|part| joined.extend_from_slice(part));
                joined.freeze()
            }
        }
    }

    /// The batches with offsets in a range.
    pub(crate) fn batches_in(&self, offsets: Range<i64>) -> impl Iterator<Item = &StoredBatch> {
        let from = self.entries.partition_point(|entry| entry.batch.last_offset < offsets.start);
        let within = self.entries.range(from..).map(|entry| &entry.batch);
        within.take_while(move |batch| batch.base_offset < offsets.end)
    }

    /// Finds the first record at or after `timestamp`.
    pub(crate) fn find_timestamp(&self, timestamp: i64) -> Option<TimestampAndOffset> {
        let from = self.entries.partition_point(|entry| entry.max_timestamp_so_far < timestamp);
        let late_enough = |record: &RecordRef<'_>| record.timestamp >= timestamp;
        let batches = self.entries.range(from..).map(|entry| &entry.batch);
        batches
            .filter(|batch| batch.max_timestamp >= timestamp)
            .find_map(|batch| self.find_record(batch, late_enough))
    }

    /// Finds the first record with the largest timestamp of the log.
    pub(crate) fn find_max_timestamp(&self) -> Option<TimestampAndOffset> {
        let mut batches = self.batches();
        let first = batches.next()?;
        let latest =
            batches.fold(first, |best, b| if b.max_timestamp > best.max_timestamp { b } else { best });
        self.find_record(latest, |record| record.timestamp == latest.max_timestamp)
    }

    /// Finds the first record of a batch that is still in the log and matches.
    fn find_record(
        &self,
        stored: &StoredBatch,
        matches: impl Fn(&RecordRef<'_>) -> bool,
    ) -> Option<TimestampAndOffset> {
        let batch = Batches::new(stored.bytes.clone()).check_crc(false).next()?.ok()?;
        let mut decompressor = Decompressor::new();
        let mut records = batch.records(&mut decompressor).ok()?.map_while(Result::ok);
        let record = records.find(|record| record.offset >= self.start_offset && matches(record))?;
        Some(TimestampAndOffset {
            offset: record.offset,
            timestamp: record.timestamp,
            leader_epoch: stored.leader_epoch,
        })
    }

    /// The leader epoch of the record at `offset`; at the end of the log, the last epoch; -1 if there is
    /// none.
    pub(crate) fn epoch_at(&self, offset: i64) -> i32 {
        let after = self.epochs.partition_point(|(_, start)| *start <= offset);
        after.checked_sub(1).and_then(|i| self.epochs.get(i)).map_or(-1, |(epoch, _)| *epoch)
    }

    /// The largest known epoch up to `epoch`, and its end offset. `None` for an epoch newer than the log; an
    /// epoch older than the log ends where the first known epoch starts.
    pub(crate) fn epoch_end(&self, epoch: i32) -> Option<(i32, i64)> {
        let (latest, _) = self.epochs.last()?;
        if epoch > *latest {
            return None;
        }
        let after = self.epochs.partition_point(|(known, _)| *known <= epoch);
        let next = self.epochs.get(after).map_or(self.end_offset, |(_, start)| *start);
        let known = after.checked_sub(1).and_then(|at| self.epochs.get(at));
        Some((known.map_or(epoch, |(known, _)| *known), next))
    }
}

//! One partition's log: batches in offset order, the log's start, and where each leader epoch began.
//!
//! Invariant: offsets only grow; `start_offset <= high_watermark <= end_offset`. Replicas of the mock
//! are always in sync, so the high watermark is the end of the log.

mod direct;
mod incoming;
mod producers;
mod read;
mod transactions;

use std::collections::VecDeque;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::records::rewrite;

pub(crate) use incoming::{Checked, Refused, check};
use producers::Producers;
pub(crate) use read::Found;
pub(crate) use transactions::Aborted;
use transactions::Transactions;

/// A batch as the log holds it.
#[derive(Debug, Clone)]
pub struct StoredBatch {
    /// The offset of its first record.
    pub base_offset: i64,
    /// The offset of its last record.
    pub last_offset: i64,
    /// The epoch of the leader that appended it.
    pub leader_epoch: i32,
    /// The largest timestamp of its records.
    pub max_timestamp: i64,
    /// How many records it holds.
    pub count: i32,
    /// The idempotent producer that wrote it, or -1.
    pub producer_id: i64,
    /// That producer's epoch, or -1.
    pub producer_epoch: i16,
    /// The sequence number of its first record, or -1.
    pub base_sequence: i32,
    /// The whole batch as fetched.
    pub bytes: Bytes,
}

#[derive(Debug, Clone)]
struct Entry {
    batch: StoredBatch,
    /// The largest timestamp in the log up to and including this batch: sorted, unlike the batches'
    /// own, so that a search by timestamp can halve.
    max_timestamp_so_far: i64,
}

/// What an append did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended {
    pub(crate) base_offset: i64,
    /// -1 unless the topic uses the broker's time.
    pub(crate) append_time: i64,
    pub(crate) start_offset: i64,
}

/// What the topic and the moment say about an append.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppendRules {
    pub(crate) max_message_bytes: usize,
    pub(crate) leader_epoch: i32,
    /// Whether the topic is compacted.
    pub(crate) keys_needed: bool,
    /// The broker's clock, if the topic wants records stamped with it.
    pub(crate) append_time: Option<i64>,
}

/// One partition's log.
#[derive(Debug, Default)]
pub(crate) struct PartitionLog {
    entries: VecDeque<Entry>,
    start_offset: i64,
    end_offset: i64,
    /// Each leader epoch and the offset at which it began, ascending in both.
    epochs: Vec<(i32, i64)>,
    producers: Producers,
    transactions: Transactions,
}

impl PartitionLog {
    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    pub(crate) fn high_watermark(&self) -> i64 {
        self.end_offset
    }

    /// The end of what is not part of an open transaction.
    pub(crate) fn last_stable_offset(&self) -> i64 {
        self.transactions.first_open().unwrap_or(self.end_offset)
    }

    /// The aborted transactions that have something from `from` on and before `to`.
    pub(crate) fn aborted(&self, from: i64, to: i64) -> impl Iterator<Item = &Aborted> {
        self.transactions.aborted(from, to)
    }

    pub(crate) fn batches(&self) -> impl Iterator<Item = &StoredBatch> {
        self.entries.iter().map(|entry| &entry.batch)
    }

    /// Notes that a leader took over; what it appends begins here. Nobody wrote anything in an epoch
    /// that begins here as well.
    pub(crate) fn begin_epoch(&mut self, epoch: i32) {
        self.epochs.retain(|(_, start)| *start < self.end_offset);
        self.epochs.push((epoch, self.end_offset));
    }

    /// Appends one batch, unless it is one that its producer has sent before.
    pub(crate) fn append(&mut self, checked: &Checked, rules: AppendRules) -> Result<Appended, Refused> {
        let Checked { batch, count, keyed } = checked;
        if batch.size_in_bytes() > rules.max_message_bytes {
            return Err((
                ErrorCode::MessageTooLarge,
                "the batch is larger than the topic's max.message.bytes",
            ));
        }
        if rules.keys_needed && !keyed {
            return Err((ErrorCode::InvalidRecord, "a compacted topic needs a key in each record"));
        }
        let (id, epoch, first) = (batch.producer_id(), batch.producer_epoch(), batch.base_sequence());
        if let Some(base_offset) =
            self.producers.check(id, epoch, first, *count).map_err(|code| (code, ""))?
        {
            let append_time =
                rules.append_time.and_then(|_| self.batch_at(base_offset)).map(|b| b.max_timestamp);
            return Ok(Appended {
                base_offset,
                append_time: append_time.unwrap_or(-1),
                start_offset: self.start_offset,
            });
        }
        let base_offset = self.end_offset;
        // The request still holds these bytes, so that placing them copies the batch: a small one
        // does not keep the whole request's frame in memory.
        let placed = rewrite::assign_base_offset(batch.as_bytes().clone(), base_offset, rules.leader_epoch);
        let bytes = placed.and_then(|bytes| match rules.append_time {
            Some(time) => rewrite::set_log_append_time(bytes, time),
            None => Ok(bytes),
        });
        self.push(StoredBatch {
            base_offset,
            last_offset: base_offset + i64::from(*count) - 1,
            leader_epoch: rules.leader_epoch,
            max_timestamp: rules.append_time.unwrap_or_else(|| batch.max_timestamp()),
            count: *count,
            producer_id: id,
            producer_epoch: epoch,
            base_sequence: first,
            bytes: bytes.map_err(|_| (ErrorCode::CorruptMessage, "the bytes are not one batch"))?,
        });
        Ok(Appended {
            base_offset,
            append_time: rules.append_time.unwrap_or(-1),
            start_offset: self.start_offset,
        })
    }

    fn push(&mut self, batch: StoredBatch) {
        let so_far = self.entries.back().map_or(i64::MIN, |entry| entry.max_timestamp_so_far);
        self.end_offset = batch.last_offset + 1;
        self.producers.note(&batch);
        self.transactions.note(&batch);
        self.entries.push_back(Entry { max_timestamp_so_far: so_far.max(batch.max_timestamp), batch });
    }

    fn batch_at(&self, base_offset: i64) -> Option<&StoredBatch> {
        let at = self.entries.binary_search_by_key(&base_offset, |entry| entry.batch.base_offset).ok()?;
        self.entries.get(at).map(|entry| &entry.batch)
    }

    /// Remembers only the last batch of each producer, as a broker that comes back from a crash may;
    /// or nothing at all.
    pub(crate) fn forget_producers(&mut self, keep_last: bool) {
        if keep_last { self.producers.keep_last() } else { self.producers.forget() }
    }

    /// Drops what is from `offset` on, with what is known of its producers: an unclean election.
    pub(crate) fn truncate(&mut self, offset: i64) {
        self.entries.retain(|entry| entry.batch.last_offset < offset);
        self.end_offset = self.entries.back().map_or(self.start_offset, |entry| entry.batch.last_offset + 1);
        self.epochs.retain(|(_, start)| *start <= self.end_offset);
        self.producers.forget();
        self.transactions = Transactions::default();
        for entry in &self.entries {
            self.producers.note(&entry.batch);
            self.transactions.note(&entry.batch);
        }
    }

    /// Moves the start of the log forward and forgets the batches before it. -1 is the high watermark.
    pub(crate) fn delete_before(&mut self, offset: i64) -> Result<i64, ErrorCode> {
        let offset = if offset == -1 { self.high_watermark() } else { offset };
        if offset < 0 || offset > self.high_watermark() {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        self.start_offset = self.start_offset.max(offset);
        while self.entries.front().is_some_and(|entry| entry.batch.last_offset < self.start_offset) {
            self.entries.pop_front();
        }
        self.transactions.delete_before(self.start_offset);
        Ok(self.start_offset)
    }
}

//! One partition's log: batches in offset order, the log start, and the leader epochs.
//!
//! Invariant: offsets only grow; `start_offset <= high_watermark <= end_offset`. The mock replicates at once,
//! so the high watermark is the end of the log.

mod append_raw;
mod producer_state;
mod read;
mod transactions;
mod validate;

use std::collections::VecDeque;

use crate::transaction::ProducerIdAndEpoch;
use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::records::rewrite;

pub(crate) use append_raw::Marker;
use producer_state::{ActiveProducer, ProducerStates};
pub(crate) use read::TimestampAndOffset;
pub(crate) use transactions::AbortedTxn;
use transactions::Transactions;
pub(crate) use validate::{AppendError, ValidatedBatch, validate};

/// A batch in the log.
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
    /// The number of records.
    pub count: i32,
    /// The id of the idempotent producer that wrote it, or -1.
    pub producer_id: i64,
    /// The producer epoch, or -1.
    pub producer_epoch: i16,
    /// The sequence number of its first record, or -1.
    pub base_sequence: i32,
    /// The whole batch, as consumers fetch it.
    pub bytes: Bytes,
}

#[derive(Debug, Clone)]
struct LogEntry {
    batch: StoredBatch,
    /// The largest timestamp up to and including this batch: sorted, unlike the batches' own timestamps,
    /// which allows binary search.
    max_timestamp_so_far: i64,
}

/// The result of an append.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppendInfo {
    pub(crate) base_offset: i64,
    /// -1 unless the topic uses LogAppendTime.
    pub(crate) append_time: i64,
    pub(crate) start_offset: i64,
}

/// The conditions of an append: topic configuration, leader epoch and time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppendRules {
    pub(crate) max_message_bytes: usize,
    pub(crate) leader_epoch: i32,
    /// True for compacted topics.
    pub(crate) requires_keys: bool,
    /// The current time, if the topic uses LogAppendTime.
    pub(crate) append_time: Option<i64>,
}

/// One partition's log.
#[derive(Debug, Default)]
pub(crate) struct PartitionLog {
    entries: VecDeque<LogEntry>,
    start_offset: i64,
    end_offset: i64,
    /// The leader epochs and their start offsets, both ascending.
    epochs: Vec<(i32, i64)>,
    producers: ProducerStates,
    transactions: Transactions,
}

impl PartitionLog {
    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    pub(crate) fn high_watermark(&self) -> i64 {
        self.end_offset
    }

    /// The first offset of the oldest open transaction, or the end of the log.
    pub(crate) fn last_stable_offset(&self) -> i64 {
        self.transactions.first_open().unwrap_or(self.end_offset)
    }

    /// The aborted transactions that overlap the offsets from `from` to before `to`.
    pub(crate) fn aborted(&self, from: i64, to: i64) -> impl Iterator<Item = &AbortedTxn> {
        self.transactions.aborted(from, to)
    }

    pub(crate) fn batches(&self) -> impl Iterator<Item = &StoredBatch> {
        self.entries.iter().map(|entry| &entry.batch)
    }

    /// Starts a leader epoch at the end of the log; drops earlier epochs in which nothing was appended.
    pub(crate) fn begin_epoch(&mut self, epoch: i32) {
        self.epochs.retain(|(_, start)| *start < self.end_offset);
        self.epochs.push((epoch, self.end_offset));
    }

    /// Appends one batch; a duplicate returns the offset of the first copy.
    pub(crate) fn append(
        &mut self,
        checked: &ValidatedBatch,
        rules: AppendRules,
    ) -> Result<AppendInfo, AppendError> {
        let ValidatedBatch { batch, count, keyed } = checked;
        if batch.size_in_bytes() > rules.max_message_bytes {
            return Err((
                ErrorCode::MessageTooLarge,
                "the batch is larger than the topic's max.message.bytes",
            ));
        }
        if rules.requires_keys && !keyed {
            return Err((ErrorCode::InvalidRecord, "a compacted topic needs a key in each record"));
        }
        let (id, epoch, first) = (batch.producer_id(), batch.producer_epoch(), batch.base_sequence());
        if let Some(base_offset) =
            self.producers.check(id, epoch, first, *count).map_err(|code| (code, ""))?
        {
            let append_time =
                rules.append_time.and_then(|_| self.batch_at(base_offset)).map(|b| b.max_timestamp);
            return Ok(AppendInfo {
                base_offset,
                append_time: append_time.unwrap_or(-1),
                start_offset: self.start_offset,
            });
        }
        let base_offset = self.end_offset;
        // The request still shares these bytes, so `place` copies the batch: a small batch does not keep the
        // whole request frame in memory.
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
        Ok(AppendInfo {
            base_offset,
            append_time: rules.append_time.unwrap_or(-1),
            start_offset: self.start_offset,
        })
    }

    fn push(&mut self, batch: StoredBatch) {
        let so_far = self.entries.back().map_or(i64::MIN, |entry| entry.max_timestamp_so_far);
        self.end_offset = batch.last_offset + 1;
        self.producers.record(&batch);
        self.transactions.record(&batch);
        self.entries.push_back(LogEntry { max_timestamp_so_far: so_far.max(batch.max_timestamp), batch });
    }

    fn batch_at(&self, base_offset: i64) -> Option<&StoredBatch> {
        let at = self.entries.binary_search_by_key(&base_offset, |entry| entry.batch.base_offset).ok()?;
        self.entries.get(at).map(|entry| &entry.batch)
    }

    /// Keeps only the last batch of each producer, as a broker may after a crash, or drops all producer
    /// state.
    pub(crate) fn forget_producers(&mut self, keep_last: bool) {
        if keep_last { self.producers.keep_last() } else { self.producers.clear() }
    }

    /// Truncates the log at `offset` and rebuilds producers and transactions, as after an unclean election.
    pub(crate) fn truncate(&mut self, offset: i64) {
        self.entries.retain(|entry| entry.batch.last_offset < offset);
        self.end_offset = self.entries.back().map_or(self.start_offset, |entry| entry.batch.last_offset + 1);
        self.epochs.retain(|(_, start)| *start <= self.end_offset);
        self.producers.clear();
        self.transactions = Transactions::default();
        for entry in &self.entries {
            self.producers.record(&entry.batch);
            self.transactions.record(&entry.batch);
        }
    }

    /// Whether the log has an open transaction with this producer id and epoch.
    pub(crate) fn has_open_transaction(&self, producer: ProducerIdAndEpoch) -> bool {
        self.transactions.start_of(producer.id).is_some()
            && self.producers.epoch(producer.id) == Some(producer.epoch)
    }

    /// The producers of the log and their open transactions.
    pub(crate) fn active_producers(&self) -> Vec<ActiveProducer> {
        let mut producers = self.producers.active();
        for producer in &mut producers {
            producer.transaction_start = self.transactions.start_of(producer.id);
        }
        producers
    }

    /// Advances the log start and deletes the batches before it; -1 means the high watermark.
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

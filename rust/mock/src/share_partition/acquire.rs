//! Acquires records for a member: which ones, and in which ranges the response names them.
//!
//! Invariant: the ranges of a response are exactly the records that the call acquired.

use std::sync::Arc;

use tokio::time::Instant;

use super::SharePartition;
use super::record::InFlightRecord;
use crate::config::ShareGroupConfig;

/// The first and the last offset of a batch in the log.
pub(crate) type OffsetRange = (i64, i64);

/// How strictly a member limits the number of records (KIP-1206).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcquireMode {
    /// Whole batches, even if the last one has more records than requested.
    BatchOptimized,
    /// At most as many records as requested.
    RecordLimit,
}

/// What a member asks for.
#[derive(Debug, Clone)]
pub(crate) struct AcquireRequest {
    pub(crate) member_id: Arc<str>,
    pub(crate) mode: AcquireMode,
    pub(crate) max_records: usize,
    /// The number of records from which on a range ends at the end of a batch.
    pub(crate) batch_size: usize,
}

/// Acquired records with the same delivery count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcquiredRange {
    pub(crate) first_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) delivery_count: u16,
}

impl AcquiredRange {
    fn len(&self) -> usize {
        usize::try_from(self.last_offset - self.first_offset + 1).unwrap_or(0)
    }
}

impl SharePartition {
    /// The first offset that may be delivered.
    pub(crate) fn next_fetch_offset(&self) -> i64 {
        let available = self.records.iter().position(InFlightRecord::is_available);
        let after = available.and_then(|at| i64::try_from(at).ok()).map(|at| self.start_offset + at);
        after.unwrap_or_else(|| self.end_offset())
    }

    /// Whether the limit of records in flight allows another delivery.
    pub(crate) fn can_acquire(&self, config: &ShareGroupConfig) -> bool {
        self.next_fetch_offset() < self.end_offset() || self.records.len() < config.partition_max_record_locks
    }

    /// Archives offsets of which no record is ever delivered, such as those of an aborted transaction.
    pub(crate) fn archive(&mut self, (first, last): OffsetRange) {
        for offset in first.max(self.start_offset)..=last {
            let end = self.end_offset();
            if offset > end {
                break;
            }
            if offset == end {
                self.records.push_back(InFlightRecord::archived());
            } else if let Some(record) = self.index(offset).and_then(|at| self.records.get_mut(at))
                && record.is_available()
            {
                *record = InFlightRecord::archived();
            }
        }
        self.drop_finished();
    }

    /// Acquires available records of these batches, which follow each other in the log.
    pub(crate) fn acquire(
        &mut self,
        batches: &[OffsetRange],
        request: &AcquireRequest,
        config: &ShareGroupConfig,
        now: Instant,
    ) -> Vec<AcquiredRange> {
        let mut quota = Quota::new(self, request, config);
        let mut ranges: Vec<AcquiredRange> = Vec::new();
        let until = now + config.record_lock_duration;
        for (first, last) in batches {
            if quota.is_spent() {
                break;
            }
            // A range that is long enough ends with its batch.
            let mut is_open = ranges.last().is_some_and(|range| range.len() < request.batch_size);
            quota.begin_batch(usize::try_from(last - first + 1).unwrap_or(usize::MAX));
            for offset in (*first).max(self.start_offset)..=*last {
                let in_flight = self.index(offset).and_then(|at| self.records.get(at));
                let delivery_count = match in_flight {
                    Some(record) if !record.is_available() => continue,
                    Some(record) => record.delivery_count,
                    None if quota.allows_new => 0,
                    None => break,
                };
                if !quota.admits(delivery_count) {
                    return ranges;
                }
                self.extend_to(offset);
                let Some(record) = self.index(offset).and_then(|at| self.records.get_mut(at)) else { break };
                record.acquire(&request.member_id, until);
                let delivery_count = record.delivery_count;
                let continues = |range: &&mut AcquiredRange| {
                    is_open && range.last_offset + 1 == offset && range.delivery_count == delivery_count
                };
                match ranges.last_mut().filter(continues) {
                    Some(range) => range.last_offset = offset,
                    None => ranges.push(AcquiredRange {
                        first_offset: offset,
                        last_offset: offset,
                        delivery_count,
                    }),
                }
                is_open = true;
            }
        }
        ranges
    }

    /// Takes the record at `offset` in flight, if it is not; the offsets before it that are not have no record.
    fn extend_to(&mut self, offset: i64) {
        while self.end_offset() < offset {
            self.records.push_back(InFlightRecord::archived());
        }
        if self.end_offset() == offset {
            self.records.push_back(InFlightRecord::new());
        }
    }
}

/// How many records one call may acquire.
struct Quota {
    mode: AcquireMode,
    max_records: usize,
    acquired: usize,
    /// Whether records may be acquired that were not in flight.
    allows_new: bool,
    delivery_count_limit: u16,
    batch_length: usize,
    /// As soon as a record nears the limit of deliveries: the number of records in all.
    throttled: Option<usize>,
}

impl Quota {
    fn new(partition: &SharePartition, request: &AcquireRequest, config: &ShareGroupConfig) -> Self {
        let room = config.partition_max_record_locks.saturating_sub(partition.records.len());
        let max_records = if room > 0 { request.max_records.min(room) } else { request.max_records };
        Self {
            mode: request.mode,
            max_records,
            acquired: 0,
            allows_new: room > 0,
            delivery_count_limit: config.delivery_count_limit,
            batch_length: 0,
            throttled: None,
        }
    }

    fn is_spent(&self) -> bool {
        self.acquired >= self.max_records || self.throttled.is_some()
    }

    fn begin_batch(&mut self, length: usize) {
        self.batch_length = length;
    }

    /// Counts a record that was delivered so often before; false ends the call. So that one bad record does not take
    /// others with it, Kafka halves the batches of records that near the limit and delivers a record alone the last
    /// time.
    fn admits(&mut self, delivery_count: u16) -> bool {
        let throttled_from = self.delivery_count_limit.div_ceil(2).max(2);
        let is_last = self.delivery_count_limit > 2 && delivery_count + 1 >= self.delivery_count_limit;
        if is_last && self.acquired > 0 {
            return false;
        }
        if delivery_count >= throttled_from && self.throttled.is_none() {
            let halvings = u32::from(delivery_count - throttled_from + 1);
            let size = self.batch_length.checked_shr(halvings).unwrap_or(0).max(1);
            self.throttled = Some(self.acquired + if is_last { 1 } else { size });
        }
        let is_limited = self.mode == AcquireMode::RecordLimit && self.acquired >= self.max_records;
        if is_limited || self.throttled.is_some_and(|most| self.acquired >= most) {
            return false;
        }
        self.acquired += 1;
        true
    }
}

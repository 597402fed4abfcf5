//! What tests do with logs: inspect, append, truncate, and let followers lag.

use bytes::Bytes;
use ottla_protocol::ErrorCode;

use crate::MockCluster;
use crate::clock::now_ms;
use crate::info::LogInfo;
use crate::state::{ApiError, Partition};

impl MockCluster {
    /// Returns the content of a partition's log.
    pub fn partition_log(&self, topic: &str, partition: i32) -> Result<LogInfo, ApiError> {
        self.with_partition(topic, partition, |partition| {
            let log = &partition.log;
            Ok(LogInfo {
                start_offset: log.start_offset(),
                high_watermark: log.high_watermark(),
                last_stable_offset: log.last_stable_offset(),
                batches: log.batches().cloned().collect(),
            })
        })
    }

    /// Deletes the records before an offset, as retention does; -1 deletes all. Returns the new log start.
    pub fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Result<i64, ApiError> {
        self.with_partition(topic, partition, |partition| partition.log.delete_before(before))
    }

    /// Drops the state of a partition's idempotent producers: with `keep_last` all but the last batch of
    /// each, as after a crash, otherwise everything, as after `producer.id.expiration.ms`.
    pub fn forget_producers(&self, topic: &str, partition: i32, keep_last: bool) -> Result<(), ApiError> {
        self.with_partition(topic, partition, |partition| {
            partition.log.forget_producers(keep_last);
            Ok(())
        })
    }

    /// Truncates a log at `offset`, as an unclean leader election does.
    pub fn truncate(&self, topic: &str, partition: i32, offset: i64) -> Result<(), ApiError> {
        self.with_partition(topic, partition, |partition| {
            partition.log.truncate(offset);
            Ok(())
        })
    }

    /// Appends one batch of values; returns the offset of the first.
    pub fn append(&self, topic: &str, partition: i32, values: &[&[u8]]) -> Result<i64, ApiError> {
        self.append_values(topic, partition, values, None)
    }

    /// Like [`Self::append`], in a transaction that stays open until [`Self::end_transaction`].
    pub fn append_in_transaction(
        &self,
        topic: &str,
        partition: i32,
        producer_id: i64,
        values: &[&[u8]],
    ) -> Result<i64, ApiError> {
        self.append_values(topic, partition, values, Some(producer_id))
    }

    /// Commits or aborts a producer's transaction in one partition; returns the offset of the marker.
    pub fn end_transaction(
        &self,
        topic: &str,
        partition: i32,
        producer_id: i64,
        commit: bool,
    ) -> Result<i64, ApiError> {
        self.with_partition(topic, partition, |partition| {
            partition.log.end_transaction(producer_id, commit, (partition.leader_epoch, now_ms()))
        })
    }

    /// Appends a batch of magic 2 without validation; only its base offset is changed.
    pub fn append_raw(&self, topic: &str, partition: i32, batch: Bytes) -> Result<i64, ApiError> {
        self.with_partition(topic, partition, |partition| {
            partition.log.append_raw(batch, partition.leader_epoch)
        })
    }

    /// Sets where a follower's log ends, as if it had not copied the rest; `None` lets it catch up.
    pub fn lag_replica(
        &self,
        topic: &str,
        partition: i32,
        broker: i32,
        end: Option<i64>,
    ) -> Result<(), ApiError> {
        self.with_partition(topic, partition, |partition| partition.set_follower_end(broker, end))
    }

    /// Closes all fetch sessions of a broker, as eviction does.
    pub fn evict_fetch_sessions(&self, broker: i32) {
        self.shared.change(|state| state.fetch_sessions.close_all(broker));
    }

    /// The number of a broker's fetch sessions.
    #[must_use]
    pub fn fetch_sessions(&self, broker: i32) -> usize {
        self.shared.state.lock().fetch_sessions.count(broker)
    }

    /// The number of a broker's share sessions.
    #[must_use]
    pub fn share_sessions(&self, broker: i32) -> usize {
        self.shared.state.lock().share_sessions.count(broker)
    }

    /// The number of records of a partition that a share group has not finished, acquired ones included; `None`
    /// if no member has fetched from the partition.
    #[must_use]
    pub fn share_lag(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        let state = self.shared.state.lock();
        let id = state.topic(topic)?.id;
        let end = state.partition(topic, partition).ok()?.log.high_watermark();
        Some(state.share_partitions.get(group, (id, partition))?.lag(end))
    }

    fn append_values(
        &self,
        topic: &str,
        partition: i32,
        values: &[&[u8]],
        producer_id: Option<i64>,
    ) -> Result<i64, ApiError> {
        self.with_partition(topic, partition, |partition| {
            partition.log.append_values(values, producer_id, (partition.leader_epoch, now_ms()))
        })
    }

    fn with_partition<T>(
        &self,
        topic: &str,
        partition: i32,
        change: impl FnOnce(&mut Partition) -> Result<T, ErrorCode>,
    ) -> Result<T, ApiError> {
        let error = |code: ErrorCode| ApiError::new(code, format!("{topic}-{partition}"));
        self.shared.change(|state| change(state.partition_mut(topic, partition)?)).map_err(error)
    }
}

//! What tests do with logs: look into them, write into them, cut them, have replicas lag.

use bytes::Bytes;
use ottla_protocol::ErrorCode;

use crate::MockCluster;
use crate::shared::now_ms;
use crate::state::{Partition, Refusal};
use crate::view::LogView;

impl MockCluster {
    /// What a partition's log holds.
    pub fn partition_log(&self, topic: &str, partition: i32) -> Result<LogView, Refusal> {
        self.with_partition(topic, partition, |partition| {
            let log = &partition.log;
            Ok(LogView {
                start_offset: log.start_offset(),
                high_watermark: log.high_watermark(),
                last_stable_offset: log.last_stable_offset(),
                batches: log.batches().cloned().collect(),
            })
        })
    }

    /// Moves the start of a log forward, as retention does; -1 empties it.
    pub fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Result<i64, Refusal> {
        self.with_partition(topic, partition, |partition| partition.log.delete_before(before))
    }

    /// Has a partition's brokers forget its idempotent producers: all but the last batch of each, as
    /// after a crash, or everything, as after `producer.id.expiration.ms`.
    pub fn forget_producers(&self, topic: &str, partition: i32, keep_last: bool) -> Result<(), Refusal> {
        self.with_partition(topic, partition, |partition| {
            partition.log.forget_producers(keep_last);
            Ok(())
        })
    }

    /// Loses the end of a log from `offset` on, as an unclean election does.
    pub fn truncate(&self, topic: &str, partition: i32, offset: i64) -> Result<(), Refusal> {
        self.with_partition(topic, partition, |partition| {
            partition.log.truncate(offset);
            Ok(())
        })
    }

    /// Appends one batch with these values; gives the offset of the first.
    pub fn append(&self, topic: &str, partition: i32, values: &[&[u8]]) -> Result<i64, Refusal> {
        self.append_values(topic, partition, values, None)
    }

    /// The same in a transaction of this producer, which is open until [`Self::end_transaction`].
    pub fn append_in_transaction(
        &self,
        topic: &str,
        partition: i32,
        producer_id: i64,
        values: &[&[u8]],
    ) -> Result<i64, Refusal> {
        self.append_values(topic, partition, values, Some(producer_id))
    }

    /// Commits or aborts a producer's transaction in one partition; gives the offset of the marker.
    pub fn end_transaction(
        &self,
        topic: &str,
        partition: i32,
        producer_id: i64,
        commit: bool,
    ) -> Result<i64, Refusal> {
        self.with_partition(topic, partition, |partition| {
            partition.log.end_transaction(producer_id, commit, (partition.leader_epoch, now_ms()))
        })
    }

    /// Appends one batch of magic 2 as it is, unchecked, but for the offset of its first record.
    pub fn append_raw(&self, topic: &str, partition: i32, batch: Bytes) -> Result<i64, Refusal> {
        self.with_partition(topic, partition, |partition| {
            partition.log.append_raw(batch, partition.leader_epoch)
        })
    }

    /// Has a follower's log end at `end`, as if it had not copied the rest; `None` lets it catch up.
    pub fn lag_replica(
        &self,
        topic: &str,
        partition: i32,
        broker: i32,
        end: Option<i64>,
    ) -> Result<(), Refusal> {
        self.with_partition(topic, partition, |partition| partition.lag(broker, end))
    }

    /// Has a broker forget its fetch sessions, as when it needs their places.
    pub fn evict_fetch_sessions(&self, broker: i32) {
        self.shared.change(|state| state.fetch_sessions.forget(broker));
    }

    /// How many fetch sessions a broker has.
    #[must_use]
    pub fn fetch_sessions(&self, broker: i32) -> usize {
        self.shared.state.lock().fetch_sessions.count(broker)
    }

    fn append_values(
        &self,
        topic: &str,
        partition: i32,
        values: &[&[u8]],
        producer_id: Option<i64>,
    ) -> Result<i64, Refusal> {
        self.with_partition(topic, partition, |partition| {
            partition.log.append_values(values, producer_id, (partition.leader_epoch, now_ms()))
        })
    }

    fn with_partition<T>(
        &self,
        topic: &str,
        partition: i32,
        change: impl FnOnce(&mut Partition) -> Result<T, ErrorCode>,
    ) -> Result<T, Refusal> {
        let refusal = |code: ErrorCode| Refusal::new(code, format!("{topic}-{partition}"));
        self.shared.change(|state| change(state.partition_mut(topic, partition)?)).map_err(refusal)
    }
}

//! Transactions of the cluster: what their coordinators write to partitions and groups.
//!
//! Invariant: all markers of a transaction are written at once, and its offsets are committed or dropped with
//! them. They are written after `transaction_completion_time`; until then the partitions and groups do not know
//! that it has ended.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::ClusterState;
use crate::clock::now_ms;
use crate::log::Marker;
use crate::transaction::{
    EndedTransaction, Initialized, ProducerIdAndEpoch, TransactionMetadata, TransactionalProducer,
};

impl ClusterState {
    /// Aborts the transactions that are older than their timeouts, and writes the markers that are due. Returns
    /// whether there were any.
    pub(crate) fn expire_transactions(&mut self, now: Instant) -> bool {
        let Self { transactions, next_producer_id, .. } = self;
        let mut ended = transactions.take_completed(now);
        ended.extend(transactions.expire(now, || new_id(next_producer_id)));
        let any = !ended.is_empty();
        ended.into_iter().for_each(|ended| self.write_markers(ended));
        any
    }

    /// Initializes a transactional producer.
    pub(crate) fn init_transactional_producer(
        &mut self,
        id: &str,
        expected: Option<ProducerIdAndEpoch>,
        timeout_ms: i32,
        now: Instant,
    ) -> Result<ProducerIdAndEpoch, ErrorCode> {
        if id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        let timeout = u64::try_from(timeout_ms).ok().filter(|millis| *millis > 0);
        let timeout = timeout.map(std::time::Duration::from_millis);
        let timeout = timeout.filter(|timeout| *timeout <= self.config.transaction_max_timeout);
        let timeout = timeout.ok_or(ErrorCode::InvalidTransactionTimeout)?;
        let Self { transactions, next_producer_id, .. } = self;
        if expected.is_some() && transactions.get_mut(id).is_none() {
            return Err(ErrorCode::InvalidProducerIdMapping);
        }
        let metadata = transactions.get_or_create(id, || new_id(next_producer_id));
        match metadata.init(expected, timeout, now, || new_id(next_producer_id))? {
            Initialized::Producer(producer) => Ok(producer),
            Initialized::Aborting(ended) => {
                self.complete(id, ended, now);
                Err(ErrorCode::ConcurrentTransactions)
            }
        }
    }

    /// The transaction of a producer, if its id and epoch are current.
    pub(crate) fn current_transaction(
        &mut self,
        producer: TransactionalProducer<'_>,
        now: Instant,
    ) -> Result<&mut TransactionMetadata, ErrorCode> {
        self.transactions.current(producer, now)
    }

    /// Ends a transaction. Returns the producer's next id and epoch.
    pub(crate) fn end_transaction(
        &mut self,
        producer: TransactionalProducer<'_>,
        committed: bool,
        v2: bool,
        now: Instant,
    ) -> Result<ProducerIdAndEpoch, ErrorCode> {
        let Self { transactions, next_producer_id, .. } = self;
        let ended = if v2 {
            let id = producer.transactional_id;
            let metadata = transactions.get_mut(id).ok_or(ErrorCode::InvalidProducerIdMapping)?;
            metadata.end_and_bump(producer.producer, committed, now, || new_id(next_producer_id))?
        } else {
            transactions.current(producer, now)?.end(committed)?
        };
        if let Some(ended) = ended {
            self.complete(producer.transactional_id, ended, now);
        }
        let metadata = self.transactions.get_mut(producer.transactional_id);
        metadata.map(|metadata| metadata.producer()).ok_or(ErrorCode::InvalidProducerIdMapping)
    }

    /// Writes the markers of a transaction, at once or when it is due.
    fn complete(&mut self, id: &str, ended: EndedTransaction, now: Instant) {
        let completion = self.config.transaction_completion_time;
        if completion.is_zero() {
            self.write_markers(ended);
        } else {
            self.transactions.complete_at(id, now + completion, ended);
        }
    }

    /// Writes a transaction's markers and completes its offsets. A deleted topic needs none.
    pub(crate) fn write_markers(&mut self, ended: EndedTransaction) {
        let EndedTransaction { marker, committed, partitions, groups } = ended;
        for (topic, index) in partitions {
            if let Ok(partition) = self.partition_mut(&topic, index) {
                let (leader_epoch, now) = (partition.leader_epoch, now_ms());
                let marker = Marker { producer: marker, commit: committed, coordinator_epoch: 0 };
                let written = partition.log.write_marker(marker, (leader_epoch, now));
                if let Err(code) = written {
                    tracing::error!(topic, index, %code, "a marker could not be written");
                }
            }
        }
        for group in groups {
            if let Some(group) = self.groups.get_mut(&group) {
                group.offsets.end_transaction(marker.id, committed);
            }
        }
    }
}

fn new_id(next: &mut i64) -> i64 {
    let id = *next;
    *next += 1;
    id
}

//! The open transactions of partitions: what keeps a last stable offset back, by whom and since when.
//!
//! Invariant: a transaction counts as hanging only if its partition still has it open after its coordinator
//! was asked and did not know it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Duration;

use super::list::is_open;
use super::{ProducerState, TransactionDescription, TransactionFilter};
use crate::cluster::Client;
use crate::error::Result;
use crate::topic_partition::TopicPartition;

/// An open transaction of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The producer and the first offset of its transaction there.
    pub producer: ProducerState,
    /// The first offset of the transaction in this partition. Readers of committed records read nothing from
    /// the smallest one on.
    pub start_offset: i64,
    /// The transaction as its coordinator knows it; `None` if no coordinator lists its producer, or the
    /// principal may not describe it.
    pub transaction: Option<TransactionDescription>,
    /// Whether no coordinator will end it: the transaction's coordinator does not know that it is open in
    /// this partition. It keeps the last stable offset back until it is aborted
    /// ([`Client::abort_hanging_transaction`]).
    pub is_hanging: bool,
}

impl Client {
    /// Returns the open transactions of partitions, in the order of partitions and offsets.
    pub async fn open_transactions(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
        timeout: Duration,
    ) -> Result<Vec<OpenTransaction>> {
        let mut open = self.open_in(partitions, timeout).await?;
        if open.is_empty() {
            return Ok(open);
        }
        let transactions = self.transactions_of(&open, timeout).await?;
        for found in &mut open {
            found.set_transaction(transactions.get(&found.producer.producer_id));
        }
        if open.iter().any(|found| found.is_hanging) {
            // It may have ended between the two requests.
            let suspects = open.iter().filter(|found| found.is_hanging);
            let suspects: BTreeSet<_> =
                suspects.map(|found| (Arc::clone(&found.topic), found.partition)).collect();
            let still = self.open_in(suspects, timeout).await?;
            open.retain(|found| !found.is_hanging || still.iter().any(|other| other.is_same(found)));
        }
        Ok(open)
    }

    async fn open_in(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
        timeout: Duration,
    ) -> Result<Vec<OpenTransaction>> {
        let producers = self.describe_producers(partitions, timeout).await?;
        Ok(of_producers(producers))
    }

    /// The transactions of the producers, by producer id.
    async fn transactions_of(
        &self,
        open: &[OpenTransaction],
        timeout: Duration,
    ) -> Result<HashMap<i64, TransactionDescription>> {
        let producer_ids: BTreeSet<i64> = open.iter().map(|found| found.producer.producer_id).collect();
        let filter =
            TransactionFilter { producer_ids: producer_ids.into_iter().collect(), ..Default::default() };
        let listed = self.list_transactions(&filter, timeout).await?;
        let ids = listed.into_iter().map(|listing| listing.transactional_id);
        let mut transactions = HashMap::new();
        for (_, described) in self.describe_transactions(ids, timeout).await? {
            match described {
                Ok(described) => drop(transactions.insert(described.producer_id, described)),
                // It expired after it was listed.
                Err(error) if error.code() == Some(ErrorCode::TransactionalIdNotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(transactions)
    }
}

/// The open transactions among the producers of partitions, in the order of partitions and offsets.
pub(crate) fn of_producers(
    producers: impl IntoIterator<Item = (TopicPartition, Vec<ProducerState>)>,
) -> Vec<OpenTransaction> {
    let mut open = Vec::new();
    for ((topic, partition), producers) in producers {
        for producer in producers {
            let Some(start_offset) = producer.transaction_start_offset else { continue };
            let topic = Arc::clone(&topic);
            let (transaction, is_hanging) = (None, false);
            open.push(OpenTransaction { topic, partition, producer, start_offset, transaction, is_hanging });
        }
    }
    open.sort_by(|a, b| {
        (&a.topic, a.partition, a.start_offset).cmp(&(&b.topic, b.partition, b.start_offset))
    });
    open
}

impl OpenTransaction {
    /// Sets the transaction that its coordinator knows, and whether that one does not include this partition.
    pub(crate) fn set_transaction(&mut self, known: Option<&TransactionDescription>) {
        self.is_hanging = !known.is_some_and(|known| self.is_part_of(known));
        self.transaction = known.cloned();
    }

    /// Whether the coordinator knows that the transaction is open, or is ending it, in this partition.
    fn is_part_of(&self, known: &TransactionDescription) -> bool {
        let mut partitions = known.partitions.iter();
        is_open(&known.state)
            && partitions.any(|(topic, partition)| (topic, *partition) == (&self.topic, self.partition))
    }

    /// Whether this is the same transaction in the same partition.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let key = |open: &Self| (open.partition, open.start_offset, open.producer.producer_id);
        self.topic == other.topic && key(self) == key(other)
    }
}

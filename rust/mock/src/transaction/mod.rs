//! The transaction coordinators' state: one entry per transactional id. No I/O and no clock: the time is an
//! argument.
//!
//! Invariant: every operation checks the producer id and epoch first, so that a fenced producer changes
//! nothing.

mod metadata;

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

pub(crate) use metadata::{EndedTransaction, Initialized, ProducerIdAndEpoch, STATES, TransactionMetadata};

/// All transactional ids.
#[derive(Debug, Default)]
pub(crate) struct TransactionRegistry {
    ids: BTreeMap<String, TransactionMetadata>,
    /// The transactions whose markers must still be written, and when.
    completing: Vec<(Instant, EndedTransaction)>,
}

/// The producer that a request claims to come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransactionalProducer<'a> {
    pub(crate) transactional_id: &'a str,
    pub(crate) producer: ProducerIdAndEpoch,
}

impl TransactionRegistry {
    /// The entry of an id, or a new one with a producer id from `new_producer_id`.
    pub(crate) fn get_or_create(
        &mut self,
        id: &str,
        new_producer_id: impl FnOnce() -> i64,
    ) -> &mut TransactionMetadata {
        self.ids.entry(id.to_owned()).or_insert_with(|| TransactionMetadata::new(new_producer_id()))
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut TransactionMetadata> {
        self.ids.get_mut(id)
    }

    pub(crate) fn get(&self, id: &str) -> Option<&TransactionMetadata> {
        self.ids.get(id)
    }

    /// All ids with their entries, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &TransactionMetadata)> {
        self.ids.iter()
    }

    /// The entry of a producer, if its id and epoch are current and no transaction is being completed.
    pub(crate) fn current(
        &mut self,
        producer: TransactionalProducer<'_>,
        now: Instant,
    ) -> Result<&mut TransactionMetadata, ErrorCode> {
        let metadata =
            self.ids.get_mut(producer.transactional_id).ok_or(ErrorCode::InvalidProducerIdMapping)?;
        metadata.check_producer(producer.producer)?;
        if metadata.is_completing(now) {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        Ok(metadata)
    }

    /// Ends the transactions that are older than their timeouts.
    pub(crate) fn expire(
        &mut self,
        now: Instant,
        mut new_producer_id: impl FnMut() -> i64,
    ) -> Vec<EndedTransaction> {
        let expired = self.ids.values_mut().filter(|metadata| metadata.is_expired(now));
        expired.map(|metadata| metadata.fence_and_abort(&mut new_producer_id)).collect()
    }

    /// Leaves the markers of a transaction to be written at a time.
    pub(crate) fn complete_at(&mut self, id: &str, at: Instant, ended: EndedTransaction) {
        if let Some(metadata) = self.ids.get_mut(id) {
            metadata.complete_at(at);
        }
        self.completing.push((at, ended));
    }

    /// The transactions whose markers are due.
    pub(crate) fn take_completed(&mut self, now: Instant) -> Vec<EndedTransaction> {
        self.completing.extract_if(.., |(at, _)| *at <= now).map(|(_, ended)| ended).collect()
    }
}

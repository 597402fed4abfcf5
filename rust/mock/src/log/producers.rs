//! What a log knows of its idempotent producers (KIP-98): the last batches of each, so that one that
//! comes again is recognised and one that does not follow is refused.
//!
//! As in Kafka a producer that the log does not know may start at any number, and one with a new
//! epoch at 0 only.

use std::collections::{HashMap, VecDeque};

use ottla_protocol::ErrorCode;

use super::StoredBatch;

/// How many batches of a producer a broker remembers.
const REMEMBERED: usize = 5;

/// The numbers of a batch that was appended.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    first: i32,
    last: i32,
    base_offset: i64,
}

#[derive(Debug, Default)]
struct Producer {
    epoch: i16,
    /// Not empty, the oldest first.
    batches: VecDeque<Numbers>,
}

/// The producers of a log, by their ids.
#[derive(Debug, Default)]
pub(super) struct Producers(HashMap<i64, Producer>);

/// The number of the last of `count` records, of which the first has the number `first`.
fn last_number(first: i32, count: i32) -> i32 {
    let last = (i64::from(first) + i64::from(count) - 1) & 0x7fff_ffff;
    i32::try_from(last).unwrap_or(0)
}

impl Producers {
    /// Judges a batch: the offset of the same batch if the log has it, nothing if it may be
    /// appended.
    pub(super) fn check(
        &self,
        id: i64,
        epoch: i16,
        first: i32,
        count: i32,
    ) -> Result<Option<i64>, ErrorCode> {
        let Some(producer) = self.0.get(&id).filter(|_| id >= 0) else { return Ok(None) };
        if epoch < producer.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if epoch > producer.epoch {
            return if first == 0 { Ok(None) } else { Err(ErrorCode::OutOfOrderSequenceNumber) };
        }
        let last = last_number(first, count);
        let known = producer.batches.iter().find(|known| (known.first, known.last) == (first, last));
        if let Some(known) = known {
            return Ok(Some(known.base_offset));
        }
        let next = producer.batches.back().map(|back| last_number(back.last, 2));
        if next == Some(first) { Ok(None) } else { Err(ErrorCode::OutOfOrderSequenceNumber) }
    }

    /// Notes a batch that was appended.
    pub(super) fn note(&mut self, batch: &StoredBatch) {
        // Markers have no numbers.
        if batch.producer_id < 0 || batch.base_sequence < 0 {
            return;
        }
        let producer = self.0.entry(batch.producer_id).or_default();
        if producer.epoch != batch.producer_epoch {
            *producer = Producer { epoch: batch.producer_epoch, ..Producer::default() };
        }
        let last = last_number(batch.base_sequence, batch.count);
        let numbers = Numbers { first: batch.base_sequence, last, base_offset: batch.base_offset };
        producer.batches.push_back(numbers);
        if producer.batches.len() > REMEMBERED {
            producer.batches.pop_front();
        }
    }

    /// The number that the next record of a producer has to have.
    pub(super) fn next_number(&self, id: i64) -> i32 {
        let last = self.0.get(&id).and_then(|producer| producer.batches.back());
        last.map_or(0, |numbers| last_number(numbers.last, 2))
    }

    /// Keeps only the last batch of each producer, as a broker that read its snapshot does.
    pub(super) fn keep_last(&mut self) {
        for producer in self.0.values_mut() {
            let old = producer.batches.len().saturating_sub(1);
            producer.batches.drain(..old);
        }
    }

    /// Forgets all producers, as brokers do after `producer.id.expiration.ms`.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

//! Acknowledgements of records of one partition that were acquired from one leader.
//!
//! Invariant: an acknowledgement belongs to one acquisition. If the record is acquired again, an older one
//! that has no result yet is void.

use std::sync::Arc;

use ottla_protocol::messages::{share_acknowledge, share_fetch};

use super::offset_ranges::OffsetRanges;
use crate::error::Error;
use crate::topic_partition::TopicPartition;

/// What becomes of a record that was delivered (KIP-932).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AcknowledgeType {
    /// It was processed.
    Accept,
    /// It was not processed, and may be delivered again, to any member.
    Release,
    /// It cannot be processed, and is not delivered again.
    Reject,
    /// Extends the record's acquisition lock, for more processing time (KIP-1222, Kafka 4.2).
    Renew,
}

impl AcknowledgeType {
    fn id(self) -> i8 {
        match self {
            Self::Accept => 1,
            Self::Release => 2,
            Self::Reject => 3,
            Self::Renew => 4,
        }
    }
}

/// The id of an acknowledgement of an offset without a record, such as a transaction marker.
const GAP: i8 = 0;

/// An acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acknowledgement {
    /// By the application, or implicitly on its behalf.
    Application(AcknowledgeType),
    /// By the consumer: the record was never delivered to the application.
    Undelivered,
    /// By the consumer: there is no record at the offset.
    Gap,
}

impl Acknowledgement {
    fn id(self) -> i8 {
        match self {
            Self::Application(kind) => kind.id(),
            Self::Undelivered => AcknowledgeType::Release.id(),
            Self::Gap => GAP,
        }
    }
}

/// Acknowledgements of one partition.
#[derive(Debug, Clone)]
pub(super) struct PartitionAcknowledgements {
    pub(super) partition: TopicPartition,
    pub(super) offsets: OffsetRanges<Acknowledgement>,
}

impl PartitionAcknowledgements {
    pub(super) fn new(partition: TopicPartition) -> Self {
        Self { partition, offsets: OffsetRanges::default() }
    }

    pub(super) fn has_renewals(&self) -> bool {
        let renew = Acknowledgement::Application(AcknowledgeType::Renew);
        self.offsets.iter().any(|(_, _, acknowledgement)| acknowledgement == renew)
    }

    pub(super) fn fetch_batches(&self) -> Vec<share_fetch::AcknowledgementBatch> {
        let batch = |(first_offset, last_offset, acknowledgement): (i64, i64, Acknowledgement)| {
            share_fetch::AcknowledgementBatch {
                first_offset,
                last_offset,
                acknowledge_types: vec![acknowledgement.id()],
            }
        };
        self.offsets.iter().map(batch).collect()
    }

    pub(super) fn acknowledge_batches(&self) -> Vec<share_acknowledge::AcknowledgementBatch> {
        let batch = |(first_offset, last_offset, acknowledgement): (i64, i64, Acknowledgement)| {
            share_acknowledge::AcknowledgementBatch {
                first_offset,
                last_offset,
                acknowledge_types: vec![acknowledgement.id()],
            }
        };
        self.offsets.iter().map(batch).collect()
    }

    /// The result for the application; `None` if it acknowledged nothing of this.
    pub(super) fn result(&self, error: Option<Error>) -> Option<AcknowledgementResult> {
        let mut offsets: OffsetRanges<()> = OffsetRanges::default();
        for (first, last, acknowledgement) in self.offsets.iter() {
            if matches!(acknowledgement, Acknowledgement::Application(_)) {
                offsets.insert(first, last, ());
            }
        }
        let offsets: Vec<(i64, i64)> = offsets.iter().map(|(first, last, ())| (first, last)).collect();
        let partition = (Arc::clone(&self.partition.0), self.partition.1);
        (!offsets.is_empty()).then_some(AcknowledgementResult { partition, offsets, error })
    }
}

/// The result of acknowledgements of one partition.
#[derive(Debug, Clone)]
pub struct AcknowledgementResult {
    /// The partition.
    pub partition: TopicPartition,
    /// The acknowledged offsets, as ranges: first and last.
    pub offsets: Vec<(i64, i64)>,
    /// Why the broker did not accept them, or may not have.
    pub error: Option<Error>,
}

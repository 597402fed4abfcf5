//! The open and aborted transactions of a log.
//!
//! Invariant: a transaction is open from its first batch to its marker; the last stable offset is the first
//! offset of the oldest open transaction.

use std::collections::BTreeMap;

use ottla_protocol::records::control::{ControlType, read_control_type};
use ottla_protocol::records::{Batches, Decompressor};

use super::StoredBatch;

/// An aborted transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AbortedTxn {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
    /// The offset of its marker.
    pub(crate) last_offset: i64,
}

#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// The first offset, by producer id.
    open: BTreeMap<i64, i64>,
    aborted: Vec<AbortedTxn>,
}

impl Transactions {
    /// Records an appended batch.
    pub(super) fn record(&mut self, stored: &StoredBatch) {
        let Some(Ok(batch)) = Batches::new(stored.bytes.clone()).check_crc(false).next() else { return };
        if batch.is_control() {
            let marker = read_control_type(&batch, &mut Decompressor::new()).ok().flatten();
            if !matches!(marker, Some(ControlType::Abort | ControlType::Commit)) {
                return;
            }
            let first_offset = self.open.remove(&stored.producer_id);
            if let (Some(ControlType::Abort), Some(first_offset)) = (marker, first_offset) {
                let (producer_id, last_offset) = (stored.producer_id, stored.last_offset);
                self.aborted.push(AbortedTxn { producer_id, first_offset, last_offset });
            }
        } else if batch.is_transactional() {
            self.open.entry(stored.producer_id).or_insert(stored.base_offset);
        }
    }

    /// The first offset of a producer's open transaction.
    pub(super) fn start_of(&self, producer_id: i64) -> Option<i64> {
        self.open.get(&producer_id).copied()
    }

    /// The first offset of the oldest open transaction.
    pub(super) fn first_open(&self) -> Option<i64> {
        self.open.values().min().copied()
    }

    /// The aborted transactions that overlap the offsets from `from` to before `to`.
    pub(super) fn aborted(&self, from: i64, to: i64) -> impl Iterator<Item = &AbortedTxn> {
        self.aborted.iter().filter(move |aborted| aborted.last_offset >= from && aborted.first_offset < to)
    }

    /// Drops aborted transactions before the log start.
    pub(super) fn delete_before(&mut self, offset: i64) {
        self.aborted.retain(|aborted| aborted.last_offset >= offset);
    }
}

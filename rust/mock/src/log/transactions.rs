//! What a log knows of transactions: which are open, which were aborted.
//!
//! Invariant: a transaction is open from its first batch to its marker; the last stable offset is the
//! first offset of the oldest open one.

use std::collections::BTreeMap;

use ottla_protocol::records::control::{ControlType, read_control_type};
use ottla_protocol::records::{Batches, Decompressor};

use super::StoredBatch;

/// A transaction that was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aborted {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
    /// That of its marker.
    pub(crate) last_offset: i64,
}

#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// By producer: the first offset.
    open: BTreeMap<i64, i64>,
    aborted: Vec<Aborted>,
}

impl Transactions {
    /// Notes a batch that was appended.
    pub(super) fn note(&mut self, stored: &StoredBatch) {
        let Some(Ok(batch)) = Batches::new(stored.bytes.clone()).check_crc(false).next() else { return };
        if batch.is_control() {
            let marker = read_control_type(&batch, &mut Decompressor::new()).ok().flatten();
            if !matches!(marker, Some(ControlType::Abort | ControlType::Commit)) {
                return;
            }
            let first_offset = self.open.remove(&stored.producer_id);
            if let (Some(ControlType::Abort), Some(first_offset)) = (marker, first_offset) {
                let (producer_id, last_offset) = (stored.producer_id, stored.last_offset);
                self.aborted.push(Aborted { producer_id, first_offset, last_offset });
            }
        } else if batch.is_transactional() {
            self.open.entry(stored.producer_id).or_insert(stored.base_offset);
        }
    }

    /// Where the oldest open transaction begins.
    pub(super) fn first_open(&self) -> Option<i64> {
        self.open.values().min().copied()
    }

    /// The aborted transactions that have something from `from` on and before `to`.
    pub(super) fn aborted(&self, from: i64, to: i64) -> impl Iterator<Item = &Aborted> {
        self.aborted.iter().filter(move |aborted| aborted.last_offset >= from && aborted.first_offset < to)
    }

    /// Forgets what lies before the log's start.
    pub(super) fn delete_before(&mut self, offset: i64) {
        self.aborted.retain(|aborted| aborted.last_offset >= offset);
    }
}

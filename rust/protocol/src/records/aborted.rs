//! Selects the batches that a `read_committed` reader sees.
//!
//! Invariant: the selection depends on the set of aborted transactions that the broker sent with the
//! records, not on their order nor on duplicates.

use std::collections::HashSet;

use super::control::{ControlType, read_control_type};
use super::{Batch, Decompressor, RecordError};

/// An aborted transaction, as a Fetch response lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbortedTransaction {
    /// Its first offset in this partition.
    pub first_offset: i64,
    /// Its producer's id.
    pub producer_id: i64,
}

/// The aborted transactions of one partition's fetched records. Pass batches in log order.
#[derive(Debug, Clone, Default)]
pub struct AbortedTransactions {
    /// The transactions that have not begun yet, the next one last.
    upcoming: Vec<AbortedTransaction>,
    /// The producers with an aborted transaction that has begun and not ended.
    aborted_producers: HashSet<i64>,
}

impl AbortedTransactions {
    /// Takes the list of a Fetch response.
    #[must_use]
    pub fn new(list: impl IntoIterator<Item = AbortedTransaction>) -> Self {
        let mut upcoming: Vec<_> = list.into_iter().collect();
        upcoming.sort_unstable_by(|a, b| b.cmp(a));
        Self { upcoming, aborted_producers: HashSet::new() }
    }

    /// Whether the records of `batch` are for the application: not markers, and not aborted.
    ///
    /// # Errors
    /// [`RecordError`] if a marker is malformed.
    pub fn admits(&mut self, batch: &Batch, decompressor: &mut Decompressor) -> Result<bool, RecordError> {
        while let Some(next) = self.upcoming.pop_if(|next| next.first_offset <= batch.last_offset()) {
            self.aborted_producers.insert(next.producer_id);
        }
        if batch.is_control() {
            // Without aborted producers there is no need to read the marker.
            if !self.aborted_producers.is_empty()
                && read_control_type(batch, decompressor)? == Some(ControlType::Abort)
            {
                self.aborted_producers.remove(&batch.producer_id());
            }
            return Ok(false);
        }
        Ok(!(batch.is_transactional() && self.aborted_producers.contains(&batch.producer_id())))
    }
}

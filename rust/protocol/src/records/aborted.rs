//! Which batches a `read_committed` reader sees.
//!
//! Invariant: the verdict depends on the set of aborted transactions that the broker sent with the
//! records, not on its order, nor on how often one is in it.

use std::collections::HashSet;

use super::control::{ControlType, read_control_type};
use super::{Batch, RecordError, Scratch};

/// One entry of a Fetch response's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbortedTransaction {
    /// Where it begins in this partition.
    pub first_offset: i64,
    /// Whose it was.
    pub producer_id: i64,
}

/// The aborted transactions of one fetched blob. Batches must be shown in the order of the log.
#[derive(Debug, Clone, Default)]
pub struct AbortedTransactions {
    /// The next to begin is the last.
    ahead: Vec<AbortedTransaction>,
    open: HashSet<i64>,
}

impl AbortedTransactions {
    /// From the list of a Fetch response.
    #[must_use]
    pub fn new(list: impl IntoIterator<Item = AbortedTransaction>) -> Self {
        let mut ahead: Vec<_> = list.into_iter().collect();
        ahead.sort_unstable_by(|a, b| b.cmp(a));
        Self { ahead, open: HashSet::new() }
    }

    /// Whether the records of `batch` are for the application: markers and what was aborted are not.
    ///
    /// # Errors
    /// [`RecordError`] if a marker is malformed.
    pub fn admits(&mut self, batch: &Batch, scratch: &mut Scratch) -> Result<bool, RecordError> {
        while let Some(next) = self.ahead.pop_if(|next| next.first_offset <= batch.last_offset()) {
            self.open.insert(next.producer_id);
        }
        if batch.is_control() {
            // A list without entries needs no markers to be read.
            if !self.open.is_empty() && read_control_type(batch, scratch)? == Some(ControlType::Abort) {
                self.open.remove(&batch.producer_id());
            }
            return Ok(false);
        }
        Ok(!(batch.is_transactional() && self.open.contains(&batch.producer_id())))
    }
}

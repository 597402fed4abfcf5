//! The results of a response that has one per partition.
//!
//! Invariant: the request succeeds only if every partition has a result and none has failed.

use crate::error::{Error, Kind, Result};

/// Collects the results of one response. Of several errors, one that cannot be retried counts.
#[derive(Default)]
pub(super) struct PartitionResults {
    count: usize,
    failure: Option<Error>,
}

impl PartitionResults {
    pub(super) fn add(&mut self, result: Result<()>) {
        self.count += 1;
        if let Err(error) = result
            && self.failure.as_ref().is_none_or(Error::is_transient)
        {
            self.failure = Some(error);
        }
    }

    pub(super) fn finish(self, requested: usize) -> Result<()> {
        match self.failure {
            Some(failure) => Err(failure),
            None if self.count < requested => {
                Err(Error::new(Kind::Protocol, "the response lacks some of the partitions"))
            }
            None => Ok(()),
        }
    }
}

//! Applies a member's acknowledgements to the records that it has acquired.
//!
//! Invariant: the batches of one call are applied all or none.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::SharePartition;
use super::record::RecordState;
use crate::config::ShareGroupConfig;

/// What a member did with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acknowledgement {
    /// There is no record at the offset.
    Gap,
    Accept,
    Release,
    Reject,
    /// It keeps the record and needs more time (KIP-1222).
    Renew,
}

impl Acknowledgement {
    pub(crate) fn from_code(code: i8) -> Option<Self> {
        match code {
            0 => Some(Self::Gap),
            1 => Some(Self::Accept),
            2 => Some(Self::Release),
            3 => Some(Self::Reject),
            4 => Some(Self::Renew),
            _ => None,
        }
    }
}

/// The acknowledgements of a range of offsets: one for all, or one each.
#[derive(Debug, Clone)]
pub(crate) struct AcknowledgementBatch {
    pub(crate) first_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) types: Vec<Acknowledgement>,
}

impl AcknowledgementBatch {
    fn at(&self, offset: i64) -> Option<Acknowledgement> {
        match self.types.as_slice() {
            [all] => Some(*all),
            each => each.get(usize::try_from(offset - self.first_offset).ok()?).copied(),
        }
    }
}

/// An error code and its message.
pub(crate) type AcknowledgeError = (ErrorCode, &'static str);

impl SharePartition {
    /// Applies a member's acknowledgements.
    pub(crate) fn acknowledge(
        &mut self,
        member_id: &str,
        batches: &[AcknowledgementBatch],
        config: &ShareGroupConfig,
        now: Instant,
    ) -> Result<(), AcknowledgeError> {
        let mut changes = Vec::new();
        for batch in batches {
            self.plan(member_id, batch, &mut changes)?;
        }
        let mut is_stored = false;
        for (at, acknowledgement) in changes {
            let Some(record) = self.records.get_mut(at) else { continue };
            is_stored |= acknowledgement != Acknowledgement::Renew;
            match acknowledgement {
                Acknowledgement::Accept => record.finish(RecordState::Acknowledged),
                Acknowledgement::Gap | Acknowledgement::Reject => record.finish(RecordState::Archived),
                Acknowledgement::Release => record.release(config.delivery_count_limit),
                Acknowledgement::Renew => record.renew(now + config.record_lock_duration),
            }
        }
        if is_stored {
            self.persist();
        }
        Ok(())
    }

    /// Adds the changes of a batch to the plan: places of records with what becomes of them.
    fn plan(
        &self,
        member_id: &str,
        batch: &AcknowledgementBatch,
        changes: &mut Vec<(usize, Acknowledgement)>,
    ) -> Result<(), AcknowledgeError> {
        if batch.last_offset < self.start_offset {
            return Ok(());
        }
        if self.records.is_empty() {
            let why = "Batch record not found. The request batch offsets are not found in the cache.";
            return Err((ErrorCode::InvalidRecordState, why));
        }
        let end = self.end_offset();
        if batch.first_offset >= end {
            let why = "Batch record not found. The first offset in request is past acquired records.";
            return Err((ErrorCode::InvalidRequest, why));
        }
        if batch.last_offset >= end {
            let why = "Batch record not found. The last offset in request is past acquired records.";
            return Err((ErrorCode::InvalidRequest, why));
        }
        for offset in batch.first_offset.max(self.start_offset)..=batch.last_offset {
            let found = self.index(offset).and_then(|at| Some((at, self.records.get(at)?)));
            // A batch that names the same offset again finds it changed.
            let Some((at, record)) = found.filter(|(at, _)| !is_finished_by(changes, *at)) else {
                return Err((
                    ErrorCode::InvalidRecordState,
                    "The offset cannot be acknowledged. The offset is not acquired.",
                ));
            };
            if record.locked_until().is_none() {
                let why = "The offset cannot be acknowledged. The offset is not acquired.";
                return Err((ErrorCode::InvalidRecordState, why));
            }
            if !record.is_acquired_by(member_id) {
                return Err((ErrorCode::InvalidRecordState, "Member is not the owner of offset"));
            }
            let acknowledgement = batch
                .at(offset)
                .ok_or((ErrorCode::InvalidRequest, "The batch has too few acknowledge types."))?;
            changes.push((at, acknowledgement));
        }
        Ok(())
    }
}

/// Whether the plan ends the acquisition of the record at this place. Batches ascend, so that only the last one counts.
fn is_finished_by(changes: &[(usize, Acknowledgement)], at: usize) -> bool {
    changes.last().is_some_and(|(last, what)| *last >= at && *what != Acknowledgement::Renew)
}

//! Renewals of locks that have expired before they could be sent.
//!
//! Invariant: no such renewal is sent. A broker confirms it if another member has finished the record, so the
//! record would be delivered again, and as its holder.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::state::ShareState;
use crate::error::Error;

impl ShareState {
    /// Fails renewals that come too late. Returns whether there were any.
    pub(super) fn fail_late_renewals(&mut self, now: Instant) -> bool {
        let late = self.renewing.iter().filter(|fetch| fetch.locked_until <= now);
        let late: Vec<_> = late.map(|fetch| (fetch.leader, fetch.id, fetch.acquired.clone())).collect();
        let mut has_failed = false;
        for (leader, id, offsets) in late {
            // Those in flight get their result from the broker.
            let withdrawn = self.leaders.get_mut(&leader).and_then(|state| state.withdraw(id, &offsets));
            let Some(withdrawn) = withdrawn.filter(|it| !it.offsets.is_empty()) else { continue };
            let message = "the acquisition lock expired before it was renewed: the records are delivered again, unless another member has finished them";
            let error = Error::with_code(ErrorCode::InvalidRecordState, message).broker(leader);
            self.fail_acknowledgements(leader, std::iter::once(&withdrawn), &error, now);
            has_failed = true;
        }
        has_failed
    }
}

//! Purging: the application gives up records that are not acknowledged yet.
//!
//! Invariants: a purged record is never sent, unless it is in flight already; then its error says that it may have been
//! written. Its sequence numbers are handled as those of an expired one: what may have been written keeps them.

use super::Producer;
use super::drain::ExpiredInFlight;
use crate::error::{Error, Kind};

impl Producer {
    /// Fails records that are not acknowledged, with [`Kind::Purged`]: those that are `queued` to be sent, and those
    /// `in_flight`, which may be written all the same. A transaction with such records can only be aborted. Returns
    /// the number of records.
    pub fn purge(&self, queued: bool, in_flight: bool) -> usize {
        let unsent = Error::new(Kind::Purged, "not sent: purge() has given the record up");
        let purged = if queued { self.accumulator().fail_queued(&unsent) } else { 0 };
        if in_flight { purged + self.purge_in_flight() } else { purged }
    }

    fn purge_in_flight(&self) -> usize {
        let mut purged = 0;
        for ExpiredInFlight { part, count, .. } in self.accumulator().in_flight() {
            let error = Error::new(Kind::Purged, "purge() has given the record up while it was being sent");
            self.accumulator().transaction_failed(&part, &error, true);
            self.accumulator().metrics.failed(&part.partition().0, count);
            part.complete(Err(error));
            purged += count;
        }
        purged
    }

    /// The number of records that are accepted, and neither acknowledged nor failed.
    #[must_use]
    pub fn unacknowledged_records(&self) -> usize {
        self.accumulator().unacknowledged_records()
    }
}

//! `Contact`: whether a coordinator may know of a member, which decides whether the member has to leave.
//!
//! Invariant: a member that has given up before its first request sends none any more.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Kind, Result};

const NONE: u8 = 0;
const MADE: u8 = 1;
const GIVEN_UP: u8 = 2;

/// Whether a request of a member was sent to a coordinator.
#[derive(Debug, Default)]
pub(super) struct Contact(AtomicU8);

impl Contact {
    /// Called before each request to the coordinator.
    ///
    /// # Errors
    /// The member has given up.
    pub(super) fn make(&self) -> Result<()> {
        match self.0.compare_exchange(NONE, MADE, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) | Err(MADE) => Ok(()),
            Err(_) => Err(Error::new(Kind::Closed, "this member was closed before it joined its group")),
        }
    }

    /// Gives up, unless a coordinator may know of the member. Returns whether it did.
    pub(super) fn give_up(&self) -> bool {
        self.0.compare_exchange(NONE, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire) != Err(MADE)
    }
}

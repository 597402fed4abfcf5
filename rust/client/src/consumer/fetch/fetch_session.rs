//! Fetch sessions (KIP-227): a broker remembers what is fetched from it, so that a request names only
//! what has changed since the one before. No I/O.
//!
//! Invariant: what is remembered here is what the broker remembers, or the next request says all
//! again: after an answer that was lost, or a request that may not have been sent, nobody knows, and the
//! session is begun anew.

use std::collections::HashMap;

use ottla_protocol::ErrorCode;

use crate::consumer::fetch::request::{Ask, Position};
use crate::topic_partition::TopicPartition;

/// The epoch of a request that begins a session, and ends the one it names.
const INITIAL: i32 = 0;

/// The session with one broker.
#[derive(Debug, Default)]
pub(crate) struct FetchSession {
    id: i32,
    epoch: i32,
    /// What the broker was told last.
    known: HashMap<TopicPartition, Position>,
}

impl FetchSession {
    /// The request that has the broker answer for exactly these partitions.
    pub(crate) fn ask(&mut self, positions: Vec<Position>) -> Ask {
        let has_id = |position: &Position| !position.topic_id.is_zero();
        let by_id = positions.iter().all(has_id);
        let same_topic = |position: &Position| {
            self.known.get(&position.partition).is_none_or(|known| known.topic_id == position.topic_id)
        };
        // A session speaks of topics by id or by name, and a topic that was made anew is another.
        if self.known.values().any(|known| has_id(known) != by_id) || !positions.iter().all(same_topic) {
            self.reset();
        }
        let (session_id, session_epoch) = (self.id, self.epoch);
        if session_epoch == INITIAL {
            self.known = positions.iter().map(|p| (p.partition.clone(), p.clone())).collect();
            return Ask { session_id, session_epoch, positions, forgotten: Vec::new(), by_id };
        }
        let mut before = std::mem::take(&mut self.known);
        let mut changed = Vec::new();
        for position in positions {
            if before.remove(&position.partition).as_ref() != Some(&position) {
                changed.push(position.clone());
            }
            self.known.insert(position.partition.clone(), position);
        }
        let mut forgotten: Vec<_> =
            before.into_iter().map(|(partition, known)| (partition, known.topic_id)).collect();
        forgotten.sort_unstable();
        Ask { session_id, session_epoch, positions: changed, forgotten, by_id }
    }

    /// Takes in what the broker said of the session.
    pub(crate) fn answered(&mut self, error: ErrorCode, session_id: i32) {
        match error {
            ErrorCode::None if session_id == 0 => *self = Self::default(),
            ErrorCode::None => {
                self.id = session_id;
                // Kafka goes back to 1 after the largest.
                self.epoch = self.epoch.checked_add(1).unwrap_or(1);
            }
            // There is none to end.
            ErrorCode::FetchSessionIdNotFound => *self = Self::default(),
            _ => self.reset(),
        }
    }

    /// Nobody knows what the broker remembers: the next request begins anew and ends this session.
    pub(crate) fn reset(&mut self) {
        self.epoch = INITIAL;
        self.known.clear();
    }

    /// The request that ends it, so that the broker need not remember it any longer; `None` if there
    /// is nothing to end.
    pub(crate) fn end(&mut self) -> Option<Ask> {
        let by_id = self.known.values().all(|known| !known.topic_id.is_zero());
        let session_id = std::mem::take(self).id;
        (session_id != 0).then(|| Ask { session_id, session_epoch: -1, by_id, ..Ask::default() })
    }
}

#[cfg(test)]
mod tests;

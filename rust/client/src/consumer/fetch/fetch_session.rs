//! Fetch sessions (KIP-227): the broker remembers the fetched partitions, and a request names only what has
//! changed. No I/O.
//!
//! Invariant: the partitions remembered here match the broker's, or the next request names all of them.
//! After a lost response, or a request that may not have been sent, a new session is opened.

use std::collections::HashMap;

use ottla_protocol::ErrorCode;

use crate::consumer::fetch::request::{FetchRequestData, RequestedPartition};
use crate::topic_partition::TopicPartition;

/// The epoch of a request that starts a session and closes the one it names.
const INITIAL: i32 = 0;

/// The fetch session with one broker.
#[derive(Debug, Default)]
pub(crate) struct FetchSession {
    id: i32,
    epoch: i32,
    /// The partitions as last sent.
    partitions: HashMap<TopicPartition, RequestedPartition>,
}

impl FetchSession {
    /// Builds a request after which the broker fetches exactly these partitions.
    pub(crate) fn build_request_data(&mut self, partitions: Vec<RequestedPartition>) -> FetchRequestData {
        let has_id = |requested: &RequestedPartition| !requested.topic_id.is_zero();
        let by_id = partitions.iter().all(has_id);
        let same_topic = |requested: &RequestedPartition| {
            self.partitions.get(&requested.partition).is_none_or(|known| known.topic_id == requested.topic_id)
        };
        // A session names topics either by id or by name; a recreated topic needs a new session.
        if self.partitions.values().any(|known| has_id(known) != by_id) || !partitions.iter().all(same_topic)
        {
            self.reset();
        }
        let (session_id, session_epoch) = (self.id, self.epoch);
        if session_epoch == INITIAL {
            self.partitions = partitions.iter().map(|p| (p.partition.clone(), p.clone())).collect();
            return FetchRequestData { session_id, session_epoch, partitions, forgotten: Vec::new(), by_id };
        }
        let mut previous = std::mem::take(&mut self.partitions);
        let mut changed = Vec::new();
        for requested in partitions {
            if previous.remove(&requested.partition).as_ref() != Some(&requested) {
                changed.push(requested.clone());
            }
            self.partitions.insert(requested.partition.clone(), requested);
        }
        let mut forgotten: Vec<_> =
            previous.into_iter().map(|(partition, known)| (partition, known.topic_id)).collect();
        forgotten.sort_unstable();
        FetchRequestData { session_id, session_epoch, partitions: changed, forgotten, by_id }
    }

    /// Whether the broker fetches this partition.
    pub(crate) fn has(&self, partition: &TopicPartition) -> bool {
        self.partitions.contains_key(partition)
    }

    /// Updates the session from a response.
    pub(crate) fn handle_response(&mut self, error: ErrorCode, session_id: i32) {
        match error {
            ErrorCode::None if session_id == 0 => *self = Self::default(),
            ErrorCode::None => {
                self.id = session_id;
                // After the largest epoch Kafka continues with 1.
                self.epoch = self.epoch.checked_add(1).unwrap_or(1);
            }
            // The broker has no session to close.
            ErrorCode::FetchSessionIdNotFound => *self = Self::default(),
            _ => self.reset(),
        }
    }

    /// Resets the session: the next request closes it and names all partitions.
    pub(crate) fn reset(&mut self) {
        self.epoch = INITIAL;
        self.partitions.clear();
    }

    /// Builds the request that closes the session, to free the broker's memory; `None` without a session.
    pub(crate) fn close_request(&mut self) -> Option<FetchRequestData> {
        let by_id = self.partitions.values().all(|known| !known.topic_id.is_zero());
        let session_id = std::mem::take(self).id;
        (session_id != 0).then(|| FetchRequestData {
            session_id,
            session_epoch: -1,
            by_id,
            ..FetchRequestData::default()
        })
    }
}

#[cfg(test)]
mod tests;

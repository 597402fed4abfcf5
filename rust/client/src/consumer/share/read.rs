//! Delivers acquired records one by one.
//!
//! Invariants: a record leaves the buffer as it is delivered. A fetch is decoded in steps, of about as many bytes as a
//! poll delivers. Of a decoded fetch, acquired offsets without a record become gaps; a malformed batch is released,
//! and the poll that reaches it returns the error.

use std::collections::VecDeque;

use ottla_protocol::records::Decompressor;
use tokio::time::Instant;

use super::ShareConsumer;
use super::acknowledgements::{AcknowledgeType, Acknowledgement};
use super::acquired_fetch::AcquiredFetch;
use super::state::ShareState;
use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::read::read_limit::ReadLimit;
use crate::consumer::read::record_buffer::ConvertError;
use crate::consumer::read::record_decoder::{Remainder, decode};
use crate::consumer::read::record_set::{RecordEntry, RecordSet};
#[cfg(feature = "arrow")]
use crate::consumer::read::typed_set;
use crate::error::Error;
#[cfg(feature = "arrow")]
use crate::typed::{InvalidFields, TypedColumns};

/// The decoded records of the first buffered fetch.
#[derive(Debug)]
pub(super) struct DecodedFetch {
    sets: VecDeque<RecordSet>,
    /// The index of the next record in the first set.
    pub(super) next_index: usize,
    /// What was not decoded yet.
    rest: Option<CompletedFetch>,
    pub(super) malformed: Option<Error>,
    /// The version of the buffer's front.
    version: u64,
}

impl DecodedFetch {
    pub(super) fn new(fetch: &AcquiredFetch, version: u64, decompressor: &mut Decompressor) -> Self {
        let rest = Some(fetch.to_completed_fetch());
        let mut new = Self { sets: VecDeque::new(), next_index: 0, rest, malformed: None, version };
        new.decode_more(fetch, decompressor);
        new
    }

    /// Decodes the next acquired records, once those decoded before were delivered.
    fn decode_more(&mut self, fetch: &AcquiredFetch, decompressor: &mut Decompressor) {
        while self.next().is_none()
            && let Some(rest) = self.rest.take()
        {
            let mut sets = Vec::new();
            match decode(rest, &mut ReadLimit::new(usize::MAX), decompressor, &mut sets).0 {
                Remainder::None => {}
                Remainder::Fetch(rest) => self.rest = Some(rest),
                Remainder::Malformed(_, error) => self.malformed = Some(error),
            }
            for mut set in sets {
                set.entries.retain(|entry| fetch.acquired.get(entry.offset).is_some());
                self.sets.push_back(set);
            }
        }
    }

    /// Whether all records of the fetch were delivered.
    pub(super) fn is_exhausted(&mut self) -> bool {
        self.next().is_none() && self.rest.is_none()
    }

    /// The sets whose keys and values were not decoded.
    #[cfg(feature = "arrow")]
    pub(super) fn undecoded(&mut self) -> impl Iterator<Item = &mut RecordSet> {
        self.sets.iter_mut().filter(|set| set.typed.is_none())
    }

    /// Decodes the keys and values of the next records, whose schemas were looked up.
    #[cfg(feature = "arrow")]
    pub(super) fn decode_typed(
        &mut self,
        typed: &TypedColumns,
        invalid: &InvalidFields,
    ) -> crate::error::Result<()> {
        // Sets whose records were all delivered are still here.
        self.next();
        typed_set::decode(typed, &mut self.sets, invalid)
    }

    /// The next record, if there is one.
    pub(super) fn next(&mut self) -> Option<(&RecordSet, &RecordEntry)> {
        while self.sets.front().is_some_and(|set| self.next_index >= set.entries.len()) {
            self.sets.pop_front();
            self.next_index = 0;
        }
        let set = self.sets.front()?;
        Some((set, set.entries.get(self.next_index)?))
    }
}

impl ShareConsumer {
    /// Returns the first buffered fetch with its decoded records, which are kept from the last call if they are its.
    pub(super) fn decode_front<'a>(
        &self,
        decoded: &'a mut Option<DecodedFetch>,
        now: Instant,
    ) -> Option<(AcquiredFetch, &'a mut DecodedFetch)> {
        let (fetch, version) = {
            let mut state = self.shared.state.lock();
            state.drop_expired(now);
            (state.buffered.front()?.clone(), state.front_version)
        };
        if decoded.as_ref().is_some_and(|decoded| decoded.version != version) {
            *decoded = None;
        }
        let mut decompressor = self.decompressor.lock();
        let decoded_fetch = match decoded {
            Some(decoded_fetch) => {
                decoded_fetch.decode_more(&fetch, &mut decompressor);
                decoded_fetch
            }
            none => none.insert(DecodedFetch::new(&fetch, version, &mut decompressor)),
        };
        decompressor.trim();
        Some((fetch, decoded_fetch))
    }

    /// Whether a set may be delivered: its keys and values were decoded, if they are to be.
    fn is_decoded(&self, set: &RecordSet) -> bool {
        #[cfg(feature = "arrow")]
        return self.typed.is_empty() || set.typed.is_some();
        #[cfg(not(feature = "arrow"))]
        {
            let _ = set;
            true
        }
    }

    /// Converts and delivers buffered records, at most `max_records`, and no more once they take 16 MiB; `convert`
    /// also gets the delivery count.
    ///
    /// The error of a record that cannot be converted is returned once the records before it are delivered.
    /// Then that record counts as delivered, too, and is marked to be released: the application may
    /// acknowledge it otherwise. After an interruption all records of the call are released.
    pub fn pop_records<T, E: From<Error>>(
        &self,
        max_records: usize,
        mut convert: impl FnMut(&RecordSet, &RecordEntry, i16) -> Result<T, ConvertError<E>>,
    ) -> Result<Vec<T>, E> {
        let mut records = Vec::new();
        let mut decoded = self.decoded.lock().take();
        #[cfg(feature = "arrow")]
        self.columns_cursor.lock().take();
        let (now, mut limit) = (Instant::now(), ReadLimit::new(max_records));
        while !limit.is_reached() {
            let Some((fetch, decoded_fetch)) = self.decode_front(&mut decoded, now) else { break };
            if decoded_fetch.next().is_some_and(|(set, _)| !self.is_decoded(set)) {
                break;
            }
            let mut failure = None;
            let mut delivered: Vec<(i64, i16)> = Vec::new();
            while !limit.is_reached()
                && let Some((set, entry)) = decoded_fetch.next()
                && self.is_decoded(set)
            {
                let (offset, count) = (entry.offset, fetch.acquired.get(entry.offset).unwrap_or_default());
                match convert(set, entry, count) {
                    Ok(record) => records.push(record),
                    Err(error) => {
                        failure = Some((offset, count, error));
                        break;
                    }
                }
                delivered.push((offset, count));
                limit.count(entry);
                decoded_fetch.next_index += 1;
            }
            if matches!(failure, Some((.., ConvertError::Record(_)))) && records.is_empty() {
                decoded_fetch.next_index += 1;
            }
            let is_exhausted = failure.is_none() && decoded_fetch.is_exhausted();
            let mut state = self.shared.state.lock();
            state.deliver(&fetch, &delivered);
            match failure {
                None => {}
                Some((_, _, ConvertError::Interrupted(error))) => {
                    state.delivered.acknowledge_rest(AcknowledgeType::Release);
                    return Err(error);
                }
                Some((offset, count, ConvertError::Record(error))) => {
                    if records.is_empty() {
                        state.deliver(&fetch, &[(offset, count)]);
                        let (topic, partition) = &fetch.partition;
                        // Delivered just now, so this cannot fail.
                        let release = AcknowledgeType::Release;
                        let _ = state.delivered.acknowledge(topic, *partition, offset, release);
                        drop(state);
                        *self.decoded.lock() = decoded;
                        return Err(error);
                    }
                    break;
                }
            }
            if is_exhausted {
                let malformed = decoded_fetch.malformed.take();
                decoded = None;
                if let Some(error) = state.finish_front(malformed, now) {
                    if records.is_empty() {
                        return Err(error.into());
                    }
                    state.push_error(error);
                    break;
                }
            }
        }
        *self.decoded.lock() = decoded;
        self.shared.fetcher_wakeup.notify_one();
        Ok(records)
    }
}

impl ShareState {
    /// Moves records of the first buffered fetch to the delivered ones.
    pub(super) fn deliver(&mut self, fetch: &AcquiredFetch, delivered: &[(i64, i16)]) {
        let front =
            self.buffered.front_mut().filter(|front| front.records.as_ptr() == fetch.records.as_ptr());
        if let Some(front) = front {
            for (offset, _) in delivered {
                front.acquired.remove(*offset, *offset);
            }
        }
        for (offset, count) in delivered {
            self.delivered.add(fetch, *offset, *offset, *count);
        }
    }

    /// Removes the first buffered fetch, whose records were delivered. What is left of it are gaps, or a
    /// malformed batch. Returns the error of the latter.
    pub(super) fn finish_front(&mut self, malformed: Option<Error>, now: Instant) -> Option<Error> {
        let fetch = self.pop_front()?;
        let how = if malformed.is_some() { Acknowledgement::Undelivered } else { Acknowledgement::Gap };
        self.acknowledge_all(&fetch, how, now);
        malformed.map(|error| {
            let error = error.prefixed("malformed records were released");
            error.at(&fetch.partition.0, fetch.partition.1)
        })
    }
}

//! [`ResponseFault`]: what happens to the response to a request, after the broker has handled it.
//!
//! Invariants: a response keeps its length, unless it is cut. One that is too long to be looked at passes unharmed.

use std::sync::Arc;

use ottla_faults::{FaultId, Match};
use ottla_protocol::header::LENGTH_PREFIX;
use ottla_protocol::{ApiKey, ErrorCode};

use super::Faults;
use super::items::{Item, Items, Level};

/// The longest response in which something is changed: it is gathered.
pub(crate) const CHANGED_MAX: usize = 64 * 1024 * 1024;

/// The bytes in front of a response's body: length and correlation id.
const PREAMBLE: usize = LENGTH_PREFIX + 4;
/// The place of the length of the first batch in records, and the bytes of a batch that it does not count.
const BATCH_LENGTH: usize = 8;
const BATCH_OVERHEAD: usize = 12;

/// What happens to a response.
#[derive(Debug)]
pub(crate) struct ResponseFault {
    pub(super) faults: Arc<Faults>,
    /// The connection closes instead of the response.
    pub(super) disconnect: Option<FaultId>,
    /// The connection closes after half of the response.
    pub(super) truncate: Option<FaultId>,
    pub(super) throttle: Option<(FaultId, i32)>,
    pub(super) errors: Vec<(FaultId, Match, ErrorCode)>,
    pub(super) corrupt: Option<(FaultId, Match)>,
    /// Whether the response names topics with their ids.
    pub(super) learns: bool,
}

impl ResponseFault {
    pub(super) fn new(faults: &Arc<Faults>) -> Self {
        Self {
            faults: Arc::clone(faults),
            disconnect: None,
            truncate: None,
            throttle: None,
            errors: Vec::new(),
            corrupt: None,
            learns: false,
        }
    }

    pub(super) fn is_needed(&self) -> bool {
        self.disconnect.is_some() || self.needs_frame()
    }

    /// Whether the response is lost.
    pub(crate) fn disconnects(&self) -> bool {
        self.disconnect.is_some()
    }

    /// Whether only half of the response is sent.
    pub(crate) fn truncates(&self) -> bool {
        self.truncate.is_some()
    }

    /// Whether the whole response must be there.
    pub(crate) fn needs_frame(&self) -> bool {
        self.truncate.is_some()
            || self.throttle.is_some()
            || !self.errors.is_empty()
            || self.corrupt.is_some()
            || self.learns
    }

    /// Takes back the hits, of a response that passes unharmed or never comes.
    pub(crate) fn undo(&self) {
        self.undo_changes();
        self.disconnect.iter().for_each(|id| self.faults.undo_hit(*id));
    }

    /// Takes back the hits of all but the end of the connection, of a response that is lost with it.
    pub(crate) fn undo_changes(&self) {
        self.undo_fields();
        self.truncate.iter().for_each(|id| self.faults.undo_hit(*id));
    }

    /// Takes back the hits that change fields, of bytes that are no response.
    pub(super) fn undo_fields(&self) {
        let ids = self.errors.iter().map(|(id, _, _)| *id);
        let ids = ids.chain(self.throttle.map(|(id, _)| id));
        ids.chain(self.corrupt.as_ref().map(|(id, _)| *id)).for_each(|id| self.faults.undo_hit(id));
    }

    /// Changes no field.
    pub(super) fn forget_fields(&mut self) {
        (self.throttle, self.corrupt, self.learns) = (None, None, false);
        self.errors.clear();
    }

    /// Changes a response in place; `frame` is all of it, with its length.
    pub(crate) fn change(&self, api: ApiKey, version: i16, frame: &mut [u8]) {
        let Some(body) = frame.get_mut(PREAMBLE..) else { return };
        let items = Items::of(api, version, body);
        if self.learns {
            for item in &items.found {
                if let (Some(id), Some(name)) = (item.topic_id, item.topic.as_deref()) {
                    self.faults.names.learn(id, |known| known == name, || name.to_owned());
                }
            }
        }
        if let Some((id, ms)) = self.throttle {
            match items.throttle {
                Some(at) => write(body, at, &ms.to_be_bytes()),
                None => self.faults.undo_hit(id),
            }
        }
        for (id, on, code) in &self.errors {
            let level = level_of(api, *code, on, &items);
            let places: Vec<usize> = items
                .found
                .iter()
                .filter(|item| item.level() == level && self.covers(on, item))
                .filter_map(|item| item.code)
                .collect();
            if places.is_empty() {
                self.faults.undo_hit(*id);
            }
            places.into_iter().for_each(|at| write(body, at, &code.code().to_be_bytes()));
        }
        if let Some((id, on)) = &self.corrupt {
            let found = items.found.iter().filter(|item| self.covers(on, item));
            let place = found.filter_map(|item| item.records.clone()).find_map(|records| {
                let records = body.get(records.clone()).map(|bytes| (records.start, bytes))?;
                last_bit(records.1).map(|at| records.0 + at)
            });
            match place.and_then(|at| body.get_mut(at)) {
                Some(byte) => *byte ^= 1,
                None => self.faults.undo_hit(*id),
            }
        }
    }

    fn covers(&self, on: &Match, item: &Item) -> bool {
        let by_id = || item.topic_id.and_then(|id| self.faults.names.get(id));
        match item.level() {
            Level::Request => true,
            _ => {
                let name = item.topic.clone().or_else(by_id).unwrap_or_default();
                on.covers(&name, item.partition)
            }
        }
    }
}

/// The parts of a response that get an error: the partitions if it has some, else the topics, else the request.
fn level_of(api: ApiKey, code: ErrorCode, on: &Match, items: &Items) -> Level {
    let of_session = matches!(
        code,
        ErrorCode::FetchSessionIdNotFound
            | ErrorCode::InvalidFetchSessionEpoch
            | ErrorCode::FetchSessionTopicIdError
            | ErrorCode::ShareSessionNotFound
            | ErrorCode::InvalidShareSessionEpoch
            | ErrorCode::ShareSessionLimitReached
            | ErrorCode::RebootstrapRequired
    );
    match api {
        _ if of_session => Level::Request,
        // An empty response of a session has none that could fail.
        ApiKey::Fetch | ApiKey::ShareFetch | ApiKey::Produce => Level::Partition,
        ApiKey::Metadata => Level::Topic,
        ApiKey::OffsetFetch if !on.has_target() && items.found.iter().any(is_of_request) => Level::Request,
        _ => {
            let with_code = items.found.iter().filter(|item| item.code.is_some());
            with_code.map(Item::level).max().unwrap_or(Level::Request)
        }
    }
}

fn is_of_request(item: &Item) -> bool {
    item.code.is_some() && item.level() == Level::Request
}

/// The last byte of the first batch, whose checksum does not match then.
fn last_bit(records: &[u8]) -> Option<usize> {
    let length = records.get(BATCH_LENGTH..)?.first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    (length.checked_add(BATCH_OVERHEAD)? - 1 < records.len()).then(|| length + BATCH_OVERHEAD - 1)
}

fn write(body: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = body.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

//! What a Fetch reads, by itself or by its session, and what its answer says to whom.
//!
//! Invariant: a session changes once a request: when the request comes, and when its answer goes.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{FetchRequest, ForgottenTopic, PartitionData};

use super::{BY_ID, Call};
use crate::state::{Slots, Wanted};

/// The first version that has sessions.
const SESSIONS: i16 = 7;
/// The session that is none.
const NONE: i32 = 0;
/// The epoch of a request that wants a session, and of one that wants none.
const WANTS_ONE: i32 = 0;
const WANTS_NONE: i32 = -1;

/// A Fetch under way.
#[derive(Debug)]
pub(crate) struct Fetching {
    pub(super) wanted: Vec<Wanted>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Sessionless,
    /// Everything, and a session if there is room for one.
    Full,
    Incremental(i32),
}

/// The partitions that the request itself names.
pub(super) fn in_request(request: &FetchRequest) -> Vec<Wanted> {
    let mut all = Vec::new();
    for topic in &request.topics {
        all.extend(topic.partitions.iter().map(|partition| Wanted {
            topic: topic.topic.clone(),
            topic_id: topic.topic_id,
            partition: partition.clone(),
        }));
    }
    all
}

/// Says what is to be read; fails if there is no such session.
pub(super) fn begin(request: &FetchRequest, call: &mut Call<'_>) -> Result<Fetching, ErrorCode> {
    check_faults(call)?;
    let wanted = in_request(request);
    let (id, epoch) = (request.session_id, request.session_epoch);
    if call.version < SESSIONS || epoch == WANTS_NONE || epoch == WANTS_ONE {
        if call.version >= SESSIONS && id != NONE {
            call.state.fetch_sessions.close(call.broker, id);
        }
        let full = call.version >= SESSIONS && epoch == WANTS_ONE;
        return Ok(Fetching { wanted, kind: if full { Kind::Full } else { Kind::Sessionless } });
    }
    let forgotten = |wanted: &Wanted| {
        let of = |topic: &ForgottenTopic| {
            topic.partitions.iter().any(|partition| wanted.is(&topic.topic, topic.topic_id, *partition))
        };
        request.forgotten_topics_data.iter().any(of)
    };
    let place = (call.broker, call.version >= BY_ID);
    let wanted = call.state.fetch_sessions.update(place, (id, epoch), wanted, forgotten, call.clock)?;
    let kind = if wanted.is_empty() { Kind::Sessionless } else { Kind::Incremental(id) };
    Ok(Fetching { wanted, kind })
}

/// The error of a fault that is about sessions, and so about the whole request.
fn check_faults(call: &Call<'_>) -> Result<(), ErrorCode> {
    use ErrorCode::{FetchSessionIdNotFound, FetchSessionTopicIdError, InvalidFetchSessionEpoch};
    let about_sessions = |code: &ErrorCode| {
        matches!(code, FetchSessionIdNotFound | FetchSessionTopicIdError | InvalidFetchSessionEpoch)
    };
    call.errors.iter().map(|(_, code)| *code).find(about_sessions).map_or(Ok(()), Err)
}

/// Leaves in an answer what is to be said, and gives the session that it names.
pub(super) fn end(
    fetching: &Fetching,
    answered: &mut Vec<(Wanted, PartitionData)>,
    call: &mut Call<'_>,
) -> i32 {
    let slots = Slots { most: call.state.config.fetch_sessions, idle: call.state.config.fetch_session_idle };
    match fetching.kind {
        Kind::Sessionless => NONE,
        Kind::Full => {
            let place = (call.broker, call.version >= BY_ID);
            call.state.fetch_sessions.open(place, answered, slots, call.clock)
        }
        Kind::Incremental(id) => {
            call.state.fetch_sessions.keep_news(id, answered);
            id
        }
    }
}

//! The fetch contexts of a broker (KIP-227): which partitions a Fetch reads, and which its response names.
//!
//! Invariant: a session changes once when a request arrives and once when its response leaves.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{FetchRequest, ForgottenTopic, PartitionData};

use super::RequestContext;
use crate::state::{RequestedPartition, SessionLimits};

/// The first version with fetch sessions.
const FETCH_SESSIONS: i16 = 7;
/// The id of a request or response without a session.
const INVALID_SESSION_ID: i32 = 0;
/// The session epochs that request a new session, and that end one.
const INITIAL_EPOCH: i32 = 0;
const FINAL_EPOCH: i32 = -1;

/// The partitions of a Fetch, and how it uses sessions.
#[derive(Debug)]
pub(crate) struct FetchContext {
    pub(super) partitions: Vec<RequestedPartition>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Sessionless,
    /// A full fetch that opens a session if the cache has room.
    Full,
    Incremental(i32),
}

/// The partitions in the request itself, without those of its session.
pub(super) fn in_request(request: &FetchRequest) -> Vec<RequestedPartition> {
    let mut all = Vec::new();
    for topic in &request.topics {
        all.extend(topic.partitions.iter().map(|partition| RequestedPartition {
            topic: topic.topic.clone(),
            topic_id: topic.topic_id,
            partition: partition.clone(),
        }));
    }
    all
}

/// Resolves the partitions to read; fails if the session is unknown.
pub(super) fn new_context(
    request: &FetchRequest,
    context: &mut RequestContext<'_>,
) -> Result<FetchContext, ErrorCode> {
    check_faults(context)?;
    let partitions = in_request(request);
    let (id, epoch) = (request.session_id, request.session_epoch);
    if context.version < FETCH_SESSIONS || epoch == FINAL_EPOCH || epoch == INITIAL_EPOCH {
        if context.version >= FETCH_SESSIONS && id != INVALID_SESSION_ID {
            context.state.fetch_sessions.close(context.broker, id);
        }
        let full = context.version >= FETCH_SESSIONS && epoch == INITIAL_EPOCH;
        return Ok(FetchContext { partitions, kind: if full { Kind::Full } else { Kind::Sessionless } });
    }
    let forgotten = |requested: &RequestedPartition| {
        let of = |topic: &ForgottenTopic| {
            topic.partitions.iter().any(|partition| requested.is(&topic.topic, topic.topic_id, *partition))
        };
        request.forgotten_topics_data.iter().any(of)
    };
    let owner = (context.broker, context.version >= FetchRequest::FIRST_BY_ID);
    let partitions =
        context.state.fetch_sessions.update(owner, (id, epoch), partitions, forgotten, context.clock)?;
    let kind = if partitions.is_empty() { Kind::Sessionless } else { Kind::Incremental(id) };
    Ok(FetchContext { partitions, kind })
}

/// Returns an injected error that concerns the session, and so the whole request.
fn check_faults(context: &RequestContext<'_>) -> Result<(), ErrorCode> {
    use ErrorCode::{FetchSessionIdNotFound, FetchSessionTopicIdError, InvalidFetchSessionEpoch};
    let is_session_error = |code: &ErrorCode| {
        matches!(code, FetchSessionIdNotFound | FetchSessionTopicIdError | InvalidFetchSessionEpoch)
    };
    context.errors.iter().map(|(_, code)| *code).find(is_session_error).map_or(Ok(()), Err)
}

/// Drops unchanged partitions from an incremental response; returns the response's session id.
pub(super) fn finish(
    fetch: &FetchContext,
    responses: &mut Vec<(RequestedPartition, PartitionData)>,
    context: &mut RequestContext<'_>,
) -> i32 {
    let limits = SessionLimits {
        max_sessions: context.state.config.fetch_sessions,
        min_idle: context.state.config.fetch_session_idle,
    };
    match fetch.kind {
        Kind::Sessionless => INVALID_SESSION_ID,
        Kind::Full => {
            let owner = (context.broker, context.version >= FetchRequest::FIRST_BY_ID);
            context.state.fetch_sessions.open(owner, responses, limits, context.clock)
        }
        Kind::Incremental(id) => {
            context.state.fetch_sessions.retain_changed(id, responses);
            id
        }
    }
}

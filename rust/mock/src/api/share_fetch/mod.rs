//! ShareFetch (78), versions 1–2: acquires records for a member of a share group, and takes its acknowledgements of
//! earlier ones (KIP-932).
//!
//! The acquire mode and renewals from version 2 (KIP-1206, KIP-1222). `read` reads one partition.
//! Invariant: a request is acknowledged and advances its session once, when it arrives, however long it waits.

mod read;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_fetch::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareFetchRequest, ShareFetchResponse,
    ShareFetchableTopicResponse,
};
use ottla_protocol::wire::Uuid;

use super::node_endpoints::NodeEndpoints;
use super::share_acknowledge::close;
use super::share_acknowledgements::{ShareError, acknowledge, enter_partition, plain, session_of};
use super::{HandlerResult, Pending, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::share_partition::{AcquireMode, AcquireRequest};
use crate::state::{ClusterState, ShareSessionRequest};

/// The first version with an acquire mode and renewals.
const RENEWALS: i16 = 2;
const RECORD_LIMIT: i8 = 1;

/// A request that has been acknowledged and waits for records.
#[derive(Debug)]
pub(crate) struct ShareFetchContext {
    session: ShareSessionRequest,
    acknowledged: BTreeMap<(Uuid, i32), Result<(), ShareError>>,
    /// An error to return when the wait is over: it keeps clients from retrying at once.
    rejected: Option<ShareError>,
}

impl RequestHandler for ShareFetchRequest {
    fn targets(&self, _version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let in_request = self.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|partition| (topic.topic_id, partition.partition_index))
        });
        let mut all: Vec<_> = in_request.collect();
        if let (Some(group), Some(member)) = (&self.group_id, &self.member_id) {
            all.extend(state.share_sessions.of_member(group, member));
        }
        all.sort_unstable();
        all.dedup();
        all.into_iter().flat_map(|(topic, index)| state.fault_targets(("", topic, true), [index])).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ShareFetchResponse> {
        let fetch = match std::mem::take(context.pending) {
            Pending::ShareFetch(fetch) => *fetch,
            _ => match begin(self, context) {
                Ok(fetch) => fetch,
                Err(error) => return HandlerResult::Response(rejected(error)),
            },
        };
        let until = context.arrived + Duration::from_millis(u64::try_from(self.max_wait_ms).unwrap_or(0));
        let is_over = context.clock >= until;
        if let Some(error) = &fetch.rejected {
            if is_over {
                return HandlerResult::Response(rejected(error.clone()));
            }
            *context.pending = Pending::ShareFetch(Box::new(fetch));
            return HandlerResult::WaitUntil(until);
        }
        let renews = context.version >= RENEWALS && self.is_renew_ack;
        let reads = !renews && !fetch.session.closes();
        let must_respond = is_over || !fetch.acknowledged.is_empty();
        let outcome =
            if reads { read_all(self, (&fetch, must_respond), context) } else { ReadResult::default() };
        if reads && outcome.data.is_empty() && !must_respond {
            let until = outcome.next_deadline.map_or(until, |deadline| deadline.min(until));
            *context.pending = Pending::ShareFetch(Box::new(fetch));
            return HandlerResult::WaitUntil(until);
        }
        if fetch.session.closes() {
            close(context, &fetch.session);
        }
        HandlerResult::Response(build_response(&fetch, outcome.data, context))
    }

    fn throttle_time(response: &mut ShareFetchResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn rejected((code, why): ShareError) -> ShareFetchResponse {
    ShareFetchResponse { error_code: code.code(), error_message: Some(why), ..ShareFetchResponse::default() }
}

/// Enters the session and applies the acknowledgements of a request that has just arrived.
fn begin(
    request: &ShareFetchRequest,
    context: &mut RequestContext<'_>,
) -> Result<ShareFetchContext, ShareError> {
    let (group, member) = (request.group_id.as_ref(), request.member_id.as_ref());
    let session = session_of(context, group, member, request.share_session_epoch)?;
    let renews = context.version >= RENEWALS && request.is_renew_ack;
    if renews {
        check_renewal(request)?;
    }
    let in_request = |topic: &ottla_protocol::messages::share_fetch::FetchTopic| {
        let id = topic.topic_id;
        topic.partitions.iter().map(move |partition| (id, partition.partition_index)).collect::<Vec<_>>()
    };
    let partitions: Vec<_> = request.topics.iter().flat_map(in_request).collect();
    let batches = request
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|partition| (topic.topic_id, partition)));
    let batches: Vec<_> =
        batches.filter(|(_, partition)| !partition.acknowledgement_batches.is_empty()).collect();
    let mut fetch = ShareFetchContext { session, acknowledged: BTreeMap::new(), rejected: None };
    if fetch.session.opens() {
        if !batches.is_empty() {
            return Err(plain(ErrorCode::InvalidRequest));
        }
        let most = context.state.config.groups.share.max_sessions;
        let opened = context.state.share_sessions.open(&fetch.session, partitions, most);
        fetch.rejected = opened.err().map(plain);
        return Ok(fetch);
    }
    let forgotten: Vec<_> = request
        .forgotten_topics_data
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|partition| (topic.topic_id, *partition)))
        .collect();
    let closes = fetch.session.closes();
    let open = context.state.share_sessions.enter(&fetch.session).map_err(plain)?;
    if !closes {
        open.add(partitions);
        open.forget(&forgotten);
    }
    for (topic_id, partition) in batches {
        let of = (topic_id, partition.partition_index);
        let outcome = acknowledge(context, &fetch.session, of, &partition.acknowledgement_batches, renews);
        fetch.acknowledged.insert(of, outcome);
    }
    Ok(fetch)
}

/// A request with renewals fetches nothing.
fn check_renewal(request: &ShareFetchRequest) -> Result<(), ShareError> {
    let limits = [request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms];
    if limits.iter().all(|limit| *limit == 0) {
        return Ok(());
    }
    let why = "Renew acknowledgements require max bytes, min bytes, max records and max wait of 0.";
    Err((ErrorCode::InvalidRequest, why.to_owned()))
}

/// The partitions of a response that have something to say.
#[derive(Default)]
struct ReadResult {
    data: BTreeMap<(Uuid, i32), PartitionData>,
    /// When the next lock times out, so that its record is available.
    next_deadline: Option<tokio::time::Instant>,
}

fn read_all(
    request: &ShareFetchRequest,
    (fetch, is_overdue): (&ShareFetchContext, bool),
    context: &mut RequestContext<'_>,
) -> ReadResult {
    let session = &fetch.session;
    let partitions =
        context.state.share_sessions.partitions(session.broker, &session.group, &session.member_id).to_vec();
    let mode = if context.version >= RENEWALS && request.share_acquire_mode == RECORD_LIMIT {
        AcquireMode::RecordLimit
    } else {
        AcquireMode::BatchOptimized
    };
    let size = |value: i32| usize::try_from(value).unwrap_or(0);
    let mut acquire = AcquireRequest {
        member_id: Arc::from(session.member_id.as_str()),
        mode,
        max_records: size(request.max_records),
        batch_size: size(request.batch_size).max(1),
    };
    let mut result = ReadResult::default();
    let max_bytes = size(request.max_bytes) / partitions.len().max(1);
    let min_bytes = size(request.min_bytes);
    for (topic_id, index) in &partitions {
        if let Ok(name) = context.state.topic_name("", *topic_id, true) {
            // An error is reported with the partition, below.
            let _ = enter_partition(context, &session.group, (&name, *topic_id, *index));
        }
    }
    // A request that must respond now takes the records that are available.
    let is_enough =
        is_overdue || read::available_bytes(context, session, &partitions, min_bytes) >= min_bytes;
    context.corrupted = false;
    for (topic_id, index) in partitions {
        if acquire.max_records == 0 {
            break;
        }
        match read::read(context, &session.group, (topic_id, index), (&acquire, max_bytes, is_enough)) {
            Ok(Some(data)) => {
                let acquired =
                    data.acquired_records.iter().map(|range| range.last_offset - range.first_offset + 1);
                let count = usize::try_from(acquired.sum::<i64>()).unwrap_or(usize::MAX);
                acquire.max_records = acquire.max_records.saturating_sub(count);
                result.data.insert((topic_id, index), data);
            }
            Ok(None) => {
                let share = context.state.share_partitions.get(&session.group, (topic_id, index));
                let deadline = share.and_then(crate::share_partition::SharePartition::next_deadline);
                result.next_deadline = [result.next_deadline, deadline].into_iter().flatten().min();
            }
            Err((code, why)) => {
                let data = PartitionData {
                    error_code: code.code(),
                    error_message: Some(why),
                    ..empty_partition(index)
                };
                result.data.insert((topic_id, index), data);
            }
        }
    }
    result
}

fn empty_partition(index: i32) -> PartitionData {
    PartitionData { partition_index: index, records: Some(Bytes::new()), ..PartitionData::default() }
}

fn build_response(
    fetch: &ShareFetchContext,
    mut data: BTreeMap<(Uuid, i32), PartitionData>,
    context: &RequestContext<'_>,
) -> ShareFetchResponse {
    for ((topic_id, index), outcome) in &fetch.acknowledged {
        let data = data.entry((*topic_id, *index)).or_insert_with(|| empty_partition(*index));
        if let Err((code, why)) = outcome {
            data.acknowledge_error_code = code.code();
            data.acknowledge_error_message = Some(why.clone());
        }
    }
    let mut endpoints = NodeEndpoints::default();
    let config = &context.state.groups.config_of(&fetch.session.group).share;
    let mut response = ShareFetchResponse {
        acquisition_lock_timeout_ms: i32::try_from(config.record_lock_duration.as_millis())
            .unwrap_or(i32::MAX),
        ..ShareFetchResponse::default()
    };
    for ((topic_id, index), mut data) in data {
        let not_leader = ErrorCode::NotLeaderOrFollower.code();
        if (data.error_code == not_leader || data.acknowledge_error_code == not_leader)
            && let Ok(name) = context.state.topic_name("", topic_id, true)
            && let Some((leader_id, leader_epoch)) = endpoints.current_leader(context.state, &name, index)
        {
            data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch };
        }
        match response.responses.last_mut().filter(|topic| topic.topic_id == topic_id) {
            Some(topic) => topic.partitions.push(data),
            None => {
                response.responses.push(ShareFetchableTopicResponse { topic_id, partitions: vec![data] });
            }
        }
    }
    response.node_endpoints =
        endpoints.into_response(|node_id, host, port, rack| NodeEndpoint { node_id, host, port, rack });
    response
}

//! What ShareFetch and ShareAcknowledge have in common: who sends them, and the acknowledgements that they carry.
//!
//! Invariant: the acknowledgements of one partition are applied all or none.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_acknowledge;
use ottla_protocol::messages::share_fetch;
use ottla_protocol::wire::Uuid;

use super::RequestContext;
use crate::share_partition::{Acknowledgement, AcknowledgementBatch};
use crate::state::ShareSessionRequest;

/// The longest member id.
const MAX_MEMBER_ID: usize = 36;

/// An error code and its message.
pub(super) type ShareError = (ErrorCode, String);

/// An error code with its usual message.
pub(super) fn plain(code: ErrorCode) -> ShareError {
    (code, code.meaning().to_owned())
}

/// The batches of one partition, as a request has them.
#[derive(Debug)]
pub(super) struct RequestedBatch<'a> {
    first_offset: i64,
    last_offset: i64,
    types: &'a [i8],
}

impl<'a> From<&'a share_fetch::AcknowledgementBatch> for RequestedBatch<'a> {
    fn from(batch: &'a share_fetch::AcknowledgementBatch) -> Self {
        let types = &batch.acknowledge_types;
        Self { first_offset: batch.first_offset, last_offset: batch.last_offset, types }
    }
}

impl<'a> From<&'a share_acknowledge::AcknowledgementBatch> for RequestedBatch<'a> {
    fn from(batch: &'a share_acknowledge::AcknowledgementBatch) -> Self {
        let types = &batch.acknowledge_types;
        Self { first_offset: batch.first_offset, last_offset: batch.last_offset, types }
    }
}

/// Identifies the session of a request.
pub(super) fn session_of(
    context: &RequestContext<'_>,
    group_id: Option<&String>,
    member_id: Option<&String>,
    epoch: i32,
) -> Result<ShareSessionRequest, ShareError> {
    context.check_request_fault().map_err(plain)?;
    context.check_share_groups().map_err(plain)?;
    let invalid = |what: &str| (ErrorCode::InvalidRequest, format!("Invalid {what} id in the request."));
    let group = group_id.filter(|id| !id.is_empty()).ok_or_else(|| invalid("group"))?;
    let valid = |id: &&String| !id.is_empty() && id.len() <= MAX_MEMBER_ID;
    let member_id = member_id.filter(valid).ok_or_else(|| invalid("member"))?;
    Ok(ShareSessionRequest {
        broker: context.broker,
        connection: context.connection,
        group: group.clone(),
        member_id: member_id.clone(),
        epoch,
    })
}

/// Applies the acknowledgements of one partition. `renews` is whether the request announces renewals.
pub(super) fn acknowledge<'a>(
    context: &mut RequestContext<'_>,
    session: &ShareSessionRequest,
    (topic_id, index): (Uuid, i32),
    batches: impl IntoIterator<Item = impl Into<RequestedBatch<'a>>>,
    renews: bool,
) -> Result<(), ShareError> {
    let batches = parse(batches, renews)?;
    let name = context.state.topic_name("", topic_id, true).map_err(plain)?;
    enter_partition(context, &session.group, (&name, topic_id, index))?;
    let config = &context.state.groups.config_of(&session.group).share;
    let share = context.state.share_partitions.get_mut(&session.group, (topic_id, index));
    let share = share.ok_or_else(|| plain(ErrorCode::UnknownTopicOrPartition))?;
    share
        .acknowledge(&session.member_id, &batches, config, context.clock)
        .map_err(|(code, why)| (code, why.to_owned()))?;
    context.changed = true;
    context.check_fault_after_handling(&name, Some(index)).map_err(plain)
}

/// Fails unless this broker leads the partition; brings the share partition up to date.
pub(super) fn enter_partition(
    context: &mut RequestContext<'_>,
    group: &str,
    (name, topic_id, index): (&str, Uuid, i32),
) -> Result<(), ShareError> {
    context.check_fault(name, Some(index)).map_err(plain)?;
    let partition = context.state.partition(name, index).map_err(plain)?;
    partition.check_leader(context.broker, -1).map_err(plain)?;
    let now = (context.clock, context.now);
    context.changed |= context.state.enter_share_partition(group, (name, (topic_id, index)), now);
    Ok(())
}

fn parse<'a>(
    batches: impl IntoIterator<Item = impl Into<RequestedBatch<'a>>>,
    renews: bool,
) -> Result<Vec<AcknowledgementBatch>, ShareError> {
    let invalid = || plain(ErrorCode::InvalidRequest);
    let mut parsed: Vec<AcknowledgementBatch> = Vec::new();
    for batch in batches {
        let RequestedBatch { first_offset, last_offset, types } = batch.into();
        let previous = parsed.last().map_or(-1, |batch| batch.last_offset);
        let length = last_offset.checked_sub(first_offset).and_then(|span| usize::try_from(span).ok());
        let length = length.and_then(|span| span.checked_add(1)).ok_or_else(invalid)?;
        let is_counted = types.len() == 1 || types.len() == length;
        if first_offset < previous || !is_counted {
            return Err(invalid());
        }
        let types: Option<Vec<_>> = types.iter().map(|code| Acknowledgement::from_code(*code)).collect();
        let types = types.ok_or_else(invalid)?;
        if !renews && types.contains(&Acknowledgement::Renew) {
            return Err(invalid());
        }
        parsed.push(AcknowledgementBatch { first_offset, last_offset, types });
    }
    Ok(parsed)
}

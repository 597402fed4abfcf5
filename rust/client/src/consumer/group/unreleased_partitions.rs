//! The partitions that a KIP-848 member waits for, and the members that still have them, from a description of
//! its group; what the log says about them.
//!
//! Invariant: the description uses the data connection, so it never delays a heartbeat.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_describe::{
    Assignment, ConsumerGroupDescribeRequest, DescribedGroup, Member,
};
use tokio::time::{Duration, timeout};

use super::group_state::GroupState;
use super::topic_names::TopicIdPartition;
use crate::cluster::CoordinatorKind;
use crate::error::{Error, Kind, Result};
use crate::first_names::first_names;
use crate::printable::printable;

/// The partitions that the group has assigned to a member and that it does not have yet.
#[derive(Debug, Default)]
pub(super) struct Unreleased {
    pub(super) partitions: BTreeSet<TopicIdPartition>,
    /// How many partitions the member will have.
    target: usize,
    /// The first of them, by name.
    example: String,
    /// The members that still have them, or that have not acknowledged the newest assignment.
    holders: Vec<String>,
}

/// Describes the group of a member.
pub(super) async fn describe(shared: &GroupState) -> Result<Unreleased> {
    let described = timeout(shared.settings.request_timeout, request_description(shared));
    let group = described.await.map_err(|_| Error::new(Kind::Timeout, "no description in time"))??;
    let me = shared.membership_manager.lock().group_metadata().member_id;
    Ok(unreleased(&group, &me))
}

async fn request_description(shared: &GroupState) -> Result<DescribedGroup> {
    let group = &shared.settings.group_id;
    let coordinator = shared.client.coordinator(CoordinatorKind::Group, group).await?;
    let coordinator = coordinator.on_data_connection(&shared.client).await?;
    let version = coordinator.version::<ConsumerGroupDescribeRequest>(i16::MAX)?;
    let request = ConsumerGroupDescribeRequest { group_ids: vec![group.to_string()], ..Default::default() };
    let response = coordinator.request(&request, version).await?;
    coordinator.throttle(response.throttle_time_ms);
    let missing = || Error::new(Kind::Protocol, "the broker's response omits the group");
    let described = response.groups.into_iter().next().ok_or_else(missing)?;
    ErrorCode::from(described.error_code).ok().map_err(Error::from_code)?;
    Ok(described)
}

/// What a member waits for, by a description of its group.
fn unreleased(group: &DescribedGroup, member_id: &str) -> Unreleased {
    let Some(own) = group.members.iter().find(|member| member.member_id == member_id) else {
        return Unreleased::default();
    };
    let current = partitions(&own.assignment);
    let target = partitions(&own.target_assignment);
    let missing: BTreeSet<TopicIdPartition> = target.difference(&current).copied().collect();
    let example = own.target_assignment.topic_partitions.iter().find_map(|topic| {
        let mut numbers = topic.partitions.iter();
        let number = numbers.find(|number| missing.contains(&(topic.topic_id, **number)))?;
        Some(format!("{}-{number}", printable(&topic.topic_name)))
    });
    let others = || group.members.iter().filter(|member| member.member_id != member_id);
    let has_some = |member: &&Member| !partitions(&member.assignment).is_disjoint(&missing);
    let mut holders: Vec<String> = others().filter(has_some).map(name).collect();
    if holders.is_empty() {
        // Coordinators do not list partitions that a member must revoke but has not released yet.
        holders = others().filter(|member| member.member_epoch < group.group_epoch).map(name).collect();
    }
    Unreleased { partitions: missing, target: target.len(), example: example.unwrap_or_default(), holders }
}

fn partitions(assignment: &Assignment) -> BTreeSet<TopicIdPartition> {
    let topics = assignment.topic_partitions.iter();
    topics.flat_map(|topic| topic.partitions.iter().map(|number| (topic.topic_id, *number))).collect()
}

fn name(member: &Member) -> String {
    let (client, host, id) = (&member.client_id, &member.client_host, &member.member_id);
    format!("{} on {} (member {})", printable(client), printable(host), printable(id))
}

/// Warns about the wait.
pub(super) fn warn(group: &str, unreleased: &Unreleased, lasted: Duration) {
    let Unreleased { partitions, target, example, holders } = unreleased;
    let (count, seconds) = (partitions.len(), lasted.as_secs_f64());
    let names = if holders.is_empty() { "another member".to_owned() } else { first_names(holders) };
    tracing::warn!(
        target: "ottla.group", %group,
        "this member has been waiting for {seconds:.0} s for {count} of its {target} partitions, such as {example}, which other members have not released: {names}. A running member releases them with a heartbeat after its next poll. One that was stopped without closing holds them until its session expires (consumer.session.timeout.ms of the group, 45 s by default), one that does not poll for its max.poll.interval.ms: close consumers when they end, and poll more often"
    );
}

/// Logs that the wait is over.
pub(super) fn log_over(group: &str, lasted: Duration) {
    let seconds = lasted.as_secs_f64();
    tracing::info!(target: "ottla.group", %group, "the wait for partitions of other members is over, after {seconds:.0} s");
}

/// Logs that the member has no partitions, and that the reason is unknown.
pub(super) fn log_unknown(group: &str, error: &Error) {
    tracing::info!(target: "ottla.group", %group, %error, "this member has no partitions: the group has more members than partitions, or other members have not released theirs. Which one is unknown, because the group could not be described");
}

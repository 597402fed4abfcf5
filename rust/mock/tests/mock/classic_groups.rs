//! Classic groups: JoinGroup, SyncGroup, Heartbeat, OffsetCommit and DescribeGroups.

use std::time::Duration;

use crate::support::classic_member::*;
use crate::support::*;
use ottla_mock::{Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::messages::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

fn is(code: i16, expected: ErrorCode) {
    assert_eq!(ErrorCode::from(code), expected);
}

async fn cluster_with(groups: GroupConfig) -> MockCluster {
    let cluster = MockCluster::start(MockConfig { groups, ..MockConfig::default() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    cluster
}

async fn describe(raw: &mut RawClient, version: i16) -> DescribedGroup {
    let request = DescribeGroupsRequest { groups: vec![GROUP.to_owned()], ..Default::default() };
    raw.call(&request, version).await.groups.remove(0)
}

#[tokio::test]
async fn two_members_share_a_topic() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = pair(&cluster).await;
    let group = cluster.group(GROUP).unwrap();
    assert_eq!((group.state.as_str(), group.kind.as_str(), group.generation), ("Stable", "classic", 2));
    assert_eq!(group.leader.as_deref(), Some(leader.id()));
    assert_eq!(group.protocol.as_deref(), Some("range"));
    let of = |id: &str| group.members.iter().find(|m| m.id == id).unwrap().assignment.clone();
    assert_eq!(of(leader.id()), [("t".to_owned(), 0)]);
    assert_eq!(of(follower.id()), [("t".to_owned(), 1)]);
    assert_eq!((leader.heartbeat().await, follower.heartbeat().await), (ErrorCode::None, ErrorCode::None));
    for version in 0..=6 {
        let described = describe(&mut leader.raw, version).await;
        assert_eq!((described.group_state.as_str(), described.protocol_data.as_str()), ("Stable", "range"));
        assert_eq!(described.members[1].member_assignment, assignment("t", 1));
        assert_eq!(described.members[1].member_metadata, subscription("t"));
        assert_eq!(described.members[0].client_id, "raw");
    }
    // A follower that rejoins gets its assignment again; a leader that rejoins starts a rebalance.
    assert_eq!(follower.sync(&[]).await.assignment, assignment("t", 1));
    let again = follower.join().await;
    assert_eq!((again.generation_id, again.members.len()), (2, 0));
    leader.start_join().await;
    wait_for_rebalance(&mut follower).await;
    assert_eq!(describe(&mut follower.raw, 6).await.group_state, "PreparingRebalance");
    follower.join().await;
    let joined = leader.end_join().await;
    assert_eq!((joined.generation_id, joined.members.len()), (3, 2));
    assert!(joined.members.iter().all(|member| member.metadata == subscription("t")));
    assert_eq!(describe(&mut follower.raw, 6).await.group_state, "CompletingRebalance");
    assert_eq!(describe(&mut follower.raw, 6).await.members[0].member_metadata.len(), 0);
}

#[tokio::test]
async fn members_join_in_every_version() {
    for version in 0..=9 {
        let cluster = cluster_with_topic(1).await;
        let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
        let mut request = Member::new(&cluster).await.join;
        let mut response = raw.call(&request, version).await;
        if version >= 4 {
            is(response.error_code, ErrorCode::MemberIdRequired);
            assert!(response.member_id.starts_with("raw-"), "{}", response.member_id);
            request.member_id = response.member_id;
            response = raw.call(&request, version).await;
        }
        is(response.error_code, ErrorCode::None);
        assert_eq!((response.generation_id, response.members.len()), (1, 1));
        assert_eq!(response.leader, response.member_id);
        assert_eq!(response.protocol_name.as_deref(), Some("range"));
        assert_eq!(response.protocol_type.as_deref(), (version >= 7).then_some("consumer"));
    }
}

#[tokio::test]
async fn the_first_generation_waits_for_more_members() {
    let delay = Duration::from_secs(1);
    let cluster =
        cluster_with(GroupConfig { initial_rebalance_delay: delay, ..GroupConfig::default() }).await;
    let (mut one, mut two) = (Member::new(&cluster).await, Member::new(&cluster).await);
    let started = Instant::now();
    one.start_join().await;
    two.start_join().await;
    // Other requests are handled meanwhile.
    assert_eq!(
        describe(&mut RawClient::to_coordinator(&cluster, GROUP).await, 5).await.group_state,
        "PreparingRebalance"
    );
    assert_eq!((one.end_join().await.generation_id, two.end_join().await.generation_id), (1, 1));
    // A member joined, so the coordinator waited once more.
    assert!(started.elapsed() >= 2 * delay);
}

#[tokio::test]
async fn the_majority_chooses_the_protocol() {
    let delay = Duration::from_secs(1);
    let cluster =
        cluster_with(GroupConfig { initial_rebalance_delay: delay, ..GroupConfig::default() }).await;
    let mut members = Vec::new();
    for first in ["range", "roundrobin", "roundrobin"] {
        let mut member = Member::new(&cluster).await;
        member.join.protocols.sort_by_key(|protocol| protocol.name != first);
        member.start_join().await;
        members.push(member);
    }
    for member in &mut members {
        assert_eq!(member.end_join().await.protocol_name.as_deref(), Some("roundrobin"));
    }
    let mut incompatible = Member::new(&cluster).await;
    incompatible.join.protocols.retain(|protocol| protocol.name == "range");
    incompatible.join.protocols[0].name = "sticky".to_owned();
    is(incompatible.raw.call(&incompatible.join, 9).await.error_code, ErrorCode::InconsistentGroupProtocol);
    incompatible.join.protocols[0].name = "range".to_owned();
    incompatible.join.protocol_type = "connect".to_owned();
    is(incompatible.raw.call(&incompatible.join, 9).await.error_code, ErrorCode::InconsistentGroupProtocol);
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let groups =
        GroupConfig { min_session_timeout: Duration::from_secs(6), max_size: 1, ..GroupConfig::default() };
    let cluster = cluster_with(groups).await;
    let mut member = Member::new(&cluster).await;
    let join_error = async |raw: &mut RawClient, change: fn(&mut JoinGroupRequest)| {
        let mut request = Member::new(&cluster).await.join;
        change(&mut request);
        ErrorCode::from(raw.call(&request, 9).await.error_code)
    };
    let raw = &mut member.raw;
    assert_eq!(join_error(raw, |r| r.session_timeout_ms = 5_999).await, ErrorCode::InvalidSessionTimeout);
    assert_eq!(join_error(raw, |r| r.session_timeout_ms = 1_800_001).await, ErrorCode::InvalidSessionTimeout);
    assert_eq!(join_error(raw, |r| r.member_id = "unknown".to_owned()).await, ErrorCode::UnknownMemberId);
    assert_eq!(join_error(raw, |r| r.protocols.clear()).await, ErrorCode::InconsistentGroupProtocol);
    member.join().await;
    assert_eq!(join_error(&mut member.raw, |_| ()).await, ErrorCode::GroupMaxSizeReached);
    let generation = member.generation;
    member.generation = 7;
    assert_eq!(member.heartbeat().await, ErrorCode::IllegalGeneration);
    is(member.sync(&[]).await.error_code, ErrorCode::IllegalGeneration);
    member.generation = generation;
    let id = std::mem::replace(&mut member.join.member_id, "unknown".to_owned());
    assert_eq!(member.heartbeat().await, ErrorCode::UnknownMemberId);
    is(member.sync(&[]).await.error_code, ErrorCode::UnknownMemberId);
    member.join.member_id = id;
    let fault = Fault::once(Match::api(ApiKey::Heartbeat), Reaction::Error(ErrorCode::RebalanceInProgress));
    cluster.inject(fault);
    assert_eq!(member.heartbeat().await, ErrorCode::RebalanceInProgress);
    assert_eq!(member.heartbeat().await, ErrorCode::None);
    for api in [ApiKey::JoinGroup, ApiKey::SyncGroup] {
        cluster.inject(Fault::once(Match::api(api), Reaction::Error(ErrorCode::CoordinatorLoadInProgress)));
    }
    is(member.join().await.error_code, ErrorCode::CoordinatorLoadInProgress);
    is(member.sync(&[]).await.error_code, ErrorCode::CoordinatorLoadInProgress);
}

fn commit(member: &Member, generation: i32) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition { committed_offset: 1, ..Default::default() };
    OffsetCommitRequest {
        group_id: GROUP.to_owned(),
        generation_id_or_member_epoch: generation,
        member_id: if generation < 0 { String::new() } else { member.id().to_owned() },
        group_instance_id: member.join.group_instance_id.clone().filter(|_| generation >= 0),
        topics: vec![OffsetCommitRequestTopic {
            name: "t".to_owned(),
            partitions: vec![partition],
            ..Default::default()
        }],
        ..OffsetCommitRequest::default()
    }
}

async fn committed(member: &mut Member, generation: i32) -> ErrorCode {
    let response = member.raw.call(&commit(member, generation), 9).await;
    ErrorCode::from(response.topics[0].partitions[0].error_code)
}

#[tokio::test]
async fn only_members_of_the_generation_commit() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) =
        (Member::static_member(&cluster, "a").await, Member::new(&cluster).await);
    form_group(&mut leader, &mut follower).await;
    use ErrorCode::*;
    assert_eq!(committed(&mut leader, 2).await, None);
    assert_eq!(committed(&mut leader, 1).await, IllegalGeneration);
    assert_eq!(committed(&mut leader, -1).await, UnknownMemberId);
    let id = std::mem::replace(&mut leader.join.member_id, "unknown".to_owned());
    assert_eq!(committed(&mut leader, 2).await, FencedInstanceId);
    leader.join.member_id = id;
    // Offsets of a subscribed topic are not deleted.
    let delete = OffsetDeleteRequest {
        group_id: GROUP.to_owned(),
        topics: vec![OffsetDeleteRequestTopic {
            name: "t".to_owned(),
            partitions: vec![OffsetDeleteRequestPartition { partition_index: 0 }],
        }],
    };
    let response = leader.raw.call(&delete, 0).await;
    is(response.topics[0].partitions[0].error_code, GroupSubscribedToTopic);
    // While members join, the old generation may still commit; while the leader assigns, no member may.
    leader.start_join().await;
    wait_for_rebalance(&mut follower).await;
    assert_eq!(committed(&mut follower, 2).await, None);
    follower.join().await;
    leader.end_join().await;
    assert_eq!(committed(&mut follower, 3).await, RebalanceInProgress);
}

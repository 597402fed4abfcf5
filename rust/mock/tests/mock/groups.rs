//! Classic groups: joining, assigning, heartbeats, leaving, by the contracts of their APIs.

use std::time::Duration;

use crate::support::consumer::*;
use crate::support::*;
use ottla_mock::{Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::messages::delete_groups::DeleteGroupsRequest;
use ottla_protocol::messages::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
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

async fn describe(raw: &mut Raw, version: i16) -> DescribedGroup {
    let request = DescribeGroupsRequest { groups: vec![GROUP.to_owned()], ..Default::default() };
    raw.call(&request, version).await.groups.remove(0)
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !done() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn state(cluster: &MockCluster) -> String {
    cluster.group(GROUP).map(|group| group.state).unwrap_or_default()
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
    // The follower asks again and gets what it has; the leader starts over.
    assert_eq!(follower.sync(&[]).await.assignment, assignment("t", 1));
    let again = follower.join().await;
    assert_eq!((again.generation_id, again.members.len()), (2, 0));
    leader.start_join().await;
    await_rebalance(&mut follower).await;
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
        let mut raw = Raw::to_coordinator(&cluster, GROUP).await;
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
    // Others are served meanwhile.
    assert_eq!(
        describe(&mut Raw::to_coordinator(&cluster, GROUP).await, 5).await.group_state,
        "PreparingRebalance"
    );
    assert_eq!((one.end_join().await.generation_id, two.end_join().await.generation_id), (1, 1));
    // Somebody came, so that it waited once more.
    assert!(started.elapsed() >= 2 * delay);
}

#[tokio::test]
async fn most_members_choose_the_protocol() {
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
    let mut stranger = Member::new(&cluster).await;
    stranger.join.protocols.retain(|protocol| protocol.name == "range");
    stranger.join.protocols[0].name = "sticky".to_owned();
    is(stranger.raw.call(&stranger.join, 9).await.error_code, ErrorCode::InconsistentGroupProtocol);
    stranger.join.protocols[0].name = "range".to_owned();
    stranger.join.protocol_type = "connect".to_owned();
    is(stranger.raw.call(&stranger.join, 9).await.error_code, ErrorCode::InconsistentGroupProtocol);
}

#[tokio::test]
async fn a_static_member_comes_back_without_a_rebalance() {
    let cluster = cluster_with_topic(2).await;
    let mut leader = Member::fixed(&cluster, "a").await;
    let mut follower = Member::fixed(&cluster, "b").await;
    settle(&mut leader, &mut follower).await;
    let mut again = Member::fixed(&cluster, "b").await;
    let joined = again.join().await;
    assert_eq!((joined.generation_id, joined.skip_assignment), (2, false));
    assert_ne!(again.id(), follower.id());
    assert!(again.id().starts_with("b-"));
    assert_eq!(again.sync(&[]).await.assignment, assignment("t", 1));
    assert_eq!(follower.heartbeat().await, ErrorCode::FencedInstanceId);
    assert_eq!(follower.leave().await, ErrorCode::FencedInstanceId);
    assert_eq!(leader.heartbeat().await, ErrorCode::None);
    // The leader, too, gets its own back: it is told not to assign, older clients that they do not lead.
    let mut second = Member::fixed(&cluster, "a").await;
    let joined = second.join().await;
    assert_eq!((joined.skip_assignment, joined.leader.as_str()), (true, second.id()));
    assert_eq!(joined.members.len(), 2);
    let mut older = Member::fixed(&cluster, "a").await;
    let joined = older.raw.call(&older.join, 8).await;
    assert_eq!((joined.skip_assignment, joined.leader.as_str()), (false, second.id()));
    older.join.member_id = joined.member_id;
    older.generation = joined.generation_id;
    assert_eq!(older.sync(&[]).await.assignment, assignment("t", 0));
    assert_eq!(cluster.group(GROUP).unwrap().generation, 2);
}

#[tokio::test]
async fn a_static_member_that_waits_is_fenced_by_its_double() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = (Member::fixed(&cluster, "a").await, Member::fixed(&cluster, "b").await);
    settle(&mut leader, &mut follower).await;
    leader.start_join().await;
    await_rebalance(&mut follower).await;
    let mut double = Member::fixed(&cluster, "a").await;
    double.start_join().await;
    is(leader.end_join().await.error_code, ErrorCode::FencedInstanceId);
    follower.join().await;
    assert_eq!(double.end_join().await.generation_id, 3);
    // So is one that waits for its assignment.
    follower.start_sync(&[]).await;
    until("the sync is there", || cluster.request_count(None, ApiKey::SyncGroup) == 4).await;
    let mut double = Member::fixed(&cluster, "b").await;
    double.start_join().await;
    is(follower.end_sync().await.error_code, ErrorCode::FencedInstanceId);
}

#[tokio::test]
async fn a_silent_member_is_given_up() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = (Member::new(&cluster).await, Member::new(&cluster).await);
    follower.join.session_timeout_ms = 1000;
    settle(&mut leader, &mut follower).await;
    await_rebalance(&mut leader).await;
    let joined = leader.join().await;
    assert_eq!((joined.generation_id, joined.members.len()), (3, 1));
    assert_eq!(follower.heartbeat().await, ErrorCode::UnknownMemberId);
}

#[tokio::test]
async fn who_does_not_join_again_is_left_behind() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = (Member::new(&cluster).await, Member::new(&cluster).await);
    leader.join.rebalance_timeout_ms = 1000;
    follower.join.rebalance_timeout_ms = 1000;
    settle(&mut leader, &mut follower).await;
    let joined = leader.join().await;
    assert_eq!((joined.generation_id, joined.members.len()), (3, 1));
    assert_eq!(follower.heartbeat().await, ErrorCode::UnknownMemberId);
    // Nor is waited for one that does not ask for its assignment.
    until("nobody is left", || cluster.members(GROUP).is_empty()).await;
    assert_eq!(state(&cluster), "Empty");
}

#[tokio::test]
async fn members_leave() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = pair(&cluster).await;
    assert_eq!(leader.leave().await, ErrorCode::None);
    assert_eq!(leader.leave().await, ErrorCode::UnknownMemberId);
    assert_eq!(follower.heartbeat().await, ErrorCode::RebalanceInProgress);
    let joined = follower.join().await;
    assert_eq!((joined.generation_id, joined.leader.as_str()), (3, follower.id()));
    let groups = DeleteGroupsRequest { groups_names: vec![GROUP.to_owned()] };
    is(follower.raw.call(&groups, 2).await.results[0].error_code, ErrorCode::NonEmptyGroup);
    for (version, expected) in [(2, ErrorCode::None), (0, ErrorCode::UnknownMemberId)] {
        let request = LeaveGroupRequest {
            group_id: GROUP.to_owned(),
            member_id: follower.id().to_owned(),
            ..LeaveGroupRequest::default()
        };
        is(follower.raw.call(&request, version).await.error_code, expected);
    }
    assert_eq!(state(&cluster), "Empty");
    is(follower.raw.call(&groups, 2).await.results[0].error_code, ErrorCode::None);
    // Administrators name static members by their instance ids.
    let mut fixed = Member::fixed(&cluster, "a").await;
    fixed.join().await;
    let identity = |id: &str, instance: &str| MemberIdentity {
        member_id: id.to_owned(),
        group_instance_id: Some(instance.to_owned()),
        reason: None,
    };
    let request = LeaveGroupRequest {
        group_id: GROUP.to_owned(),
        members: vec![identity("", "b"), identity("other", "a"), identity("", "a")],
        ..LeaveGroupRequest::default()
    };
    let response = fixed.raw.call(&request, 5).await;
    let codes: Vec<_> = response.members.iter().map(|member| ErrorCode::from(member.error_code)).collect();
    assert_eq!(codes, [ErrorCode::UnknownMemberId, ErrorCode::FencedInstanceId, ErrorCode::None]);
}

#[tokio::test]
async fn requests_that_do_not_fit_are_refused() {
    let groups =
        GroupConfig { min_session_timeout: Duration::from_secs(6), max_size: 1, ..GroupConfig::default() };
    let cluster = cluster_with(groups).await;
    let mut member = Member::new(&cluster).await;
    let refused = async |raw: &mut Raw, change: fn(&mut JoinGroupRequest)| {
        let mut request = Member::new(&cluster).await.join;
        change(&mut request);
        ErrorCode::from(raw.call(&request, 9).await.error_code)
    };
    let raw = &mut member.raw;
    assert_eq!(refused(raw, |r| r.session_timeout_ms = 5_999).await, ErrorCode::InvalidSessionTimeout);
    assert_eq!(refused(raw, |r| r.session_timeout_ms = 1_800_001).await, ErrorCode::InvalidSessionTimeout);
    assert_eq!(refused(raw, |r| r.member_id = "who".to_owned()).await, ErrorCode::UnknownMemberId);
    assert_eq!(refused(raw, |r| r.protocols.clear()).await, ErrorCode::InconsistentGroupProtocol);
    member.join().await;
    assert_eq!(refused(&mut member.raw, |_| ()).await, ErrorCode::GroupMaxSizeReached);
    let right = member.generation;
    member.generation = 7;
    assert_eq!(member.heartbeat().await, ErrorCode::IllegalGeneration);
    is(member.sync(&[]).await.error_code, ErrorCode::IllegalGeneration);
    member.generation = right;
    let id = std::mem::replace(&mut member.join.member_id, "who".to_owned());
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
    let (mut leader, mut follower) = (Member::fixed(&cluster, "a").await, Member::new(&cluster).await);
    settle(&mut leader, &mut follower).await;
    use ErrorCode::*;
    assert_eq!(committed(&mut leader, 2).await, None);
    assert_eq!(committed(&mut leader, 1).await, IllegalGeneration);
    assert_eq!(committed(&mut leader, -1).await, UnknownMemberId);
    let id = std::mem::replace(&mut leader.join.member_id, "who".to_owned());
    assert_eq!(committed(&mut leader, 2).await, FencedInstanceId);
    leader.join.member_id = id;
    // Offsets of a topic that is consumed are not deleted.
    let delete = OffsetDeleteRequest {
        group_id: GROUP.to_owned(),
        topics: vec![OffsetDeleteRequestTopic {
            name: "t".to_owned(),
            partitions: vec![OffsetDeleteRequestPartition { partition_index: 0 }],
        }],
    };
    let response = leader.raw.call(&delete, 0).await;
    is(response.topics[0].partitions[0].error_code, GroupSubscribedToTopic);
    // While members join, the old generation may still commit; while the leader assigns, nobody.
    leader.start_join().await;
    await_rebalance(&mut follower).await;
    assert_eq!(committed(&mut follower, 2).await, None);
    follower.join().await;
    leader.end_join().await;
    assert_eq!(committed(&mut follower, 3).await, RebalanceInProgress);
}

#[tokio::test]
async fn a_member_is_expired_by_hand() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = pair(&cluster).await;
    cluster.expire_member(GROUP, follower.id()).unwrap();
    assert_eq!(cluster.expire_member(GROUP, "who").unwrap_err().code, ErrorCode::UnknownMemberId);
    assert_eq!(follower.heartbeat().await, ErrorCode::UnknownMemberId);
    assert_eq!(leader.heartbeat().await, ErrorCode::RebalanceInProgress);
    assert_eq!(cluster.members(GROUP).iter().map(|m| m.id.as_str()).collect::<Vec<_>>(), [leader.id()]);
}

#[tokio::test]
async fn a_new_coordinator_knows_what_was_written() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = pair(&cluster).await;
    leader.start_join().await;
    await_rebalance(&mut follower).await;
    let to = cluster.coordinator(GROUP).unwrap() % 3 + 1;
    cluster.move_coordinator(GROUP, to).unwrap();
    is(leader.end_join().await.error_code, ErrorCode::NotCoordinator);
    assert_eq!(follower.heartbeat().await, ErrorCode::NotCoordinator);
    // There the rebalance never was.
    leader.raw = Raw::connect(&cluster, to).await;
    follower.raw = Raw::connect(&cluster, to).await;
    assert_eq!((leader.heartbeat().await, follower.heartbeat().await), (ErrorCode::None, ErrorCode::None));
    assert_eq!(follower.sync(&[]).await.assignment, assignment("t", 1));
    // And of a group in its first generation nothing is known.
    let mut new = Member::new(&cluster).await;
    new.join.group_id = "new".to_owned();
    let to = cluster.coordinator("new").unwrap() % 3 + 1;
    new.raw = Raw::to_coordinator(&cluster, "new").await;
    new.join().await;
    cluster.move_coordinator("new", to).unwrap();
    new.raw = Raw::connect(&cluster, to).await;
    is(new.join().await.error_code, ErrorCode::UnknownMemberId);
}

/// Regression: a join that waited meanwhile was told that its member is unknown.
#[tokio::test]
async fn a_coordinator_that_moves_away_and_back_sends_waiting_joins_on() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = pair(&cluster).await;
    leader.start_join().await;
    await_rebalance(&mut follower).await;
    let at = cluster.coordinator(GROUP).unwrap();
    cluster.move_coordinator(GROUP, at % 3 + 1).unwrap();
    cluster.move_coordinator(GROUP, at).unwrap();
    is(leader.end_join().await.error_code, ErrorCode::NotCoordinator);
    assert_eq!(leader.heartbeat().await, ErrorCode::None, "it is a member as before");
}

#[tokio::test]
async fn a_member_that_was_only_named_holds_the_others_up_until_its_session_ends() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, _follower) = pair(&cluster).await;
    let mut named = Member::new(&cluster).await;
    named.join.session_timeout_ms = 300;
    let started = Instant::now();
    is(named.raw.call(&named.join, 9).await.error_code, ErrorCode::MemberIdRequired);
    assert_eq!(leader.heartbeat().await, ErrorCode::None);
    let follower = cluster.members(GROUP)[1].id.clone();
    cluster.expire_member(GROUP, &follower).unwrap();
    let joined = leader.join().await;
    assert_eq!(joined.members.len(), 1);
    assert!(started.elapsed() >= Duration::from_millis(300));
}

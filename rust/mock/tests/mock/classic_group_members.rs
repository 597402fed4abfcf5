//! Classic groups: members that return, expire or leave, and coordinators that move.

use std::time::Duration;

use crate::support::classic_member::*;
use crate::support::*;
use ottla_mock::MockCluster;
use ottla_protocol::messages::delete_groups::DeleteGroupsRequest;
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

fn is(code: i16, expected: ErrorCode) {
    assert_eq!(ErrorCode::from(code), expected);
}

async fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
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
async fn a_static_member_returns_without_a_rebalance() {
    let cluster = cluster_with_topic(2).await;
    let mut leader = Member::static_member(&cluster, "a").await;
    let mut follower = Member::static_member(&cluster, "b").await;
    form_group(&mut leader, &mut follower).await;
    let mut again = Member::static_member(&cluster, "b").await;
    let joined = again.join().await;
    assert_eq!((joined.generation_id, joined.skip_assignment), (2, false));
    assert_ne!(again.id(), follower.id());
    assert!(again.id().starts_with("b-"));
    assert_eq!(again.sync(&[]).await.assignment, assignment("t", 1));
    assert_eq!(follower.heartbeat().await, ErrorCode::FencedInstanceId);
    assert_eq!(follower.leave().await, ErrorCode::FencedInstanceId);
    assert_eq!(leader.heartbeat().await, ErrorCode::None);
    // So does the leader: it gets `skip_assignment`; older clients get the old leader id instead.
    let mut second = Member::static_member(&cluster, "a").await;
    let joined = second.join().await;
    assert_eq!((joined.skip_assignment, joined.leader.as_str()), (true, second.id()));
    assert_eq!(joined.members.len(), 2);
    let mut older = Member::static_member(&cluster, "a").await;
    let joined = older.raw.call(&older.join, 8).await;
    assert_eq!((joined.skip_assignment, joined.leader.as_str()), (false, second.id()));
    older.join.member_id = joined.member_id;
    older.generation = joined.generation_id;
    assert_eq!(older.sync(&[]).await.assignment, assignment("t", 0));
    assert_eq!(cluster.group(GROUP).unwrap().generation, 2);
}

#[tokio::test]
async fn a_waiting_static_member_is_fenced_by_its_duplicate() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) =
        (Member::static_member(&cluster, "a").await, Member::static_member(&cluster, "b").await);
    form_group(&mut leader, &mut follower).await;
    leader.start_join().await;
    wait_for_rebalance(&mut follower).await;
    let mut duplicate = Member::static_member(&cluster, "a").await;
    duplicate.start_join().await;
    is(leader.end_join().await.error_code, ErrorCode::FencedInstanceId);
    follower.join().await;
    assert_eq!(duplicate.end_join().await.generation_id, 3);
    // So is a member that waits for its assignment.
    follower.start_sync(&[]).await;
    wait_until("the SyncGroup has arrived", || cluster.request_count(None, ApiKey::SyncGroup) == 4).await;
    let mut duplicate = Member::static_member(&cluster, "b").await;
    duplicate.start_join().await;
    is(follower.end_sync().await.error_code, ErrorCode::FencedInstanceId);
}

#[tokio::test]
async fn a_silent_member_is_removed() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = (Member::new(&cluster).await, Member::new(&cluster).await);
    follower.join.session_timeout_ms = 1000;
    form_group(&mut leader, &mut follower).await;
    wait_for_rebalance(&mut leader).await;
    let joined = leader.join().await;
    assert_eq!((joined.generation_id, joined.members.len()), (3, 1));
    assert_eq!(follower.heartbeat().await, ErrorCode::UnknownMemberId);
}

#[tokio::test]
async fn members_that_do_not_rejoin_are_removed() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = (Member::new(&cluster).await, Member::new(&cluster).await);
    leader.join.rebalance_timeout_ms = 1000;
    follower.join.rebalance_timeout_ms = 1000;
    form_group(&mut leader, &mut follower).await;
    let joined = leader.join().await;
    assert_eq!((joined.generation_id, joined.members.len()), (3, 1));
    assert_eq!(follower.heartbeat().await, ErrorCode::UnknownMemberId);
    // A member that does not send SyncGroup is removed, too.
    wait_until("the group is empty", || cluster.members(GROUP).is_empty()).await;
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
    let mut static_member = Member::static_member(&cluster, "a").await;
    static_member.join().await;
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
    let response = static_member.raw.call(&request, 5).await;
    let codes: Vec<_> = response.members.iter().map(|member| ErrorCode::from(member.error_code)).collect();
    assert_eq!(codes, [ErrorCode::UnknownMemberId, ErrorCode::FencedInstanceId, ErrorCode::None]);
}

#[tokio::test]
async fn expire_member_removes_a_member() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = pair(&cluster).await;
    cluster.expire_member(GROUP, follower.id()).unwrap();
    assert_eq!(cluster.expire_member(GROUP, "unknown").unwrap_err().code, ErrorCode::UnknownMemberId);
    assert_eq!(follower.heartbeat().await, ErrorCode::UnknownMemberId);
    assert_eq!(leader.heartbeat().await, ErrorCode::RebalanceInProgress);
    assert_eq!(cluster.members(GROUP).iter().map(|m| m.id.as_str()).collect::<Vec<_>>(), [leader.id()]);
}

#[tokio::test]
async fn a_new_coordinator_loads_the_persisted_group() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = pair(&cluster).await;
    leader.start_join().await;
    wait_for_rebalance(&mut follower).await;
    let to = cluster.coordinator(GROUP).unwrap() % 3 + 1;
    cluster.move_coordinator(GROUP, to).unwrap();
    is(leader.end_join().await.error_code, ErrorCode::NotCoordinator);
    assert_eq!(follower.heartbeat().await, ErrorCode::NotCoordinator);
    // The new coordinator knows nothing of the rebalance.
    leader.raw = RawClient::connect(&cluster, to).await;
    follower.raw = RawClient::connect(&cluster, to).await;
    assert_eq!((leader.heartbeat().await, follower.heartbeat().await), (ErrorCode::None, ErrorCode::None));
    assert_eq!(follower.sync(&[]).await.assignment, assignment("t", 1));
    // A group in its first generation is not persisted.
    let mut new = Member::new(&cluster).await;
    new.join.group_id = "new".to_owned();
    let to = cluster.coordinator("new").unwrap() % 3 + 1;
    new.raw = RawClient::to_coordinator(&cluster, "new").await;
    new.join().await;
    cluster.move_coordinator("new", to).unwrap();
    new.raw = RawClient::connect(&cluster, to).await;
    is(new.join().await.error_code, ErrorCode::UnknownMemberId);
}

/// Regression: a waiting join got UNKNOWN_MEMBER_ID.
#[tokio::test]
async fn a_coordinator_that_moves_away_and_back_rejects_waiting_joins() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, mut follower) = pair(&cluster).await;
    leader.start_join().await;
    wait_for_rebalance(&mut follower).await;
    let at = cluster.coordinator(GROUP).unwrap();
    cluster.move_coordinator(GROUP, at % 3 + 1).unwrap();
    cluster.move_coordinator(GROUP, at).unwrap();
    is(leader.end_join().await.error_code, ErrorCode::NotCoordinator);
    assert_eq!(leader.heartbeat().await, ErrorCode::None, "still a member");
}

#[tokio::test]
async fn a_pending_member_delays_the_rebalance_until_its_session_expires() {
    let cluster = cluster_with_topic(2).await;
    let (mut leader, _follower) = pair(&cluster).await;
    let mut pending = Member::new(&cluster).await;
    pending.join.session_timeout_ms = 300;
    let started = Instant::now();
    is(pending.raw.call(&pending.join, 9).await.error_code, ErrorCode::MemberIdRequired);
    assert_eq!(leader.heartbeat().await, ErrorCode::None);
    let follower = cluster.members(GROUP)[1].id.clone();
    cluster.expire_member(GROUP, &follower).unwrap();
    let joined = leader.join().await;
    assert_eq!(joined.members.len(), 1);
    assert!(started.elapsed() >= Duration::from_millis(300));
}

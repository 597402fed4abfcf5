//! KIP-848 groups: assignment, reconciliation, epochs, static members and assignors.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::classic_member::GROUP;
use crate::support::consumer_member::Member;
use crate::support::*;
use ottla_mock::{GroupConfig, MemberInfo, MockCluster, MockConfig, TopicSpec};
use ottla_protocol::ErrorCode;
use tokio::time::Instant;

async fn cluster_with(groups: GroupConfig, partitions: i32) -> MockCluster {
    let cluster = MockCluster::start(MockConfig { groups, ..MockConfig::default() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).unwrap();
    cluster
}

fn members(cluster: &MockCluster) -> Vec<MemberInfo> {
    cluster.members(GROUP)
}

#[tokio::test]
async fn partitions_are_revoked_before_reassignment() {
    let cluster = cluster_with_topic(4).await;
    let mut one = Member::new(&cluster, "one").await;
    let joined = one.heartbeat().await;
    assert_eq!((joined.member_epoch, one.owns()), (1, vec![0, 1, 2, 3]));
    assert_eq!(joined.heartbeat_interval_ms, 200);
    // Without a change, there is no assignment in the response.
    assert_eq!(one.heartbeat().await.assignment, None);
    let mut two = Member::new(&cluster, "two").await;
    let joined = two.heartbeat().await;
    // Another member still owns its partitions.
    assert_eq!((joined.member_epoch, two.owns()), (2, vec![]));
    assert!(joined.assignment.is_some());
    assert_eq!(cluster.group(GROUP).unwrap().state, "Reconciling");
    // The first member must revoke two partitions and keeps its epoch until it has done so.
    let response = one.call().await;
    assert_eq!(response.member_epoch, 1);
    one.owned = [0, 1].into();
    assert_eq!(response.assignment.unwrap().topic_partitions[0].partitions, [0, 1]);
    // It still reports all partitions: nothing happens, and the second member waits.
    assert_eq!(one.call().await.member_epoch, 1);
    assert_eq!(two.heartbeat().await.assignment, None);
    one.report_owned();
    assert_eq!(one.heartbeat().await.member_epoch, 2);
    two.heartbeat().await;
    assert_eq!((one.owns(), two.owns()), (vec![0, 1], vec![2, 3]));
    let group = cluster.group(GROUP).unwrap();
    assert_eq!((group.state.as_str(), group.kind.as_str(), group.generation), ("Stable", "consumer", 2));
    assert_eq!(members(&cluster)[1].assignment, [("t".to_owned(), 2), ("t".to_owned(), 3)]);
    // It leaves, and the other member gets all partitions.
    assert_eq!(one.leave(-1).await, ErrorCode::None);
    assert_eq!(two.heartbeat().await.member_epoch, 3);
    assert_eq!(two.owns(), [0, 1, 2, 3]);
    assert_eq!(two.leave(-1).await, ErrorCode::None);
    assert_eq!(cluster.group(GROUP).unwrap().state, "Empty");
}

#[tokio::test]
async fn new_and_deleted_topics_change_the_assignment() {
    let cluster = MockCluster::start(MockConfig::default()).await.unwrap();
    let mut one = Member::new(&cluster, "one").await;
    assert_eq!((one.heartbeat().await.member_epoch, one.owns()), (1, vec![]));
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    assert_eq!((one.heartbeat().await.member_epoch, one.owns()), (2, vec![0, 1]));
    cluster.delete_topic("t").unwrap();
    let response = one.call().await;
    assert_eq!((response.member_epoch, response.assignment.unwrap().topic_partitions.len()), (2, 0));
    one.owned.clear();
    one.report_owned();
    assert_eq!(one.heartbeat().await.member_epoch, 3);
}

#[tokio::test]
async fn a_lost_response_is_repeated() {
    let cluster = cluster_with_topic(2).await;
    let mut one = Member::new(&cluster, "one").await;
    // The response to the join is lost: the member sends the same request again.
    one.call().await;
    let joined = one.heartbeat().await;
    assert_eq!((joined.member_epoch, one.owns()), (1, vec![0, 1]));
    // The response with a new epoch is lost: the previous epoch is still accepted.
    cluster.create_topic(TopicSpec::new("u").partitions(1)).unwrap();
    one.request.subscribed_topic_names = Some(vec!["t".to_owned(), "u".to_owned()]);
    assert_eq!(one.call().await.member_epoch, 2);
    assert_eq!(one.call().await.member_epoch, 2);
    // A full heartbeat gets the assignment even if it is unchanged.
    one.request.rebalance_timeout_ms = 30_000;
    one.request.member_epoch = 2;
    assert_eq!(one.call().await.assignment.unwrap().topic_partitions.len(), 2);
}

#[tokio::test]
async fn wrong_epochs_are_fenced() {
    let cluster = cluster_with_topic(2).await;
    let mut one = Member::new(&cluster, "one").await;
    one.heartbeat().await;
    one.request.member_epoch = 9;
    assert_eq!(one.heartbeat_error().await, ErrorCode::FencedMemberEpoch);
    one.request.member_id = "two".to_owned();
    assert_eq!(one.heartbeat_error().await, ErrorCode::UnknownMemberId);
    // A fenced member may rejoin with the same id.
    let mut again = Member::new(&cluster, "one").await;
    assert_eq!((again.heartbeat().await.member_epoch, again.owns()), (1, vec![0, 1]));
    assert_eq!(members(&cluster).len(), 1);
    cluster.expire_member(GROUP, "one").unwrap();
    assert_eq!(again.heartbeat_error().await, ErrorCode::UnknownMemberId);
    again.request.group_id = (1..)
        .map(|i| format!("other-{i}"))
        .find(|other| cluster.coordinator(other) == cluster.coordinator(GROUP))
        .unwrap();
    assert_eq!(again.heartbeat_error().await, ErrorCode::GroupIdNotFound);
    // An old epoch is fenced unless it is the previous one.
    let mut two = Member::new(&cluster, "two").await;
    two.heartbeat().await;
    for name in ["u", "v", "w"] {
        cluster.create_topic(TopicSpec::new(name)).unwrap();
        two.request.subscribed_topic_names = Some(vec!["t".to_owned(), name.to_owned()]);
        let epoch = two.request.member_epoch;
        two.heartbeat().await;
        assert_eq!(two.request.member_epoch, epoch + 1);
    }
    two.request.member_epoch -= 2;
    assert_eq!(two.heartbeat_error().await, ErrorCode::FencedMemberEpoch);
}

#[tokio::test]
async fn a_static_member_leaves_temporarily_and_returns() {
    let cluster = cluster_with_topic(4).await;
    let mut one = Member::static_member(&cluster, "one", "a").await;
    let mut two = Member::static_member(&cluster, "two", "b").await;
    one.heartbeat().await;
    two.heartbeat().await;
    one.heartbeat().await;
    one.heartbeat().await;
    two.heartbeat().await;
    assert_eq!((one.owns(), two.owns()), (vec![0, 1], vec![2, 3]));
    let mut duplicate = Member::static_member(&cluster, "duplicate", "b").await;
    assert_eq!(duplicate.heartbeat_error().await, ErrorCode::UnreleasedInstanceId);
    duplicate.request.member_epoch = 2;
    assert_eq!(duplicate.heartbeat_error().await, ErrorCode::FencedInstanceId);
    assert_eq!(two.leave(-2).await, ErrorCode::None);
    assert_eq!(members(&cluster).iter().map(|member| member.epoch).collect::<Vec<_>>(), [2, -2]);
    assert_eq!(one.heartbeat().await.assignment, None);
    duplicate.request.member_epoch = 0;
    assert_eq!((duplicate.heartbeat().await.member_epoch, duplicate.owns()), (2, vec![2, 3]));
    assert_eq!(cluster.group(GROUP).unwrap().generation, 2);
    assert_eq!(two.leave(-1).await, ErrorCode::FencedInstanceId);
    assert_eq!(duplicate.leave(-1).await, ErrorCode::None);
    assert_eq!(members(&cluster).len(), 1);
    one.request.instance_id = Some("c".to_owned());
    assert_eq!(one.heartbeat_error().await, ErrorCode::UnknownMemberId);
}

#[tokio::test]
async fn silent_and_slow_members_are_fenced() {
    let groups = GroupConfig { consumer_session_timeout: Duration::from_secs(6), ..GroupConfig::default() };
    let cluster = cluster_with(groups, 2).await;
    let mut one = Member::new(&cluster, "one").await;
    let mut two = Member::new(&cluster, "two").await;
    one.request.rebalance_timeout_ms = 2_500;
    one.heartbeat().await;
    two.heartbeat().await;
    // The first member must revoke a partition and does not.
    let started = Instant::now();
    assert_eq!(one.call().await.assignment.unwrap().topic_partitions[0].partitions, [0]);
    loop {
        let response = one.call().await;
        if ErrorCode::from(response.error_code) == ErrorCode::UnknownMemberId {
            break;
        }
        assert_eq!((response.error_code, response.member_epoch), (0, 1));
        two.heartbeat().await;
        assert!(started.elapsed() < TEST_TIMEOUT, "not fenced");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(started.elapsed() >= Duration::from_millis(2_500));
    two.heartbeat().await;
    assert_eq!(two.owns(), [0, 1]);
    // The second member stops sending heartbeats.
    while !members(&cluster).is_empty() {
        assert!(started.elapsed() < TEST_TIMEOUT, "not expired");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(two.heartbeat_error().await, ErrorCode::UnknownMemberId);
}

#[tokio::test]
async fn members_choose_the_assignor() {
    let cluster = cluster_with_topic(5).await;
    let mut one = Member::new(&cluster, "one").await;
    one.request.server_assignor = Some("best".to_owned());
    assert_eq!(one.heartbeat_error().await, ErrorCode::UnsupportedAssignor);
    one.request.server_assignor = Some("range".to_owned());
    one.heartbeat().await;
    assert_eq!(cluster.group(GROUP).unwrap().protocol.as_deref(), Some("range"));
    let mut two = Member::new(&cluster, "a-two").await;
    two.heartbeat().await;
    one.heartbeat().await;
    one.heartbeat().await;
    two.heartbeat().await;
    // Ranges of partitions in the order of member ids.
    assert_eq!((two.owns(), one.owns()), (vec![0, 1, 2], vec![3, 4]));
}

#[tokio::test]
async fn uniform_moves_as_few_partitions_as_possible() {
    let cluster = cluster_with_topic(9).await;
    let mut all = Vec::new();
    let mut before: Vec<Vec<i32>> = Vec::new();
    for id in ["c", "b", "a"] {
        all.push(Member::new(&cluster, id).await);
        for _ in 0..3 {
            for member in &mut all {
                member.heartbeat().await;
            }
        }
        let now: Vec<Vec<i32>> = all.iter().map(Member::owns).collect();
        for (was, is) in before.iter().zip(&now) {
            assert!(is.iter().all(|partition| was.contains(partition)), "{before:?} {now:?}");
        }
        let (fewest, most) = (now.iter().map(Vec::len).min(), now.iter().map(Vec::len).max());
        assert!(most.unwrap() - fewest.unwrap() <= 1);
        before = now;
    }
    assert_eq!(before.concat().into_iter().collect::<BTreeSet<_>>(), (0..9).collect());
}

#[tokio::test]
async fn members_subscribe_by_regular_expression() {
    let cluster = MockCluster::start(MockConfig::default()).await.unwrap();
    for name in ["orders-1", "orders-2", "orders", "my-orders-1"] {
        cluster.create_topic(TopicSpec::new(name)).unwrap();
    }
    let mut one = Member::new(&cluster, "one").await;
    one.request.subscribed_topic_names = None;
    one.request.subscribed_topic_regex = Some("orders-[".to_owned());
    let response = one.call().await;
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::InvalidRegularExpression);
    one.request.subscribed_topic_regex = Some("orders-.*".to_owned());
    assert_eq!(one.call().await.assignment.unwrap().topic_partitions.len(), 2);
    cluster.create_topic(TopicSpec::new("orders-3")).unwrap();
    assert_eq!(one.call().await.assignment.unwrap().topic_partitions.len(), 3);
}

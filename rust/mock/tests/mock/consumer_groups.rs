//! KIP-848 groups by the contracts of ConsumerGroupHeartbeat and ConsumerGroupDescribe.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::consumer::{GROUP, Member as Classic};
use crate::support::*;
use ottla_mock::{
    ApiLimit, Fault, GroupConfig, Match, MemberInfo, MockCluster, MockConfig, Reaction, TopicSpec,
};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use ottla_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ottla_protocol::messages::describe_groups::DescribeGroupsRequest;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

/// A member that does what it is told.
struct Member<'a> {
    cluster: &'a MockCluster,
    raw: Raw,
    request: ConsumerGroupHeartbeatRequest,
    owned: BTreeSet<i32>,
}

impl<'a> Member<'a> {
    async fn new(cluster: &'a MockCluster, id: &str) -> Self {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: GROUP.to_owned(),
            member_id: id.to_owned(),
            rebalance_timeout_ms: 30_000,
            subscribed_topic_names: Some(vec!["t".to_owned()]),
            topic_partitions: Some(Vec::new()),
            ..ConsumerGroupHeartbeatRequest::default()
        };
        Self { cluster, raw: Raw::to_coordinator(cluster, GROUP).await, request, owned: BTreeSet::new() }
    }

    async fn fixed(cluster: &'a MockCluster, id: &str, instance: &str) -> Self {
        let mut member = Self::new(cluster, id).await;
        member.request.instance_id = Some(instance.to_owned());
        member
    }

    async fn call(&mut self) -> ConsumerGroupHeartbeatResponse {
        self.raw.call(&self.request, 1).await
    }

    async fn refused(&mut self) -> ErrorCode {
        ErrorCode::from(self.call().await.error_code)
    }

    /// One heartbeat, after which the member has what it was given and not what it was not.
    async fn beat(&mut self) -> ConsumerGroupHeartbeatResponse {
        let response = self.call().await;
        assert_eq!(ErrorCode::from(response.error_code), ErrorCode::None, "{:?}", response.error_message);
        self.request.member_epoch = response.member_epoch;
        if let Some(assignment) = &response.assignment {
            self.owned = assignment.topic_partitions.iter().flat_map(|t| t.partitions.clone()).collect();
        }
        self.say_owned();
        response
    }

    /// Says in the next heartbeat what the member has, and nothing that it has said before.
    fn say_owned(&mut self) {
        self.request.rebalance_timeout_ms = -1;
        self.request.subscribed_topic_names = None;
        self.request.topic_partitions = Some(Vec::new());
        if let (Some(topic), false) = (self.cluster.topic("t"), self.owned.is_empty()) {
            let partitions = self.owned.iter().copied().collect();
            self.request.topic_partitions = Some(vec![TopicPartitions { topic_id: topic.id, partitions }]);
        }
    }

    async fn leave(&mut self, epoch: i32) -> ErrorCode {
        self.request.member_epoch = epoch;
        let response = self.call().await;
        if response.error_code == 0 {
            assert_eq!(response.member_epoch, epoch);
        }
        ErrorCode::from(response.error_code)
    }

    fn owns(&self) -> Vec<i32> {
        self.owned.iter().copied().collect()
    }
}

async fn cluster_with(groups: GroupConfig, partitions: i32) -> MockCluster {
    let cluster = MockCluster::start(MockConfig { groups, ..MockConfig::default() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).unwrap();
    cluster
}

fn members(cluster: &MockCluster) -> Vec<MemberInfo> {
    cluster.members(GROUP)
}

#[tokio::test]
async fn partitions_are_given_up_before_others_get_them() {
    let cluster = cluster_with_topic(4).await;
    let mut one = Member::new(&cluster, "one").await;
    let joined = one.beat().await;
    assert_eq!((joined.member_epoch, one.owns()), (1, vec![0, 1, 2, 3]));
    assert_eq!(joined.heartbeat_interval_ms, 200);
    // Nothing to say.
    assert_eq!(one.beat().await.assignment, None);
    let mut two = Member::new(&cluster, "two").await;
    let joined = two.beat().await;
    // What it is to have is another one's still.
    assert_eq!((joined.member_epoch, two.owns()), (2, vec![]));
    assert!(joined.assignment.is_some());
    assert_eq!(cluster.group(GROUP).unwrap().state, "Reconciling");
    // The first one is told to give up two and keeps its epoch until it has.
    let told = one.call().await;
    assert_eq!(told.member_epoch, 1);
    one.owned = [0, 1].into();
    assert_eq!(told.assignment.unwrap().topic_partitions[0].partitions, [0, 1]);
    // It says that it still has all: nothing happens. The second one waits.
    assert_eq!(one.call().await.member_epoch, 1);
    assert_eq!(two.beat().await.assignment, None);
    one.say_owned();
    assert_eq!(one.beat().await.member_epoch, 2);
    two.beat().await;
    assert_eq!((one.owns(), two.owns()), (vec![0, 1], vec![2, 3]));
    let group = cluster.group(GROUP).unwrap();
    assert_eq!((group.state.as_str(), group.kind.as_str(), group.generation), ("Stable", "consumer", 2));
    assert_eq!(members(&cluster)[1].assignment, [("t".to_owned(), 2), ("t".to_owned(), 3)]);
    // It leaves, and the other one gets everything.
    assert_eq!(one.leave(-1).await, ErrorCode::None);
    assert_eq!(two.beat().await.member_epoch, 3);
    assert_eq!(two.owns(), [0, 1, 2, 3]);
    assert_eq!(two.leave(-1).await, ErrorCode::None);
    assert_eq!(cluster.group(GROUP).unwrap().state, "Empty");
}

#[tokio::test]
async fn new_partitions_and_topics_are_noticed() {
    let cluster = MockCluster::start(MockConfig::default()).await.unwrap();
    let mut one = Member::new(&cluster, "one").await;
    assert_eq!((one.beat().await.member_epoch, one.owns()), (1, vec![]));
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    assert_eq!((one.beat().await.member_epoch, one.owns()), (2, vec![0, 1]));
    cluster.delete_topic("t").unwrap();
    let told = one.call().await;
    assert_eq!((told.member_epoch, told.assignment.unwrap().topic_partitions.len()), (2, 0));
    one.owned.clear();
    one.say_owned();
    assert_eq!(one.beat().await.member_epoch, 3);
}

#[tokio::test]
async fn a_lost_answer_is_given_again() {
    let cluster = cluster_with_topic(2).await;
    let mut one = Member::new(&cluster, "one").await;
    // The answer to the join is lost: the same request again.
    one.call().await;
    let joined = one.beat().await;
    assert_eq!((joined.member_epoch, one.owns()), (1, vec![0, 1]));
    // So is one that raised the epoch: the epoch before is good enough once.
    cluster.create_topic(TopicSpec::new("u").partitions(1)).unwrap();
    one.request.subscribed_topic_names = Some(vec!["t".to_owned(), "u".to_owned()]);
    assert_eq!(one.call().await.member_epoch, 2);
    assert_eq!(one.call().await.member_epoch, 2);
    // A full heartbeat gets the assignment, whether or not it has changed.
    one.request.rebalance_timeout_ms = 30_000;
    one.request.member_epoch = 2;
    assert_eq!(one.call().await.assignment.unwrap().topic_partitions.len(), 2);
}

#[tokio::test]
async fn epochs_that_do_not_fit_are_fenced() {
    let cluster = cluster_with_topic(2).await;
    let mut one = Member::new(&cluster, "one").await;
    one.beat().await;
    one.request.member_epoch = 9;
    assert_eq!(one.refused().await, ErrorCode::FencedMemberEpoch);
    one.request.member_id = "two".to_owned();
    assert_eq!(one.refused().await, ErrorCode::UnknownMemberId);
    // Who was fenced may join again under its id.
    let mut again = Member::new(&cluster, "one").await;
    assert_eq!((again.beat().await.member_epoch, again.owns()), (1, vec![0, 1]));
    assert_eq!(members(&cluster).len(), 1);
    cluster.expire_member(GROUP, "one").unwrap();
    assert_eq!(again.refused().await, ErrorCode::UnknownMemberId);
    again.request.group_id = (1..)
        .map(|i| format!("other-{i}"))
        .find(|other| cluster.coordinator(other) == cluster.coordinator(GROUP))
        .unwrap();
    assert_eq!(again.refused().await, ErrorCode::GroupIdNotFound);
    // An old epoch is fenced unless it was the one before.
    let mut two = Member::new(&cluster, "two").await;
    two.beat().await;
    for name in ["u", "v", "w"] {
        cluster.create_topic(TopicSpec::new(name)).unwrap();
        two.request.subscribed_topic_names = Some(vec!["t".to_owned(), name.to_owned()]);
        let epoch = two.request.member_epoch;
        two.beat().await;
        assert_eq!(two.request.member_epoch, epoch + 1);
    }
    two.request.member_epoch -= 2;
    assert_eq!(two.refused().await, ErrorCode::FencedMemberEpoch);
}

#[tokio::test]
async fn a_static_member_may_go_and_come_back() {
    let cluster = cluster_with_topic(4).await;
    let mut one = Member::fixed(&cluster, "one", "a").await;
    let mut two = Member::fixed(&cluster, "two", "b").await;
    one.beat().await;
    two.beat().await;
    one.beat().await;
    one.beat().await;
    two.beat().await;
    assert_eq!((one.owns(), two.owns()), (vec![0, 1], vec![2, 3]));
    let mut double = Member::fixed(&cluster, "double", "b").await;
    assert_eq!(double.refused().await, ErrorCode::UnreleasedInstanceId);
    double.request.member_epoch = 2;
    assert_eq!(double.refused().await, ErrorCode::FencedInstanceId);
    assert_eq!(two.leave(-2).await, ErrorCode::None);
    assert_eq!(members(&cluster).iter().map(|member| member.epoch).collect::<Vec<_>>(), [2, -2]);
    assert_eq!(one.beat().await.assignment, None);
    double.request.member_epoch = 0;
    assert_eq!((double.beat().await.member_epoch, double.owns()), (2, vec![2, 3]));
    assert_eq!(cluster.group(GROUP).unwrap().generation, 2);
    assert_eq!(two.leave(-1).await, ErrorCode::FencedInstanceId);
    assert_eq!(double.leave(-1).await, ErrorCode::None);
    assert_eq!(members(&cluster).len(), 1);
    one.request.instance_id = Some("c".to_owned());
    assert_eq!(one.refused().await, ErrorCode::UnknownMemberId);
}

#[tokio::test]
async fn silent_and_slow_members_are_fenced() {
    let groups = GroupConfig { consumer_session_timeout: Duration::from_secs(6), ..GroupConfig::default() };
    let cluster = cluster_with(groups, 2).await;
    let mut one = Member::new(&cluster, "one").await;
    let mut two = Member::new(&cluster, "two").await;
    one.request.rebalance_timeout_ms = 2_500;
    one.beat().await;
    two.beat().await;
    // The first one is told to give one up and does not.
    let told = Instant::now();
    assert_eq!(one.call().await.assignment.unwrap().topic_partitions[0].partitions, [0]);
    loop {
        let response = one.call().await;
        if ErrorCode::from(response.error_code) == ErrorCode::UnknownMemberId {
            break;
        }
        assert_eq!((response.error_code, response.member_epoch), (0, 1));
        two.beat().await;
        assert!(told.elapsed() < TEST_TIMEOUT, "not fenced");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(told.elapsed() >= Duration::from_millis(2_500));
    two.beat().await;
    assert_eq!(two.owns(), [0, 1]);
    // The second one falls silent.
    while !members(&cluster).is_empty() {
        assert!(told.elapsed() < TEST_TIMEOUT, "not expired");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(two.refused().await, ErrorCode::UnknownMemberId);
}

#[tokio::test]
async fn members_choose_the_assignor() {
    let cluster = cluster_with_topic(5).await;
    let mut one = Member::new(&cluster, "one").await;
    one.request.server_assignor = Some("best".to_owned());
    assert_eq!(one.refused().await, ErrorCode::UnsupportedAssignor);
    one.request.server_assignor = Some("range".to_owned());
    one.beat().await;
    assert_eq!(cluster.group(GROUP).unwrap().protocol.as_deref(), Some("range"));
    let mut two = Member::new(&cluster, "a-two").await;
    two.beat().await;
    one.beat().await;
    one.beat().await;
    two.beat().await;
    // Runs of partitions by the order of the ids.
    assert_eq!((two.owns(), one.owns()), (vec![0, 1, 2], vec![3, 4]));
}

#[tokio::test]
async fn uniform_moves_only_what_has_to_move() {
    let cluster = cluster_with_topic(9).await;
    let mut all = Vec::new();
    let mut before: Vec<Vec<i32>> = Vec::new();
    for id in ["c", "b", "a"] {
        all.push(Member::new(&cluster, id).await);
        for _ in 0..3 {
            for member in &mut all {
                member.beat().await;
            }
        }
        let now: Vec<Vec<i32>> = all.iter().map(Member::owns).collect();
        for (was, is) in before.iter().zip(&now) {
            assert!(is.iter().all(|partition| was.contains(partition)), "{before:?} {now:?}");
        }
        let (least, most) = (now.iter().map(Vec::len).min(), now.iter().map(Vec::len).max());
        assert!(most.unwrap() - least.unwrap() <= 1);
        before = now;
    }
    assert_eq!(before.concat().into_iter().collect::<BTreeSet<_>>(), (0..9).collect());
}

#[tokio::test]
async fn topics_are_chosen_by_a_regular_expression() {
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

#[tokio::test]
async fn requests_without_sense_are_refused() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = Raw::to_coordinator(&cluster, GROUP).await;
    let right = Member::new(&cluster, "one").await.request;
    let changes: [fn(&mut ConsumerGroupHeartbeatRequest); 9] = [
        |r| r.group_id.clear(),
        |r| r.member_id.clear(),
        |r| r.instance_id = Some(String::new()),
        |r| r.rack_id = Some(String::new()),
        |r| r.rebalance_timeout_ms = -1,
        |r| r.topic_partitions = None,
        |r| r.subscribed_topic_names = None,
        |r| r.member_epoch = -2,
        |r| r.member_epoch = -3,
    ];
    for change in changes {
        let mut request = right.clone();
        change(&mut request);
        if request.group_id.is_empty() {
            raw = Raw::connect(&cluster, 1).await;
        }
        let response = raw.call(&request, 1).await;
        assert_eq!(ErrorCode::from(response.error_code), ErrorCode::InvalidRequest, "{request:?}");
        assert!(response.error_message.is_some());
        raw = Raw::to_coordinator(&cluster, GROUP).await;
    }
    // In version 0 the coordinator makes the id.
    let mut request = right.clone();
    request.member_id.clear();
    let response = raw.call(&request, 0).await;
    assert_eq!(response.error_code, 0);
    assert!(!response.member_id.unwrap().is_empty());
    let elsewhere = cluster.coordinator(GROUP).unwrap() % 3 + 1;
    let response = Raw::connect(&cluster, elsewhere).await.call(&right, 1).await;
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::NotCoordinator);
    let on = Match::api(ApiKey::ConsumerGroupHeartbeat);
    cluster.inject(Fault::once(on, Reaction::Error(ErrorCode::UnreleasedInstanceId)));
    assert_eq!(ErrorCode::from(raw.call(&right, 1).await.error_code), ErrorCode::UnreleasedInstanceId);
}

#[tokio::test]
async fn commits_and_fetches_carry_the_epoch() {
    let cluster = cluster_with_topic(1).await;
    let mut one = Member::new(&cluster, "one").await;
    one.beat().await;
    let commit = |member: &str, epoch: i32| OffsetCommitRequest {
        group_id: GROUP.to_owned(),
        member_id: member.to_owned(),
        generation_id_or_member_epoch: epoch,
        topics: vec![OffsetCommitRequestTopic {
            name: "t".to_owned(),
            partitions: vec![OffsetCommitRequestPartition { committed_offset: 3, ..Default::default() }],
            ..Default::default()
        }],
        ..OffsetCommitRequest::default()
    };
    let fetch = |member: Option<&str>, epoch: i32| OffsetFetchRequest {
        groups: vec![OffsetFetchRequestGroup {
            group_id: GROUP.to_owned(),
            member_id: member.map(str::to_owned),
            member_epoch: epoch,
            topics: Some(vec![OffsetFetchRequestTopics {
                name: "t".to_owned(),
                partition_indexes: vec![0],
                ..Default::default()
            }]),
        }],
        ..OffsetFetchRequest::default()
    };
    use ErrorCode::*;
    for (member, epoch, version, expected) in [
        ("one", 1, 9, None),
        ("one", 0, 9, StaleMemberEpoch),
        ("one", 2, 9, StaleMemberEpoch),
        ("who", 1, 9, UnknownMemberId),
        ("", -1, 9, UnknownMemberId),
        ("one", 1, 8, UnsupportedVersion),
    ] {
        let response = one.raw.call(&commit(member, epoch), version).await;
        assert_eq!(ErrorCode::from(response.topics[0].partitions[0].error_code), expected);
    }
    for (member, epoch, expected) in [
        (Some("one"), 1, None),
        (Some("one"), 7, StaleMemberEpoch),
        (Some("who"), 1, UnknownMemberId),
        (Option::None, -1, None),
    ] {
        let group = one.raw.call(&fetch(member, epoch), 9).await.groups.remove(0);
        assert_eq!(ErrorCode::from(group.error_code), expected);
        if expected == None {
            assert_eq!(group.topics[0].partitions[0].committed_offset, 3);
        }
    }
    // A member of the other kind is not let in; when the group is empty, it is.
    let mut classic = Classic::new(&cluster).await;
    let refused = classic.raw.call(&classic.join, 9).await;
    assert_eq!(ErrorCode::from(refused.error_code), InconsistentGroupProtocol);
    one.leave(-1).await;
    assert_eq!(classic.join().await.generation_id, 1);
    assert_eq!(cluster.committed(GROUP, "t", 0).unwrap().offset, 3);
    assert_eq!(Member::new(&cluster, "two").await.refused().await, GroupIdNotFound);
}

#[tokio::test]
async fn groups_are_described_by_their_kind() {
    let cluster = cluster_with_topic(2).await;
    let mut one = Member::new(&cluster, "one").await;
    one.request.rack_id = Some("rack-a".to_owned());
    one.beat().await;
    for version in 0..=1 {
        let request =
            ConsumerGroupDescribeRequest { group_ids: vec![GROUP.to_owned()], ..Default::default() };
        let group = one.raw.call(&request, version).await.groups.remove(0);
        assert_eq!((group.group_state.as_str(), group.group_epoch, group.assignment_epoch), ("Stable", 1, 1));
        let member = &group.members[0];
        assert_eq!((member.member_id.as_str(), member.rack_id.as_deref()), ("one", Some("rack-a")));
        assert_eq!(member.assignment.topic_partitions[0].partitions, [0, 1]);
        assert_eq!(member.assignment, member.target_assignment);
        assert_eq!(member.member_type, if version == 1 { 1 } else { -1 });
    }
    let classic = DescribeGroupsRequest { groups: vec![GROUP.to_owned()], ..Default::default() };
    let group = one.raw.call(&classic, 6).await.groups.remove(0);
    assert_eq!(ErrorCode::from(group.error_code), ErrorCode::GroupIdNotFound);
    one.leave(-1).await;
    Classic::new(&cluster).await.join().await;
    let request = ConsumerGroupDescribeRequest { group_ids: vec![GROUP.to_owned()], ..Default::default() };
    let group = one.raw.call(&request, 1).await.groups.remove(0);
    assert_eq!(ErrorCode::from(group.error_code), ErrorCode::GroupIdNotFound);
}

#[tokio::test]
async fn a_new_coordinator_knows_the_members() {
    let cluster = cluster_with_topic(2).await;
    let mut one = Member::new(&cluster, "one").await;
    one.beat().await;
    let to = cluster.coordinator(GROUP).unwrap() % 3 + 1;
    cluster.move_coordinator(GROUP, to).unwrap();
    assert_eq!(one.refused().await, ErrorCode::NotCoordinator);
    one.raw = Raw::connect(&cluster, to).await;
    assert_eq!((one.beat().await.member_epoch, one.owns()), (1, vec![0, 1]));
}

#[tokio::test]
async fn an_older_broker_does_not_know_them() {
    let api_limits = [(ApiKey::ConsumerGroupHeartbeat, ApiLimit::Absent)].into();
    let cluster = MockCluster::start(MockConfig { api_limits, ..MockConfig::default() }).await.unwrap();
    let mut raw = Raw::connect(&cluster, 1).await;
    let keys = raw.call(&ApiVersionsRequest::default(), 2).await.api_keys;
    assert!(keys.iter().all(|key| key.api_key != ApiKey::ConsumerGroupHeartbeat as i16));
    assert!(raw.try_call(&ConsumerGroupHeartbeatRequest::default(), 1).await.is_none());
}

//! KIP-848 groups: invalid requests, offsets, descriptions, and coordinators that move.

use crate::support::classic_member::{GROUP, Member as ClassicMember};
use crate::support::consumer_member::Member;
use crate::support::*;
use ottla_mock::{ApiLimit, Fault, Match, MockCluster, MockConfig, Reaction};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::messages::describe_groups::DescribeGroupsRequest;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use ottla_protocol::{ApiKey, ErrorCode};

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
    let valid = Member::new(&cluster, "one").await.request;
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
        let mut request = valid.clone();
        change(&mut request);
        if request.group_id.is_empty() {
            raw = RawClient::connect(&cluster, 1).await;
        }
        let response = raw.call(&request, 1).await;
        assert_eq!(ErrorCode::from(response.error_code), ErrorCode::InvalidRequest, "{request:?}");
        assert!(response.error_message.is_some());
        raw = RawClient::to_coordinator(&cluster, GROUP).await;
    }
    // In version 0, the coordinator creates the member id.
    let mut request = valid.clone();
    request.member_id.clear();
    let response = raw.call(&request, 0).await;
    assert_eq!(response.error_code, 0);
    assert!(!response.member_id.unwrap().is_empty());
    let elsewhere = cluster.coordinator(GROUP).unwrap() % 3 + 1;
    let response = RawClient::connect(&cluster, elsewhere).await.call(&valid, 1).await;
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::NotCoordinator);
    let on = Match::api(ApiKey::ConsumerGroupHeartbeat);
    cluster.inject(Fault::once(on, Reaction::Error(ErrorCode::UnreleasedInstanceId)));
    assert_eq!(ErrorCode::from(raw.call(&valid, 1).await.error_code), ErrorCode::UnreleasedInstanceId);
}

#[tokio::test]
async fn commits_and_fetches_carry_the_epoch() {
    let cluster = cluster_with_topic(1).await;
    let mut one = Member::new(&cluster, "one").await;
    one.heartbeat().await;
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
        ("unknown", 1, 9, UnknownMemberId),
        ("", -1, 9, UnknownMemberId),
        ("one", 1, 8, UnsupportedVersion),
    ] {
        let response = one.raw.call(&commit(member, epoch), version).await;
        assert_eq!(ErrorCode::from(response.topics[0].partitions[0].error_code), expected);
    }
    for (member, epoch, expected) in [
        (Some("one"), 1, None),
        (Some("one"), 7, StaleMemberEpoch),
        (Some("unknown"), 1, UnknownMemberId),
        (Option::None, -1, None),
    ] {
        let group = one.raw.call(&fetch(member, epoch), 9).await.groups.remove(0);
        assert_eq!(ErrorCode::from(group.error_code), expected);
        if expected == None {
            assert_eq!(group.topics[0].partitions[0].committed_offset, 3);
        }
    }
    // A classic member may join only once the group is empty.
    let mut classic = ClassicMember::new(&cluster).await;
    let response = classic.raw.call(&classic.join, 9).await;
    assert_eq!(ErrorCode::from(response.error_code), InconsistentGroupProtocol);
    one.leave(-1).await;
    assert_eq!(classic.join().await.generation_id, 1);
    assert_eq!(cluster.committed(GROUP, "t", 0).unwrap().offset, 3);
    assert_eq!(Member::new(&cluster, "two").await.heartbeat_error().await, GroupIdNotFound);
}

#[tokio::test]
async fn groups_are_described_by_their_kind() {
    let cluster = cluster_with_topic(2).await;
    let mut one = Member::new(&cluster, "one").await;
    one.request.rack_id = Some("rack-a".to_owned());
    one.heartbeat().await;
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
    ClassicMember::new(&cluster).await.join().await;
    let request = ConsumerGroupDescribeRequest { group_ids: vec![GROUP.to_owned()], ..Default::default() };
    let group = one.raw.call(&request, 1).await.groups.remove(0);
    assert_eq!(ErrorCode::from(group.error_code), ErrorCode::GroupIdNotFound);
}

#[tokio::test]
async fn a_new_coordinator_loads_the_members() {
    let cluster = cluster_with_topic(2).await;
    let mut one = Member::new(&cluster, "one").await;
    one.heartbeat().await;
    let to = cluster.coordinator(GROUP).unwrap() % 3 + 1;
    cluster.move_coordinator(GROUP, to).unwrap();
    assert_eq!(one.heartbeat_error().await, ErrorCode::NotCoordinator);
    one.raw = RawClient::connect(&cluster, to).await;
    assert_eq!((one.heartbeat().await.member_epoch, one.owns()), (1, vec![0, 1]));
}

#[tokio::test]
async fn an_older_broker_does_not_support_them() {
    let api_limits = [(ApiKey::ConsumerGroupHeartbeat, ApiLimit::Absent)].into();
    let cluster = MockCluster::start(MockConfig { api_limits, ..MockConfig::default() }).await.unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    let keys = raw.call(&ApiVersionsRequest::default(), 2).await.api_keys;
    assert!(keys.iter().all(|key| key.api_key != ApiKey::ConsumerGroupHeartbeat as i16));
    assert!(raw.try_call(&ConsumerGroupHeartbeatRequest::default(), 1).await.is_none());
}

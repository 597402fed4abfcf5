//! Share groups (KIP-932): members, assignments and descriptions.

use std::time::Duration;

use crate::support::classic_member::GROUP;
use crate::support::share_member::*;
use crate::support::*;
use ottla_mock::{ApiLimit, GroupConfig, MockCluster, MockConfig, ShareGroupConfig, TopicSpec};
use ottla_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::delete_groups::DeleteGroupsRequest;
use ottla_protocol::messages::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic,
};
use ottla_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup,
};
use ottla_protocol::messages::list_groups::ListGroupsRequest;
use ottla_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ottla_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

async fn call(raw: &mut RawClient, request: &ShareGroupHeartbeatRequest) -> (ErrorCode, i32) {
    let response = raw.call(request, 1).await;
    (response.error_code.into(), response.member_epoch)
}

#[tokio::test]
async fn members_join_share_and_leave() {
    let cluster = cluster_with_topic(3).await;
    let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
    let joined = raw.call(&heartbeat("a", 0), 1).await;
    assert_eq!((joined.member_id.as_deref(), joined.member_epoch), (Some("a"), 1));
    assert_eq!((joined.heartbeat_interval_ms, assigned(&joined)), (200, Some(vec![0, 1, 2])));
    assert_eq!(assigned(&raw.call(&heartbeat("a", 1), 1).await), None);
    // The response with the new epoch and assignment may be lost.
    assert_eq!(assigned(&raw.call(&heartbeat("b", 0), 1).await), Some(vec![1]));
    let response = raw.call(&heartbeat("a", 1), 1).await;
    assert_eq!((response.member_epoch, assigned(&response)), (2, Some(vec![0, 2])));
    assert_eq!(call(&mut raw, &heartbeat("a", 1)).await, (ErrorCode::None, 2));
    assert_eq!(call(&mut raw, &heartbeat("a", 3)).await.0, ErrorCode::FencedMemberEpoch);
    // More members than partitions share them.
    for id in ["c", "d"] {
        assert_eq!(raw.call(&heartbeat(id, 0), 1).await.error_code, 0);
    }
    let mut all = Vec::new();
    for id in ["a", "b", "c", "d"] {
        let owned = assigned(&raw.call(&heartbeat(id, 0), 1).await).unwrap();
        assert_eq!(owned.len(), 1, "{id}");
        all.extend(owned);
    }
    all.sort_unstable();
    assert_eq!(all, [0, 0, 1, 2]);
    let group = cluster.group(GROUP).unwrap();
    assert_eq!((group.kind.as_str(), group.state.as_str(), group.members.len()), ("share", "Stable", 4));
    for id in ["a", "b", "c", "d"] {
        assert_eq!(call(&mut raw, &heartbeat(id, -1)).await, (ErrorCode::None, -1));
    }
    assert_eq!(call(&mut raw, &heartbeat("a", -1)).await.0, ErrorCode::UnknownMemberId);
    assert_eq!(cluster.group(GROUP).unwrap().state, "Empty");
}

#[tokio::test]
async fn a_changed_subscription_changes_the_assignment() {
    let cluster = cluster_with_topic(1).await;
    cluster.create_topic(TopicSpec::new("u").partitions(2)).unwrap();
    let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
    raw.call(&heartbeat("a", 0), 1).await;
    let mut request = heartbeat("a", 1);
    request.subscribed_topic_names = Some(vec!["t".to_owned(), "u".to_owned()]);
    let response = raw.call(&request, 1).await;
    assert_eq!((response.member_epoch, assigned(&response).unwrap().len()), (2, 3));
    cluster.delete_topic("u").unwrap();
    assert_eq!(assigned(&raw.call(&heartbeat("a", 2), 1).await), Some(vec![0]));
}

#[tokio::test]
async fn invalid_heartbeats_are_rejected() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
    let mut no_topics = heartbeat("a", 0);
    no_topics.subscribed_topic_names = None;
    for request in [heartbeat("", 0), no_topics, heartbeat("a", -2)] {
        assert_eq!(call(&mut raw, &request).await.0, ErrorCode::InvalidRequest, "{request:?}");
    }
    assert_eq!(call(&mut raw, &heartbeat("a", 1)).await.0, ErrorCode::GroupIdNotFound);
    raw.call(&heartbeat("a", 0), 1).await;
    assert_eq!(call(&mut raw, &heartbeat("b", 1)).await.0, ErrorCode::UnknownMemberId);
    // A group of another kind does not become a share group.
    let other = (1..).map(|i| format!("other-{i}"));
    let other = other.into_iter().find(|id| cluster.coordinator(id) == cluster.coordinator(GROUP)).unwrap();
    cluster.commit(&other, "t", 0, 0);
    let mut request = heartbeat("a", 0);
    request.group_id = other;
    assert_eq!(call(&mut raw, &request).await.0, ErrorCode::GroupIdNotFound);
}

#[tokio::test]
async fn a_silent_member_expires() {
    let share =
        ShareGroupConfig { session_timeout: Duration::from_millis(50), ..ShareGroupConfig::default() };
    let groups = GroupConfig { share, ..GroupConfig::default() };
    let cluster = MockCluster::start(MockConfig { groups, ..MockConfig::default() }).await.unwrap();
    let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
    raw.call(&heartbeat("a", 0), 1).await;
    let started = Instant::now();
    while !cluster.members(GROUP).is_empty() {
        assert!(started.elapsed() < TEST_TIMEOUT, "not expired");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(call(&mut raw, &heartbeat("a", 1)).await.0, ErrorCode::UnknownMemberId);
}

#[tokio::test]
async fn groups_are_listed_described_and_deleted() {
    let cluster = cluster_with_topic(2).await;
    let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
    raw.call(&heartbeat("a", 0), 1).await;
    let list = ListGroupsRequest { types_filter: vec!["Share".to_owned()], ..ListGroupsRequest::default() };
    let listed = raw.call(&list, 5).await.groups.remove(0);
    assert_eq!((listed.group_type.as_str(), listed.protocol_type.as_str()), ("share", "share"));
    let describe = ShareGroupDescribeRequest {
        group_ids: vec![GROUP.to_owned()],
        ..ShareGroupDescribeRequest::default()
    };
    let group = raw.call(&describe, 1).await.groups.remove(0);
    assert_eq!((group.group_state.as_str(), group.assignor_name.as_str()), ("Stable", "simple"));
    assert_eq!((group.group_epoch, group.assignment_epoch), (1, 1));
    let member = &group.members[0];
    assert_eq!((member.member_id.as_str(), member.member_epoch), ("a", 1));
    assert_eq!(member.assignment.topic_partitions[0].partitions, [0, 1]);
    let delete = DeleteGroupsRequest { groups_names: vec![GROUP.to_owned()] };
    let error = |code: i16| ErrorCode::from(code);
    assert_eq!(error(raw.call(&delete, 2).await.results[0].error_code), ErrorCode::NonEmptyGroup);
    raw.call(&heartbeat("a", -1), 1).await;
    assert_eq!(error(raw.call(&delete, 2).await.results[0].error_code), ErrorCode::None);
    let missing = raw.call(&describe, 1).await.groups.remove(0);
    assert_eq!(error(missing.error_code), ErrorCode::GroupIdNotFound);
}

async fn start_offsets(raw: &mut RawClient) -> Vec<(i32, i64, i64)> {
    let group = DescribeShareGroupOffsetsRequestGroup { group_id: GROUP.to_owned(), topics: None };
    let request = DescribeShareGroupOffsetsRequest { groups: vec![group] };
    let mut group = raw.call(&request, 1).await.groups.remove(0);
    assert_eq!(group.error_code, 0);
    let topic = group.topics.pop();
    topic.into_iter().flat_map(|t| t.partitions).map(|p| (p.partition_index, p.start_offset, p.lag)).collect()
}

#[tokio::test]
async fn offsets_are_altered_described_and_deleted() {
    let cluster = cluster_with_topic(2).await;
    cluster.append("t", 0, &[b"a".as_slice(); 10]).unwrap();
    let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
    assert_eq!(start_offsets(&mut raw).await, []);
    let partition = |partition_index, start_offset| AlterShareGroupOffsetsRequestPartition {
        partition_index,
        start_offset,
    };
    let alter = AlterShareGroupOffsetsRequest {
        group_id: GROUP.to_owned(),
        topics: vec![AlterShareGroupOffsetsRequestTopic {
            topic_name: "t".to_owned(),
            partitions: vec![partition(0, 3), partition(7, 0)],
        }],
    };
    let altered = raw.call(&alter, 0).await.responses.remove(0).partitions;
    let codes: Vec<ErrorCode> = altered.iter().map(|partition| partition.error_code.into()).collect();
    assert_eq!(codes, [ErrorCode::None, ErrorCode::UnknownTopicOrPartition]);
    assert_eq!(start_offsets(&mut raw).await, [(0, 3, 7)]);
    // A member begins there, although the group resets to the end.
    let mut member = ShareMember::new(&cluster, "a").await;
    assert_eq!(member.fetch().await, [(3, 9, 1)]);
    assert_eq!(member.acknowledge(&[(3, 5, ACCEPT), (7, 7, REJECT)]).await, ErrorCode::None);
    assert_eq!(start_offsets(&mut raw).await, [(0, 3, 3)]);
    raw.call(&heartbeat("a", 0), 1).await;
    let topics = vec![DeleteShareGroupOffsetsRequestTopic { topic_name: "t".to_owned() }];
    let delete = DeleteShareGroupOffsetsRequest { group_id: GROUP.to_owned(), topics };
    for code in [raw.call(&alter, 0).await.error_code, raw.call(&delete, 0).await.error_code] {
        assert_eq!(ErrorCode::from(code), ErrorCode::NonEmptyGroup);
    }
    raw.call(&heartbeat("a", -1), 1).await;
    assert_eq!(raw.call(&delete, 0).await.responses[0].error_code, 0);
    assert_eq!(start_offsets(&mut raw).await, []);
    let code = ErrorCode::from(raw.call(&delete, 0).await.responses[0].error_code);
    assert_eq!(code, ErrorCode::UnknownTopicOrPartition);
}

#[tokio::test]
async fn older_brokers_have_no_share_groups() {
    let api_limits = [(ApiKey::ShareGroupHeartbeat, ApiLimit::Absent)].into();
    let cluster = MockCluster::start(MockConfig { api_limits, ..MockConfig::default() }).await.unwrap();
    let mut raw = RawClient::to_coordinator(&cluster, GROUP).await;
    let versions = ApiVersionsRequest {
        client_software_name: "raw".to_owned(),
        client_software_version: "1.0".to_owned(),
        ..ApiVersionsRequest::default()
    };
    let response = raw.call(&versions, 4).await;
    assert!(!response.api_keys.iter().any(|api| api.api_key == ApiKey::ShareGroupHeartbeat as i16));
    assert!(!response.supported_features.iter().any(|feature| feature.name == "share.version"));
    // The other APIs of share groups are refused without the feature.
    let describe = ShareGroupDescribeRequest {
        group_ids: vec![GROUP.to_owned()],
        ..ShareGroupDescribeRequest::default()
    };
    let code = ErrorCode::from(raw.call(&describe, 1).await.groups[0].error_code);
    assert_eq!(code, ErrorCode::UnsupportedVersion);
}

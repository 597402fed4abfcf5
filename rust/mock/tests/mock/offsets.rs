//! Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete, DeleteGroups, and coordinators that move.

use std::time::Duration;

use crate::support::*;
use ottla_mock::{Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::messages::delete_groups::DeleteGroupsRequest;
use ottla_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::list_groups::ListGroupsRequest;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ApiKey, ErrorCode};

fn is(code: i16, expected: ErrorCode) {
    assert_eq!(ErrorCode::from(code), expected);
}

fn commit(cluster: &MockCluster, version: i16, offsets: &[(i32, i64)]) -> OffsetCommitRequest {
    let partitions = offsets.iter().map(|(index, offset)| OffsetCommitRequestPartition {
        partition_index: *index,
        committed_offset: *offset,
        committed_leader_epoch: if version >= 6 { 0 } else { -1 },
        committed_metadata: Some("here".to_owned()),
    });
    let by_id = version >= 10;
    let topic = OffsetCommitRequestTopic {
        name: if by_id { String::new() } else { "t".to_owned() },
        topic_id: if by_id { cluster.topic("t").unwrap().id } else { Uuid::ZERO },
        partitions: partitions.collect(),
    };
    OffsetCommitRequest { group_id: "g".to_owned(), topics: vec![topic], ..OffsetCommitRequest::default() }
}

fn fetch_many(topics: Option<Vec<OffsetFetchRequestTopics>>) -> OffsetFetchRequest {
    let group =
        OffsetFetchRequestGroup { group_id: "g".to_owned(), topics, ..OffsetFetchRequestGroup::default() };
    OffsetFetchRequest { groups: vec![group], ..OffsetFetchRequest::default() }
}

#[tokio::test]
async fn offsets_round_trip_in_every_version() {
    let cluster = cluster_with_topic(3).await;
    let mut raw = RawClient::to_coordinator(&cluster, "g").await;
    let id = cluster.topic("t").unwrap().id;
    for version in 2..=10_i16 {
        let response = raw.call(&commit(&cluster, version, &[(0, i64::from(version))]), version).await;
        is(response.topics[0].partitions[0].error_code, ErrorCode::None);
        assert_eq!(response.topics[0].topic_id == id, version >= 10);
        let stored = cluster.committed("g", "t", 0).unwrap();
        let epoch = if version >= 6 { 0 } else { -1 };
        assert_eq!((stored.offset, stored.leader_epoch), (i64::from(version), epoch));
        for fetched in 1..=10_i16 {
            let topics = |name: &str| OffsetFetchRequestTopics {
                name: if fetched >= 10 { String::new() } else { name.to_owned() },
                topic_id: if fetched >= 10 { id } else { Uuid::ZERO },
                partition_indexes: vec![0, 1],
            };
            let responses: Vec<(i64, String, i16)> = if fetched >= 8 {
                let response = raw.call(&fetch_many(Some(vec![topics("t")])), fetched).await;
                let group = response.groups.into_iter().next().unwrap();
                is(group.error_code, ErrorCode::None);
                let partitions = group.topics.into_iter().next().unwrap().partitions.into_iter();
                partitions.map(|p| (p.committed_offset, p.metadata.unwrap(), p.error_code)).collect()
            } else {
                let topic = OffsetFetchRequestTopic { name: "t".to_owned(), partition_indexes: vec![0, 1] };
                let request = OffsetFetchRequest {
                    group_id: "g".to_owned(),
                    topics: Some(vec![topic]),
                    ..OffsetFetchRequest::default()
                };
                let response = raw.call(&request, fetched).await;
                let partitions = response.topics.into_iter().next().unwrap().partitions.into_iter();
                partitions.map(|p| (p.committed_offset, p.metadata.unwrap(), p.error_code)).collect()
            };
            assert_eq!(responses, [(i64::from(version), "here".to_owned(), 0), (-1, String::new(), 0)]);
        }
    }
}

#[tokio::test]
async fn all_offsets_of_many_groups_at_once() {
    let cluster = cluster_with_topic(2).await;
    let group = cluster.coordinator("g").unwrap();
    cluster.move_coordinator("other", group).unwrap();
    cluster.commit("g", "t", 1, 7);
    cluster.commit("other", "t", 0, 8);
    let mut raw = RawClient::to_coordinator(&cluster, "g").await;
    let mut request = fetch_many(None);
    for name in ["other", "unknown"] {
        request
            .groups
            .push(OffsetFetchRequestGroup { group_id: name.to_owned(), ..request.groups[0].clone() });
    }
    let elsewhere = (1..=99).map(|i| format!("e{i}")).find(|name| cluster.coordinator(name) != Some(group));
    request
        .groups
        .push(OffsetFetchRequestGroup { group_id: elsewhere.unwrap(), ..request.groups[0].clone() });
    let unknown = cluster.coordinator("unknown") == Some(group);
    let response = raw.call(&request, 8).await;
    let offsets: Vec<Vec<(i32, i64)>> = response
        .groups
        .iter()
        .map(|group| {
            let partitions = group.topics.iter().flat_map(|topic| &topic.partitions);
            partitions.map(|p| (p.partition_index, p.committed_offset)).collect()
        })
        .collect();
    assert_eq!(offsets, [vec![(1, 7)], vec![(0, 8)], vec![], vec![]]);
    is(response.groups[2].error_code, if unknown { ErrorCode::None } else { ErrorCode::NotCoordinator });
    is(response.groups[3].error_code, ErrorCode::NotCoordinator);
}

#[tokio::test]
async fn each_partition_of_a_commit_has_its_own_error() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_coordinator(&cluster, "g").await;
    let mut request = commit(&cluster, 9, &[(0, 1), (7, 1)]);
    request.topics[0].partitions[0].committed_metadata = Some("x".repeat(4097));
    let codes = |response: ottla_protocol::messages::offset_commit::OffsetCommitResponse| -> Vec<ErrorCode> {
        let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
        partitions.map(|p| ErrorCode::from(p.error_code)).collect()
    };
    use ErrorCode::*;
    assert_eq!(codes(raw.call(&request, 9).await), [OffsetMetadataTooLarge, UnknownTopicOrPartition]);
    // A generation of an unknown group.
    request = commit(&cluster, 9, &[(0, 1)]);
    request.group_id =
        (1..).map(|i| format!("n{i}")).find(|n| cluster.coordinator(n) == cluster.coordinator("g")).unwrap();
    request.generation_id_or_member_epoch = 3;
    assert_eq!(codes(raw.call(&request, 8).await), [IllegalGeneration]);
    assert_eq!(codes(raw.call(&request, 9).await), [GroupIdNotFound]);
    // An unknown topic id.
    request = commit(&cluster, 10, &[(0, 1)]);
    request.topics[0].topic_id = Uuid([9; 16]);
    assert_eq!(codes(raw.call(&request, 10).await), [UnknownTopicId]);
    // A fault for one partition, then for the whole request.
    cluster.create_topic(TopicSpec::new("u").partitions(2)).unwrap();
    let on = Match::api(ApiKey::OffsetCommit).topic("u").partition(1);
    cluster.inject(Fault::once(on, Reaction::Error(TopicAuthorizationFailed)));
    request = commit(&cluster, 9, &[(0, 4), (1, 5)]);
    request.topics[0].name = "u".to_owned();
    assert_eq!(codes(raw.call(&request, 9).await), [None, TopicAuthorizationFailed]);
    assert_eq!(cluster.committed("g", "u", 1), Option::None);
    cluster.inject(Fault::once(Match::api(ApiKey::OffsetCommit), Reaction::Error(GroupAuthorizationFailed)));
    assert_eq!(codes(raw.call(&request, 9).await), [GroupAuthorizationFailed; 2]);
    assert_eq!(codes(raw.call(&request, 9).await), [None, None]);
}

#[tokio::test]
async fn pending_offsets_are_unstable() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::to_coordinator(&cluster, "g").await;
    cluster.commit("g", "t", 0, 5);
    cluster.set_offset_pending("g", "t", 0, true);
    let topic =
        OffsetFetchRequestTopics { name: "t".to_owned(), partition_indexes: vec![0], ..Default::default() };
    let mut request = fetch_many(Some(vec![topic]));
    request.require_stable = true;
    let response = raw.call(&request, 9).await;
    is(response.groups[0].topics[0].partitions[0].error_code, ErrorCode::UnstableOffsetCommit);
    request.require_stable = false;
    assert_eq!(raw.call(&request, 9).await.groups[0].topics[0].partitions[0].committed_offset, 5);
    cluster.set_offset_pending("g", "t", 0, false);
    request.require_stable = true;
    assert_eq!(raw.call(&request, 9).await.groups[0].topics[0].partitions[0].committed_offset, 5);
}

#[tokio::test]
async fn offsets_and_groups_are_deleted() {
    let cluster = cluster_with_topic(2).await;
    let mut raw = RawClient::to_coordinator(&cluster, "g").await;
    let delete = |group: &str, partitions: &[i32]| OffsetDeleteRequest {
        group_id: group.to_owned(),
        topics: vec![OffsetDeleteRequestTopic {
            name: "t".to_owned(),
            partitions: partitions
                .iter()
                .map(|p| OffsetDeleteRequestPartition { partition_index: *p })
                .collect(),
        }],
    };
    is(raw.call(&delete("g", &[0]), 0).await.error_code, ErrorCode::GroupIdNotFound);
    cluster.commit("g", "t", 0, 1);
    cluster.commit("g", "t", 1, 2);
    let response = raw.call(&delete("g", &[0, 9]), 0).await;
    is(response.topics[0].partitions[0].error_code, ErrorCode::None);
    is(response.topics[0].partitions[1].error_code, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(cluster.committed_offsets("g").into_keys().collect::<Vec<_>>(), [("t".to_owned(), 1)]);
    for version in 0..=5 {
        let listed = raw.call(&ListGroupsRequest::default(), version).await.groups;
        assert_eq!(listed.iter().map(|g| g.group_id.as_str()).collect::<Vec<_>>(), ["g"]);
    }
    let filtered = ListGroupsRequest { states_filter: vec!["stable".to_owned()], ..Default::default() };
    assert!(raw.call(&filtered, 4).await.groups.is_empty());
    let filtered = ListGroupsRequest {
        states_filter: vec!["EMPTY".to_owned()],
        types_filter: vec!["Classic".to_owned()],
    };
    assert_eq!(raw.call(&filtered, 5).await.groups[0].group_type, "classic");
    for version in 0..=3 {
        cluster.commit("g", "t", 1, 2);
        let request = DeleteGroupsRequest { groups_names: vec!["g".to_owned()] };
        is(raw.call(&request, version).await.results[0].error_code, ErrorCode::None);
        is(raw.call(&request, version).await.results[0].error_code, ErrorCode::GroupIdNotFound);
        assert_eq!(cluster.committed("g", "t", 1), None);
    }
    // Deleting a topic deletes its offsets.
    cluster.commit("g", "t", 0, 1);
    cluster.delete_topic("t").unwrap();
    assert!(cluster.committed_offsets("g").is_empty());
}

#[tokio::test]
async fn a_moved_coordinator_loads_its_groups_first() {
    let groups = GroupConfig { load_time: Duration::from_millis(300), ..GroupConfig::default() };
    let cluster = MockCluster::start(MockConfig { groups, ..MockConfig::default() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    cluster.commit("g", "t", 0, 5);
    let before = cluster.coordinator("g").unwrap();
    let to = before % 3 + 1;
    cluster.move_coordinator("g", to).unwrap();
    let moved = tokio::time::Instant::now();
    let mut raw = RawClient::connect(&cluster, before).await;
    let find = FindCoordinatorRequest { coordinator_keys: vec!["g".to_owned()], ..Default::default() };
    assert_eq!(raw.call(&find, 6).await.coordinators[0].node_id, to);
    let request = fetch_many(None);
    is(raw.call(&request, 8).await.groups[0].error_code, ErrorCode::NotCoordinator);
    let heartbeat = HeartbeatRequest { group_id: "g".to_owned(), ..Default::default() };
    is(raw.call(&heartbeat, 4).await.error_code, ErrorCode::NotCoordinator);
    let mut raw = RawClient::connect(&cluster, to).await;
    loop {
        let group = raw.call(&request, 8).await.groups.remove(0);
        if group.error_code == 0 {
            assert!(moved.elapsed() >= Duration::from_millis(300));
            assert_eq!(group.topics[0].partitions[0].committed_offset, 5);
            break;
        }
        is(group.error_code, ErrorCode::CoordinatorLoadInProgress);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // When it stops, another broker takes over; groups of other brokers stay.
    let names: Vec<String> = (0..50).map(|i| format!("group-{i}")).collect();
    let before: Vec<_> = names.iter().map(|name| cluster.coordinator(name).unwrap()).collect();
    cluster.stop_broker(to).await.unwrap();
    for (name, before) in names.iter().zip(before) {
        let after = cluster.coordinator(name).unwrap();
        assert!(if before == to { after != to } else { after == before });
    }
    assert_ne!(cluster.coordinator("g"), Some(to));
    assert_eq!(cluster.committed("g", "t", 0).unwrap().offset, 5);
}

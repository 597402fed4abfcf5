//! Fetch sessions (KIP-227).

use std::time::Duration;

use crate::support::*;
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::messages::fetch::{FetchRequest, FetchResponse, FetchTopic, ForgottenTopic};
use ottla_protocol::{ApiKey, ErrorCode};

fn is(code: i16, expected: ErrorCode) {
    assert_eq!(ErrorCode::from(code), expected);
}

/// Creates `t` with all partitions on one leader, and connects to it.
async fn one_leader(config: MockConfig, partitions: i32) -> (MockCluster, RawClient) {
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).unwrap();
    (0..partitions).for_each(|partition| cluster.move_leader("t", partition, 1).unwrap());
    let raw = RawClient::connect(&cluster, 1).await;
    (cluster, raw)
}

fn topic(partitions: &[(i32, i64)]) -> Vec<FetchTopic> {
    let one = fetch_request("t", 0, 0).topics.remove(0);
    let of = |(partition, offset): &(i32, i64)| {
        let mut wanted = one.partitions[0].clone();
        (wanted.partition, wanted.fetch_offset) = (*partition, *offset);
        wanted
    };
    vec![FetchTopic { partitions: partitions.iter().map(of).collect(), ..one.clone() }]
}

/// A Fetch in a session, for these partitions.
fn request(session: (i32, i32), partitions: &[(i32, i64)]) -> FetchRequest {
    FetchRequest {
        session_id: session.0,
        session_epoch: session.1,
        topics: if partitions.is_empty() { Vec::new() } else { topic(partitions) },
        ..FetchRequest::default()
    }
}

fn partitions(response: &FetchResponse) -> Vec<i32> {
    is(response.error_code, ErrorCode::None);
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| partition.partition_index).collect()
}

#[tokio::test]
async fn incremental_responses_have_only_changes() {
    let (cluster, mut raw) = one_leader(MockConfig::default(), 3).await;
    let response = raw.call(&request((0, 0), &[(0, 0), (1, 0), (2, 0)]), 12).await;
    let id = response.session_id;
    assert!(id > 0);
    assert_eq!(partitions(&response), [0, 1, 2]);
    let response = raw.call(&request((id, 1), &[]), 12).await;
    assert_eq!((response.session_id, partitions(&response)), (id, vec![]));
    // Records are returned until the client requests the offset after them.
    cluster.append("t", 1, &[b"v"]).unwrap();
    for epoch in 2..4 {
        assert_eq!(partitions(&raw.call(&request((id, epoch), &[]), 12).await), [1]);
    }
    assert_eq!(partitions(&raw.call(&request((id, 4), &[(1, 1)]), 12).await), [0_i32; 0]);
    // A new log start is a change, and so are an error and its end.
    cluster.delete_records("t", 1, 1).unwrap();
    assert_eq!(partitions(&raw.call(&request((id, 5), &[]), 12).await), [1]);
    assert_eq!(partitions(&raw.call(&request((id, 6), &[]), 12).await), [0_i32; 0]);
    let on = Match::api(ApiKey::Fetch).topic("t").partition(2);
    let fault = Fault { on, then: Reaction::Error(ErrorCode::KafkaStorageError), times: Some(2) };
    cluster.inject(fault);
    for epoch in 7..9 {
        let response = raw.call(&request((id, epoch), &[]), 12).await;
        assert_eq!(partitions(&response), [2]);
        is(response.responses[0].partitions[0].error_code, ErrorCode::KafkaStorageError);
    }
    let response = raw.call(&request((id, 9), &[]), 12).await;
    assert_eq!(partitions(&response), [2]);
    is(response.responses[0].partitions[0].error_code, ErrorCode::None);
    assert_eq!(partitions(&raw.call(&request((id, 10), &[]), 12).await), [0_i32; 0]);
}

#[tokio::test]
async fn partitions_are_added_and_forgotten() {
    let (cluster, mut raw) = one_leader(MockConfig::default(), 3).await;
    let id = raw.call(&request((0, 0), &[(0, 0), (1, 0)]), 12).await.session_id;
    let mut change = request((id, 1), &[(2, 0)]);
    change.forgotten_topics_data =
        vec![ForgottenTopic { topic: "t".to_owned(), partitions: vec![0], ..Default::default() }];
    assert_eq!(partitions(&raw.call(&change, 12).await), [2]);
    (0..3).for_each(|partition| drop(cluster.append("t", partition, &[b"v"])));
    assert_eq!(partitions(&raw.call(&request((id, 2), &[]), 12).await), [1, 2]);
    // A session without partitions is closed.
    let mut change = request((id, 3), &[]);
    change.forgotten_topics_data =
        vec![ForgottenTopic { topic: "t".to_owned(), partitions: vec![1, 2], ..Default::default() }];
    let response = raw.call(&change, 12).await;
    assert_eq!((response.session_id, partitions(&response)), (0, vec![]));
    assert_eq!(cluster.fetch_sessions(1), 0);
    is(raw.call(&request((id, 4), &[]), 12).await.error_code, ErrorCode::FetchSessionIdNotFound);
}

#[tokio::test]
async fn partitions_with_records_move_to_the_end() {
    let (cluster, mut raw) = one_leader(MockConfig::default(), 3).await;
    let mut first = request((0, 0), &[(0, 0), (1, 0), (2, 0)]);
    first.max_bytes = 1;
    let id = raw.call(&first, 12).await.session_id;
    (0..3).for_each(|partition| drop(cluster.append("t", partition, &[b"v"])));
    let mut order = Vec::new();
    for epoch in 1..5 {
        let mut next = request((id, epoch), &[]);
        next.max_bytes = 1;
        let response = raw.call(&next, 12).await;
        let all = response.responses.iter().flat_map(|topic| &topic.partitions);
        let with = all.filter(|p| p.records.as_ref().is_some_and(|records| !records.is_empty()));
        order.extend(with.map(|partition| partition.partition_index));
    }
    assert_eq!(order, [0, 1, 2, 0]);
}

#[tokio::test]
async fn sessions_are_closed_and_validated() {
    let (cluster, mut raw) = one_leader(MockConfig::default(), 1).await;
    let id = raw.call(&request((0, 0), &[(0, 0)]), 12).await.session_id;
    is(raw.call(&request((id, 2), &[]), 12).await.error_code, ErrorCode::InvalidFetchSessionEpoch);
    is(raw.call(&request((id + 9, 1), &[]), 12).await.error_code, ErrorCode::FetchSessionIdNotFound);
    is(raw.call(&request((id, 1), &[]), 13).await.error_code, ErrorCode::FetchSessionTopicIdError);
    // Sessions belong to one broker.
    let mut other = RawClient::connect(&cluster, 2).await;
    is(other.call(&request((id, 1), &[]), 12).await.error_code, ErrorCode::FetchSessionIdNotFound);
    // A full request closes the session and opens another; a sessionless one only closes it.
    let next = raw.call(&request((id, 0), &[(0, 0)]), 12).await.session_id;
    assert!(next != id && next > 0);
    assert_eq!(cluster.fetch_sessions(1), 1);
    let response = raw.call(&request((next, -1), &[(0, 0)]), 12).await;
    assert_eq!((response.session_id, partitions(&response)), (0, vec![0]));
    assert_eq!(cluster.fetch_sessions(1), 0);
    // Older versions have no sessions.
    assert_eq!(raw.call(&request((0, 0), &[(0, 0)]), 6).await.session_id, 0);
    assert_eq!(cluster.fetch_sessions(1), 0);
    for code in [ErrorCode::FetchSessionIdNotFound, ErrorCode::InvalidFetchSessionEpoch] {
        cluster.inject(Fault::once(Match::api(ApiKey::Fetch), Reaction::Error(code)));
        is(raw.call(&request((0, 0), &[(0, 0)]), 12).await.error_code, code);
    }
}

#[tokio::test]
async fn the_session_cache_is_bounded() {
    let idle = Duration::from_millis(200);
    let config = MockConfig { fetch_sessions: 2, fetch_session_idle: idle, ..MockConfig::default() };
    let (cluster, mut raw) = one_leader(config, 1).await;
    let full = request((0, 0), &[(0, 0)]);
    let first = raw.call(&full, 12).await.session_id;
    let second = raw.call(&full, 12).await.session_id;
    let third = raw.call(&full, 12).await.session_id;
    // No room for a third, unless the machine was so slow that the first is idle by now.
    if third == 0 {
        tokio::time::sleep(idle).await;
        is(raw.call(&request((second, 1), &[]), 12).await.error_code, ErrorCode::None);
        assert!(raw.call(&full, 12).await.session_id > 0);
        is(raw.call(&request((first, 1), &[]), 12).await.error_code, ErrorCode::FetchSessionIdNotFound);
    }
    assert_eq!(cluster.fetch_sessions(1), 2);
    cluster.evict_fetch_sessions(1);
    is(raw.call(&request((second, 2), &[]), 12).await.error_code, ErrorCode::FetchSessionIdNotFound);
    // Sessions live in the broker's memory.
    raw.call(&full, 12).await;
    cluster.stop_broker(1).await.unwrap();
    cluster.start_broker(1).await.unwrap();
    assert_eq!(cluster.fetch_sessions(1), 0);
}

#[tokio::test]
async fn an_incremental_fetch_waits_by_topic_ids_too() {
    let (cluster, mut raw) = one_leader(MockConfig::default(), 2).await;
    let by_id = |mut request: FetchRequest| {
        request.topics.iter_mut().for_each(|topic| {
            topic.topic_id = cluster.topic("t").unwrap().id;
            topic.topic.clear();
        });
        request
    };
    let response = raw.call(&by_id(request((0, 0), &[(0, 0), (1, 0)])), 18).await;
    let mut waiting = by_id(request((response.session_id, 1), &[]));
    (waiting.min_bytes, waiting.max_wait_ms) = (1, 100);
    let response = raw.call(&waiting, 18).await;
    assert_eq!(partitions(&response), [0_i32; 0]);
    (waiting.session_epoch, waiting.max_wait_ms) = (2, i32::MAX);
    raw.send(&waiting, 18).await;
    cluster.append("t", 1, &[b"v"]).unwrap();
    let response = raw.receive::<FetchRequest>(18).await.unwrap();
    assert_eq!(partitions(&response), [1]);
    assert_eq!(response.responses[0].topic_id, cluster.topic("t").unwrap().id);
    // A deleted topic is an error of its partitions.
    cluster.delete_topic("t").unwrap();
    waiting.session_epoch = 3;
    let response = raw.call(&waiting, 18).await;
    let codes = response.responses[0].partitions.iter().map(|p| ErrorCode::from(p.error_code));
    assert!(codes.eq([ErrorCode::UnknownTopicId; 2]));
}

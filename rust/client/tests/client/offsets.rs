//! Proves: offsets that were committed in any version are read back in any; what passes is tried
//! again where the group's coordinator then is; what is about the member comes at once under its
//! code; and nothing but the coordinator's word counts as "nothing committed".

use std::collections::HashMap;
use std::time::Duration;

use crate::support::*;
use ottla_client::consumer::ConsumerGroupMetadata;
use ottla_client::consumer::offsets::{self, CommittedOffset};
use ottla_client::metadata::Want;
use ottla_client::{Client, CoordinatorKind, Error, IfMissing, Kind, TopicPartition};
use ottla_mock::{ApiLimit, Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec, When};
use ottla_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorResponse};
use ottla_protocol::messages::metadata::{MetadataResponse, MetadataResponseBroker};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use ottla_protocol::{ApiKey, ErrorCode};

const COMMIT: ApiKey = ApiKey::OffsetCommit;
const FETCH: ApiKey = ApiKey::OffsetFetch;

type Outcomes = HashMap<TopicPartition, Result<(), Error>>;
type Found = HashMap<TopicPartition, Option<CommittedOffset>>;

fn tp(partition: i32) -> TopicPartition {
    ("t".into(), partition)
}

fn at(offset: i64) -> CommittedOffset {
    CommittedOffset {
        offset,
        leader_epoch: Some(3),
        metadata: "here".to_owned(),
        ..CommittedOffset::default()
    }
}

async fn commit_of(client: &Client, offsets: &[(i32, i64)], timeout: Duration) -> Result<Outcomes, Error> {
    let offsets = offsets.iter().map(|(partition, offset)| (tp(*partition), at(*offset))).collect();
    soon(offsets::commit(client, &ConsumerGroupMetadata::without_member("g"), offsets, timeout)).await
}

async fn commit(client: &Client, offset: i64) -> Result<(), Error> {
    commit_of(client, &[(0, offset)], SOON).await?.remove(&tp(0)).expect("an outcome")
}

async fn fetch_of(client: &Client, partitions: &[i32], timeout: Duration) -> Result<Found, Error> {
    let partitions = partitions.iter().map(|partition| tp(*partition)).collect();
    soon(offsets::committed(
        client,
        &ConsumerGroupMetadata::without_member("g"),
        Some(partitions),
        true,
        timeout,
    ))
    .await
}

async fn fetch(client: &Client) -> Result<Option<CommittedOffset>, Error> {
    Ok(fetch_of(client, &[0], SOON).await?.remove(&tp(0)).expect("an answer"))
}

fn stored(cluster: &MockCluster) -> Option<i64> {
    cluster.committed("g", "t", 0).map(|committed| committed.offset)
}

async fn knowing(cluster: &MockCluster) -> Client {
    let client = client(cluster, &[]).await;
    soon(client.topics(&["t".into()], IfMissing::Wait, SOON)).await.expect("a topic");
    client
}

fn times(count: u64, api: ApiKey, code: ErrorCode) -> Fault {
    Fault { times: Some(count), ..Fault::new(Match::api(api), Reaction::Error(code)) }
}

#[tokio::test(start_paused = true)]
async fn every_version_commits_and_fetches() {
    for version in 2..=10 {
        let api_limits = [(COMMIT, ApiLimit::Max(version)), (FETCH, ApiLimit::Max(version))].into();
        let cluster = MockCluster::start(MockConfig { api_limits, ..in_memory() }).await.unwrap();
        cluster.create_topic(TopicSpec::new("t").partitions(3)).unwrap();
        let client = knowing(&cluster).await;
        let outcomes = commit_of(&client, &[(0, 5), (2, 0)], SOON).await.expect("committed");
        assert_eq!(outcomes.len(), 2);
        assert!(outcomes.values().all(Result::is_ok), "{outcomes:?}");
        let epoch = (version >= 6).then_some(3);
        let kept = |offset| Some(CommittedOffset { leader_epoch: epoch, ..at(offset) });
        let found = fetch_of(&client, &[0, 1, 2], SOON).await.expect("offsets");
        let expected = [(tp(0), kept(5)), (tp(1), None), (tp(2), kept(0))];
        assert_eq!(found, expected.clone().into(), "version {version}");
        let all =
            soon(offsets::committed(&client, &ConsumerGroupMetadata::without_member("g"), None, false, SOON))
                .await
                .unwrap();
        assert_eq!(all, expected.into_iter().filter(|(_, found)| found.is_some()).collect());
        let used = |api| cluster.requests().iter().rfind(|seen| seen.api == Some(api)).unwrap().version;
        // An answer about all that there is would not tell the names of topics from version 10 on.
        assert_eq!((used(COMMIT), used(FETCH)), (version, version.min(9)));
    }
}

#[tokio::test(start_paused = true)]
async fn topics_without_known_ids_go_by_their_names() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    commit(&client, 7).await.unwrap();
    assert_eq!(fetch(&client).await.unwrap(), Some(at(7)));
    let seen = cluster.requests();
    assert!(
        seen.iter().filter(|seen| matches!(seen.api, Some(COMMIT | FETCH))).all(|seen| seen.version == 9)
    );
}

#[tokio::test(start_paused = true)]
async fn each_partition_has_an_outcome_of_its_own() {
    let cluster = cluster(3).await;
    let client = knowing(&cluster).await;
    let denied = Match::api(COMMIT).topic("t").partition(1);
    cluster.inject(Fault::once(denied, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    let mut offsets: HashMap<_, _> = (0..3).map(|partition| (tp(partition), at(1))).collect();
    offsets.get_mut(&tp(2)).unwrap().metadata = "x".repeat(10_000);
    let outcomes = soon(offsets::commit(&client, &ConsumerGroupMetadata::without_member("g"), offsets, SOON))
        .await
        .unwrap();
    assert!(outcomes[&tp(0)].is_ok());
    let denied = outcomes[&tp(1)].clone().unwrap_err();
    assert_eq!((denied.kind(), denied.context().partition), (Kind::Authorization, Some(1)), "{denied}");
    let large = outcomes[&tp(2)].clone().unwrap_err();
    assert_eq!(large.code(), Some(ErrorCode::OffsetMetadataTooLarge), "{large}");
    assert_eq!(cluster.request_count(None, COMMIT), 1);
    let denied = Match::api(FETCH).topic("t").partition(1);
    cluster.inject(Fault::once(denied, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    let error = fetch_of(&client, &[0, 1], SOON).await.unwrap_err();
    assert_eq!((error.kind(), error.context().partition), (Kind::Authorization, Some(1)), "{error}");
}

/// The rows of the table of recovery that a commit and a fetch of offsets meet, and how often the
/// coordinator is looked for again when one comes twice.
const PASSING: [(ErrorCode, u64); 6] = [
    (ErrorCode::CoordinatorLoadInProgress, 0),
    (ErrorCode::NotCoordinator, 2),
    (ErrorCode::CoordinatorNotAvailable, 2),
    (ErrorCode::RequestTimedOut, 0),
    (ErrorCode::UnknownTopicOrPartition, 0),
    (ErrorCode::UnknownTopicId, 0),
];

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again() {
    let cluster = cluster(1).await;
    let client = knowing(&cluster).await;
    commit(&client, 1).await.unwrap();
    for (code, looks) in PASSING.into_iter().chain([(ErrorCode::UnstableOffsetCommit, 0)]) {
        for api in [COMMIT, FETCH] {
            cluster.clear_requests();
            let fault = cluster.inject(times(2, api, code));
            match api {
                COMMIT => commit(&client, 2).await.unwrap_or_else(|error| panic!("{code}: {error}")),
                _ => assert_eq!(fetch(&client).await.unwrap().unwrap().offset, 2, "{code}"),
            }
            assert_eq!(cluster.fault_hits(fault), 2, "{code}");
            assert_eq!(cluster.request_count(None, api), 3, "{code}");
            assert_eq!(cluster.request_count(None, ApiKey::FindCoordinator), looks, "{code}");
            let refreshed = cluster.request_count(None, ApiKey::Metadata);
            let about_topic = matches!(code, ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId);
            assert_eq!(refreshed > 0, about_topic, "{code}");
        }
    }
}

/// What is about the member is the caller's to deal with: it comes at once, and nothing is stored.
#[tokio::test(start_paused = true)]
async fn what_is_about_the_member_comes_at_once() {
    use ErrorCode as E;
    let cluster = cluster(1).await;
    let client = knowing(&cluster).await;
    for (code, kind) in [
        (E::IllegalGeneration, Kind::Broker),
        (E::UnknownMemberId, Kind::Broker),
        (E::RebalanceInProgress, Kind::Broker),
        (E::StaleMemberEpoch, Kind::Broker),
        (E::FencedMemberEpoch, Kind::Broker),
        (E::FencedInstanceId, Kind::Fenced),
        (E::GroupAuthorizationFailed, Kind::Authorization),
        (E::InvalidGroupId, Kind::Broker),
        (E::GroupIdNotFound, Kind::Broker),
    ] {
        cluster.clear_requests();
        cluster.inject(times(1, COMMIT, code));
        let error = commit(&client, 9).await.unwrap_err();
        let commit_kind = match code {
            E::IllegalGeneration | E::RebalanceInProgress | E::FencedMemberEpoch => Kind::CommitFailed,
            // Without a member's id: others are the group's members.
            E::UnknownMemberId => Kind::Fenced,
            _ => kind,
        };
        assert_eq!((error.code(), error.kind()), (Some(code), commit_kind), "{error}");
        assert!(error.message().contains("group g"), "{error}");
        cluster.inject(times(1, FETCH, code));
        let error = fetch(&client).await.unwrap_err();
        assert_eq!((error.code(), error.kind()), (Some(code), kind), "{error}");
        assert_eq!((cluster.request_count(None, COMMIT), cluster.request_count(None, FETCH)), (1, 1));
        assert_eq!(stored(&cluster), None);
    }
    cluster.inject(times(1, COMMIT, E::UnknownMemberId));
    let error = commit(&client, 9).await.unwrap_err();
    assert!(error.message().contains("only they may commit"), "{error}");
}

/// Deletes the topic and makes it again.
fn make_again(cluster: &MockCluster) {
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_offset_of_a_topic_that_is_gone_is_not_stored_for_one_of_the_same_name() {
    // By its id; and by its name, where the metadata knows better by the time it is tried again.
    for version in [10, 9] {
        let api_limits = [(COMMIT, ApiLimit::Max(version))].into();
        let cluster = MockCluster::start(MockConfig { api_limits, ..in_memory() }).await.unwrap();
        cluster.create_topic(TopicSpec::new("t")).unwrap();
        let client = knowing(&cluster).await;
        if version == 9 {
            let unknown = ErrorCode::UnknownTopicOrPartition;
            cluster.inject(Fault::once(Match::api(COMMIT), Reaction::Error(unknown)));
        }
        make_again(&cluster);
        let error = commit(&client, 7).await.expect_err("another topic");
        assert_eq!(error.code(), Some(ErrorCode::UnknownTopicId), "{error}");
        assert!(error.to_string().contains("deleted and recreated"), "{error}");
        assert_eq!((stored(&cluster), cluster.request_count(None, COMMIT)), (None, 1));
        // The client knows the new one by now.
        commit(&client, 1).await.expect("committed");
        assert_eq!(stored(&cluster), Some(1));
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_metadata_lacks_a_topic_its_offsets_keep_its_id() {
    let cluster = cluster(1).await;
    let client = knowing(&cluster).await;
    cluster.delete_topic("t").unwrap();
    // The second attempt finds metadata without the topic; by its name it would meet the new one.
    let (result, ()) = tokio::join!(commit(&client, 7), async {
        until(|| cluster.request_count(None, COMMIT) >= 2).await;
        cluster.create_topic(TopicSpec::new("t")).unwrap();
    });
    let error = result.expect_err("another topic");
    assert_eq!((error.code(), stored(&cluster)), (Some(ErrorCode::UnknownTopicId), None), "{error}");
    let seen = cluster.requests();
    assert!(seen.iter().filter(|seen| seen.api == Some(COMMIT)).all(|seen| seen.version == 10));
}

#[tokio::test(start_paused = true)]
async fn offsets_of_two_topics_of_one_name_are_told_apart() {
    let cluster = cluster(2).await;
    let client = knowing(&cluster).await;
    let old = cluster.topic("t").unwrap().id;
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    let generation = client.snapshot().generation;
    soon(client.refresh(generation, Want::Topics(&["t".into()]))).await.expect("metadata");
    // One partition was read before, the other one since.
    let new = cluster.topic("t").unwrap().id;
    let of = |topic_id| CommittedOffset { topic_id, ..at(7) };
    let offsets = HashMap::from([(tp(0), of(old)), (tp(1), of(new))]);
    let outcomes = soon(offsets::commit(&client, &ConsumerGroupMetadata::without_member("g"), offsets, SOON))
        .await
        .unwrap();
    assert_eq!(outcomes[&tp(0)].clone().unwrap_err().code(), Some(ErrorCode::UnknownTopicId));
    assert!(outcomes[&tp(1)].is_ok(), "{outcomes:?}");
    assert_eq!(stored(&cluster), None);
    assert_eq!(cluster.committed("g", "t", 1).map(|committed| committed.offset), Some(7));
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_moves_or_dies_is_followed() {
    let cluster = cluster(1).await;
    let client = knowing(&cluster).await;
    commit(&client, 1).await.unwrap();
    let first = cluster.coordinator("g").unwrap();
    cluster.move_coordinator("g", first % 3 + 1).unwrap();
    commit(&client, 2).await.unwrap();
    assert_eq!(stored(&cluster), Some(2));
    cluster.stop_broker(cluster.coordinator("g").unwrap()).await.unwrap();
    assert_eq!(fetch(&client).await.unwrap().unwrap().offset, 2);
    commit(&client, 3).await.unwrap();
    // Written, and the answer lost: the same offset again does no harm.
    cluster.inject(Fault::once(Match::api(COMMIT), Reaction::Disconnect(When::AfterHandling)));
    commit(&client, 4).await.unwrap();
    assert_eq!(stored(&cluster), Some(4));
}

#[tokio::test(start_paused = true)]
async fn an_offset_in_a_transaction_is_waited_for() {
    let cluster = cluster(1).await;
    let client = knowing(&cluster).await;
    commit(&client, 1).await.unwrap();
    cluster.set_offset_pending("g", "t", 0, true);
    let nobody = ConsumerGroupMetadata::without_member("g");
    let unstable = offsets::committed(&client, &nobody, Some(vec![tp(0)]), false, SOON);
    assert_eq!(soon(unstable).await.unwrap()[&tp(0)], Some(at(1)), "nobody wants it stable");
    let error = fetch_of(&client, &[0], ms(100)).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (Kind::Timeout, Some(ErrorCode::UnstableOffsetCommit)),
        "{error}"
    );
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { fetch(&client).await }
    });
    let before = cluster.request_count(None, FETCH);
    until(|| cluster.request_count(None, FETCH) > before + 1).await;
    cluster.set_offset_pending("g", "t", 0, false);
    assert_eq!(soon(waiting).await.unwrap().unwrap(), Some(at(1)));
}

#[tokio::test(start_paused = true)]
async fn when_the_time_is_over_each_partition_says_what_is_known_of_it() {
    let cluster = cluster(2).await;
    let client = knowing(&cluster).await;
    let slow = Match::api(COMMIT).topic("t").partition(1);
    let slow = cluster.inject(Fault::new(slow, Reaction::Error(ErrorCode::RequestTimedOut)));
    let outcomes = commit_of(&client, &[(0, 1), (1, 1)], ms(1_000)).await.expect("one of them");
    assert!(outcomes[&tp(0)].is_ok());
    let late = outcomes[&tp(1)].clone().unwrap_err();
    assert_eq!((late.kind(), late.context().partition), (Kind::Timeout, Some(1)), "{late}");
    assert!(late.is_maybe_done(), "{late}");
    // Only what was not settled was asked about again.
    assert!(cluster.fault_hits(slow) > 1);
    cluster.inject(Fault::new(Match::api(COMMIT), Reaction::Silence));
    let error = commit_of(&client, &[(0, 2)], ms(100)).await.unwrap_err();
    assert!(error.kind() == Kind::Timeout && error.is_maybe_done(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_offset_is_not_sent() {
    let cluster = cluster(1).await;
    let client = knowing(&cluster).await;
    let error = commit(&client, -1).await.unwrap_err();
    assert_eq!((error.kind(), error.context().partition), (Kind::Config, Some(0)), "{error}");
    assert!(commit_of(&client, &[], SOON).await.unwrap().is_empty());
    assert!(fetch_of(&client, &[], SOON).await.unwrap().is_empty());
    assert_eq!(cluster.request_count(None, ApiKey::FindCoordinator), 0);
}

/// A broker whose first answers leave out what was asked for: first the group, then the topic, then
/// one of the partitions.
#[tokio::test(start_paused = true)]
async fn an_answer_that_leaves_something_out_is_not_taken_for_nothing_committed() {
    let fetches = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&fetches);
    let listener = pipes().listen();
    let (host, port) = (listener.address().ip().to_string(), i32::from(listener.address().port()));
    let address = serve_at(listener, move |mut stream| {
        let (fetches, host) = (std::sync::Arc::clone(&counted), host.clone());
        async move {
            let Some(()) = shake_hands(&mut stream).await else { return };
            while let Some(header) = read_request(&mut stream).await {
                let (version, id) = (header.api_version, header.correlation_id);
                let host = host.clone();
                match ApiKey::try_from(header.api_key).unwrap() {
                    ApiKey::Metadata => {
                        let broker = MetadataResponseBroker { node_id: 1, host, port, rack: None };
                        let answer = MetadataResponse { brokers: vec![broker], ..Default::default() };
                        respond(&mut stream, ApiKey::Metadata, version, id, &answer).await;
                    }
                    ApiKey::FindCoordinator => {
                        let key = "g".to_owned();
                        let found = Coordinator { key, node_id: 1, host, port, ..Default::default() };
                        let answer =
                            FindCoordinatorResponse { coordinators: vec![found], ..Default::default() };
                        respond(&mut stream, ApiKey::FindCoordinator, version, id, &answer).await;
                    }
                    api => {
                        let round = fetches.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        let answer = OffsetFetchResponse { groups: groups(round), ..Default::default() };
                        respond(&mut stream, api, version, id, &answer).await;
                    }
                }
            }
        }
    });
    let config = config(&address.to_string(), &[]);
    let client = soon(Client::connect(config, memory_environment(), SOON)).await.unwrap();
    let found = fetch_of(&client, &[0, 1], SOON).await.unwrap();
    assert_eq!(found.values().flatten().map(|committed| committed.offset).collect::<Vec<_>>(), [8, 8]);
    assert_eq!(fetches.load(std::sync::atomic::Ordering::SeqCst), 4);
    let coordinator = soon(client.coordinator(CoordinatorKind::Group, "g")).await.unwrap();
    assert_eq!(coordinator.broker(), 1);
}

fn groups(round: usize) -> Vec<OffsetFetchResponseGroup> {
    let partition = |partition_index| OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: 8,
        ..Default::default()
    };
    let topic = |partitions: i32| OffsetFetchResponseTopics {
        name: "t".to_owned(),
        partitions: (0..partitions).map(partition).collect(),
        ..Default::default()
    };
    let group = |topics| OffsetFetchResponseGroup { group_id: "g".to_owned(), topics, error_code: 0 };
    match round {
        0 => vec![],
        1 => vec![group(vec![])],
        2 => vec![group(vec![topic(1)])],
        _ => vec![group(vec![topic(2)])],
    }
}

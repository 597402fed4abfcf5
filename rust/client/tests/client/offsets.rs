//! Proves: offsets committed in any version can be fetched in any. Transient errors are retried at the
//! current coordinator, errors about the member are returned at once.

use std::collections::HashMap;
use std::time::Duration;

use crate::support::*;
use ottla_client::group_offsets::ConsumerGroupMetadata;
use ottla_client::group_offsets::{self, CommittedOffset};
use ottla_client::metadata::TopicSelector;
use ottla_client::{Client, Error, IfMissing, Kind, TopicPartition};
use ottla_mock::{ApiLimit, Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec, When};
use ottla_protocol::{ApiKey, ErrorCode};

const COMMIT: ApiKey = ApiKey::OffsetCommit;
const FETCH: ApiKey = ApiKey::OffsetFetch;

type CommitResults = HashMap<TopicPartition, Result<(), Error>>;
type Found = HashMap<TopicPartition, Option<CommittedOffset>>;

fn tp(partition: i32) -> TopicPartition {
    ("t".into(), partition)
}

fn at(offset: i64) -> CommittedOffset {
    CommittedOffset {
        offset,
        leader_epoch: Some(3),
        metadata: Some("here".to_owned()),
        ..CommittedOffset::default()
    }
}

async fn commit_of(
    client: &Client,
    offsets: &[(i32, i64)],
    timeout: Duration,
) -> Result<CommitResults, Error> {
    let offsets = offsets.iter().map(|(partition, offset)| (tp(*partition), at(*offset))).collect();
    within_deadline(group_offsets::commit(
        client,
        &ConsumerGroupMetadata::without_member("g"),
        offsets,
        timeout,
    ))
    .await
}

async fn commit(client: &Client, offset: i64) -> Result<(), Error> {
    commit_of(client, &[(0, offset)], CALL_TIMEOUT).await?.remove(&tp(0)).expect("an outcome")
}

async fn fetch_of(client: &Client, partitions: &[i32], timeout: Duration) -> Result<Found, Error> {
    let partitions = partitions.iter().map(|partition| tp(*partition)).collect();
    within_deadline(group_offsets::committed(
        client,
        &ConsumerGroupMetadata::without_member("g"),
        Some(partitions),
        true,
        timeout,
    ))
    .await
}

async fn fetch(client: &Client) -> Result<Option<CommittedOffset>, Error> {
    Ok(fetch_of(client, &[0], CALL_TIMEOUT).await?.remove(&tp(0)).expect("a result"))
}

fn stored(cluster: &MockCluster) -> Option<i64> {
    cluster.committed("g", "t", 0).map(|committed| committed.offset)
}

async fn client_with_metadata(cluster: &MockCluster) -> Client {
    let client = client(cluster, &[]).await;
    within_deadline(client.topics(&["t".into()], IfMissing::Wait, CALL_TIMEOUT)).await.expect("a topic");
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
        let client = client_with_metadata(&cluster).await;
        let outcomes = commit_of(&client, &[(0, 5), (2, 0)], CALL_TIMEOUT).await.expect("committed");
        assert_eq!(outcomes.len(), 2);
        assert!(outcomes.values().all(Result::is_ok), "{outcomes:?}");
        let epoch = (version >= 6).then_some(3);
        let kept = |offset| Some(CommittedOffset { leader_epoch: epoch, ..at(offset) });
        let found = fetch_of(&client, &[0, 1, 2], CALL_TIMEOUT).await.expect("offsets");
        let expected = [(tp(0), kept(5)), (tp(1), None), (tp(2), kept(0))];
        assert_eq!(found, expected.clone().into(), "version {version}");
        let all = within_deadline(group_offsets::committed(
            &client,
            &ConsumerGroupMetadata::without_member("g"),
            None,
            false,
            CALL_TIMEOUT,
        ))
        .await
        .unwrap();
        assert_eq!(all, expected.into_iter().filter(|(_, found)| found.is_some()).collect());
        let used = |api| cluster.requests().iter().rfind(|seen| seen.api == Some(api)).unwrap().version;
        // From version 10 on, a response about all topics would not reveal their names.
        assert_eq!((used(COMMIT), used(FETCH)), (version, version.min(9)));
    }
}

#[tokio::test(start_paused = true)]
async fn topics_without_known_ids_are_named() {
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
async fn each_partition_has_its_own_result() {
    let cluster = cluster(3).await;
    let client = client_with_metadata(&cluster).await;
    let denied = Match::api(COMMIT).topic("t").partition(1);
    cluster.inject(Fault::once(denied, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
    let mut offsets: HashMap<_, _> = (0..3).map(|partition| (tp(partition), at(1))).collect();
    offsets.get_mut(&tp(2)).unwrap().metadata = Some("x".repeat(10_000));
    let outcomes = within_deadline(group_offsets::commit(
        &client,
        &ConsumerGroupMetadata::without_member("g"),
        offsets,
        CALL_TIMEOUT,
    ))
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
    let error = fetch_of(&client, &[0, 1], CALL_TIMEOUT).await.unwrap_err();
    assert_eq!((error.kind(), error.context().partition), (Kind::Authorization, Some(1)), "{error}");
}

/// The rows of the recovery table that a commit or an offset fetch may meet, and how often the coordinator
/// is looked up again when one comes twice.
const PASSING: [(ErrorCode, u64); 6] = [
    (ErrorCode::CoordinatorLoadInProgress, 0),
    (ErrorCode::NotCoordinator, 2),
    (ErrorCode::CoordinatorNotAvailable, 2),
    (ErrorCode::RequestTimedOut, 0),
    (ErrorCode::UnknownTopicOrPartition, 0),
    (ErrorCode::UnknownTopicId, 0),
];

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried() {
    let cluster = cluster(1).await;
    let client = client_with_metadata(&cluster).await;
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

/// Errors about the member are returned at once to the caller, and nothing is committed.
#[tokio::test(start_paused = true)]
async fn errors_about_the_member_are_returned_at_once() {
    use ErrorCode as E;
    let cluster = cluster(1).await;
    let client = client_with_metadata(&cluster).await;
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
            // Without a member id: the group has other members.
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

/// Deletes the topic and creates it again.
fn recreate(cluster: &MockCluster) {
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_offset_of_a_deleted_topic_is_not_committed_to_a_recreated_one() {
    // By its id; and by its name, if the metadata knows the new topic by the time of the retry.
    for version in [10, 9] {
        let api_limits = [(COMMIT, ApiLimit::Max(version))].into();
        let cluster = MockCluster::start(MockConfig { api_limits, ..in_memory() }).await.unwrap();
        cluster.create_topic(TopicSpec::new("t")).unwrap();
        let client = client_with_metadata(&cluster).await;
        if version == 9 {
            let unknown = ErrorCode::UnknownTopicOrPartition;
            cluster.inject(Fault::once(Match::api(COMMIT), Reaction::Error(unknown)));
        }
        recreate(&cluster);
        let error = commit(&client, 7).await.expect_err("another topic");
        assert_eq!(error.code(), Some(ErrorCode::UnknownTopicId), "{error}");
        assert!(error.to_string().contains("deleted and recreated"), "{error}");
        assert_eq!((stored(&cluster), cluster.request_count(None, COMMIT)), (None, 1));
        // The client knows the new topic by now.
        commit(&client, 1).await.expect("committed");
        assert_eq!(stored(&cluster), Some(1));
    }
}

/// An offset keeps its topic's id while the metadata lacks the topic: by its name, a repeated commit would
/// reach the new topic.
#[tokio::test(start_paused = true)]
async fn offsets_keep_their_topic_id_while_the_metadata_lacks_the_topic() {
    let cluster = cluster(1).await;
    let client = client_with_metadata(&cluster).await;
    let read = CommittedOffset { topic_id: cluster.topic("t").unwrap().id, ..at(7) };
    cluster.delete_topic("t").unwrap();
    let again = async || {
        let member = ConsumerGroupMetadata::without_member("g");
        let offsets = HashMap::from([(tp(0), read.clone())]);
        let commit = within_deadline(group_offsets::commit(&client, &member, offsets, CALL_TIMEOUT)).await;
        let error = commit.expect("an outcome")[&tp(0)].clone().expect_err("a deleted topic");
        assert_eq!((error.code(), stored(&cluster)), (Some(ErrorCode::UnknownTopicId), None), "{error}");
    };
    // The metadata lacks the topic after the first commit.
    again().await;
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    again().await;
    let seen = cluster.requests();
    assert!(seen.iter().filter(|seen| seen.api == Some(COMMIT)).all(|seen| seen.version == 10));
}

#[tokio::test(start_paused = true)]
async fn offsets_of_two_topics_with_one_name_are_distinguished() {
    let cluster = cluster(2).await;
    let client = client_with_metadata(&cluster).await;
    let old = cluster.topic("t").unwrap().id;
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    let generation = client.snapshot().generation;
    within_deadline(client.refresh(generation, TopicSelector::Topics(&["t".into()])))
        .await
        .expect("metadata");
    // One partition was read before the deletion, the other one after it.
    let new = cluster.topic("t").unwrap().id;
    let of = |topic_id| CommittedOffset { topic_id, ..at(7) };
    let offsets = HashMap::from([(tp(0), of(old)), (tp(1), of(new))]);
    let outcomes = within_deadline(group_offsets::commit(
        &client,
        &ConsumerGroupMetadata::without_member("g"),
        offsets,
        CALL_TIMEOUT,
    ))
    .await
    .unwrap();
    assert_eq!(outcomes[&tp(0)].clone().unwrap_err().code(), Some(ErrorCode::UnknownTopicId));
    assert!(outcomes[&tp(1)].is_ok(), "{outcomes:?}");
    assert_eq!(stored(&cluster), None);
    assert_eq!(cluster.committed("g", "t", 1).map(|committed| committed.offset), Some(7));
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_moves_or_dies_is_found_again() {
    let cluster = cluster(1).await;
    let client = client_with_metadata(&cluster).await;
    commit(&client, 1).await.unwrap();
    let first = cluster.coordinator("g").unwrap();
    cluster.move_coordinator("g", first % 3 + 1).unwrap();
    commit(&client, 2).await.unwrap();
    assert_eq!(stored(&cluster), Some(2));
    cluster.stop_broker(cluster.coordinator("g").unwrap()).await.unwrap();
    assert_eq!(fetch(&client).await.unwrap().unwrap().offset, 2);
    commit(&client, 3).await.unwrap();
    // Committed, with the response lost: the same offset again does no harm.
    cluster.inject(Fault::once(Match::api(COMMIT), Reaction::Disconnect(When::AfterHandling)));
    commit(&client, 4).await.unwrap();
    assert_eq!(stored(&cluster), Some(4));
}

#[tokio::test(start_paused = true)]
async fn a_pending_transactional_offset_is_awaited() {
    let cluster = cluster(1).await;
    let client = client_with_metadata(&cluster).await;
    commit(&client, 1).await.unwrap();
    cluster.set_offset_pending("g", "t", 0, true);
    let member = ConsumerGroupMetadata::without_member("g");
    let unstable = group_offsets::committed(&client, &member, Some(vec![tp(0)]), false, CALL_TIMEOUT);
    assert_eq!(within_deadline(unstable).await.unwrap()[&tp(0)], Some(at(1)), "require_stable is off");
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
    assert_eq!(within_deadline(waiting).await.unwrap().unwrap(), Some(at(1)));
}

#[tokio::test(start_paused = true)]
async fn after_the_timeout_each_partition_has_a_result() {
    let cluster = cluster(2).await;
    let client = client_with_metadata(&cluster).await;
    let slow = Match::api(COMMIT).topic("t").partition(1);
    let slow = cluster.inject(Fault::new(slow, Reaction::Error(ErrorCode::RequestTimedOut)));
    let outcomes = commit_of(&client, &[(0, 1), (1, 1)], ms(1_000)).await.expect("one of them");
    assert!(outcomes[&tp(0)].is_ok());
    let late = outcomes[&tp(1)].clone().unwrap_err();
    assert_eq!((late.kind(), late.context().partition), (Kind::Timeout, Some(1)), "{late}");
    assert!(late.is_maybe_done(), "{late}");
    // Only partitions without a result were requested again.
    assert!(cluster.fault_hits(slow) > 1);
    cluster.inject(Fault::new(Match::api(COMMIT), Reaction::Silence));
    let error = commit_of(&client, &[(0, 2)], ms(100)).await.unwrap_err();
    assert!(error.kind() == Kind::Timeout && error.is_maybe_done(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn invalid_offsets_are_not_sent() {
    let cluster = cluster(1).await;
    let client = client_with_metadata(&cluster).await;
    let error = commit(&client, -1).await.unwrap_err();
    assert_eq!((error.kind(), error.context().partition), (Kind::Config, Some(0)), "{error}");
    assert!(commit_of(&client, &[], CALL_TIMEOUT).await.unwrap().is_empty());
    assert!(fetch_of(&client, &[], CALL_TIMEOUT).await.unwrap().is_empty());
    assert_eq!(cluster.request_count(None, ApiKey::FindCoordinator), 0);
}

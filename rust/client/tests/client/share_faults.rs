//! Proves: a share consumer survives what brokers do to it: restarts, moving leaders, lost responses, silence,
//! and limits of share sessions. Each acknowledgement ends with a result that is true, and each record is
//! delivered until it is finished.

use ottla_client::Kind;
use ottla_client::consumer::group::{Group, GroupSettings, RebalanceEvent, Subscription};
use ottla_client::consumer::share::{AcknowledgeType, ShareConsumer, ShareRecord};
use ottla_mock::{Fault, Match, MockCluster, Reaction, ShareGroupConfig, When};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use crate::support::share::*;
use crate::support::*;

fn once(api: ApiKey, reaction: Reaction) -> Fault {
    Fault::once(Match::api(api), reaction)
}

/// Offsets with their delivery counts.
fn deliveries(records: &[ShareRecord]) -> Vec<(i64, i16)> {
    records.iter().map(|record| (record.offset, record.delivery_count)).collect()
}

fn accept_all(consumer: &ShareConsumer) {
    consumer.acknowledge_all(AcknowledgeType::Accept).expect("explicit");
}

/// The codes of all results since the last call, by offset.
fn results(consumer: &ShareConsumer) -> Vec<(i64, Option<ErrorCode>)> {
    let results = consumer.take_results();
    let rows = results.iter().flat_map(|result| {
        let code = result.error.as_ref().map(|error| error.code().unwrap_or(ErrorCode::UnknownServerError));
        let offsets = result.offsets.iter().flat_map(|(first, last)| *first..=*last);
        offsets.map(move |offset| (offset, code)).collect::<Vec<_>>()
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(offset, _)| *offset);
    rows
}

/// A cluster with six records, and an explicit member that holds them.
async fn holding() -> (MockCluster, ShareConsumer) {
    let cluster = share_cluster(6).await;
    let consumer = share_member(&cluster, &[EXPLICIT]).await;
    assert_eq!(deliveries(&read_once(&consumer).await), (0..6).map(|n| (n, 1)).collect::<Vec<_>>());
    (cluster, consumer)
}

/// The broker after this one.
fn next_broker(broker: i32) -> i32 {
    1 + broker % 3
}

/// Reads the six records again, accepts them, and expects no more.
async fn finish(cluster: &MockCluster, consumer: ShareConsumer) {
    let mut offsets: Vec<i64> = Vec::new();
    while offsets.len() < 6 {
        offsets.extend(read_once(&consumer).await.iter().map(|record| record.offset));
        accept_all(&consumer);
    }
    assert_eq!(offsets, (0..6).collect::<Vec<_>>());
    commit_all(&consumer).await;
    assert!(is_finished(cluster, 1));
    close(consumer).await;
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_restarts_costs_acknowledgements_an_error_and_no_record() {
    for restarts in [false, true] {
        let (cluster, consumer) = holding().await;
        accept_all(&consumer);
        let leader = cluster.leader("t", 0).expect("a leader");
        cluster.stop_broker(leader).await.expect("stopped");
        if restarts {
            cluster.start_broker(leader).await.expect("started");
        }
        let error = commit(&consumer).await.expect("the broker cannot know them");
        assert!(error.context().partition == Some(0), "{error}");
        assert_eq!(results(&consumer).len(), 6, "each has its result");
        finish(&cluster, consumer).await;
    }
}

/// Locks do not move with the leader.
#[tokio::test(start_paused = true)]
async fn a_leader_that_moves_refuses_acknowledgements_and_delivers_again() {
    // Moved away, and moved away and back.
    for (moves, code) in [(1, ErrorCode::NotLeaderOrFollower), (3, ErrorCode::InvalidRecordState)] {
        for commits in [false, true] {
            let (cluster, consumer) = holding().await;
            accept_all(&consumer);
            for _ in 0..moves {
                let leader = cluster.leader("t", 0).expect("a leader");
                cluster.move_leader("t", 0, next_broker(leader)).expect("moved");
            }
            let mut refused = Vec::new();
            if commits {
                let error = commit(&consumer).await.expect("refused");
                assert_eq!(error.code(), Some(code), "{error}");
                refused = results(&consumer);
            }
            // With a fetch otherwise.
            let mut again = read_once(&consumer).await;
            refused.extend(results(&consumer));
            assert_eq!(refused, (0..6).map(|offset| (offset, Some(code))).collect::<Vec<_>>());
            accept_all(&consumer);
            while again.len() < 6 {
                again.extend(read_once(&consumer).await);
                accept_all(&consumer);
            }
            commit_all(&consumer).await;
            assert!(is_finished(&cluster, 1));
        }
    }
}

/// The records of a lost response are released with their connection, and the acknowledgements that it
/// confirmed are sent again.
#[tokio::test(start_paused = true)]
async fn a_lost_share_fetch_response_costs_a_delivery() {
    let (cluster, consumer) = holding().await;
    accept_all(&consumer);
    append(&cluster, 2);
    let lost = cluster.inject(once(ApiKey::ShareFetch, Reaction::Disconnect(When::AfterHandling)));
    assert_eq!(deliveries(&read_once(&consumer).await), [(6, 2), (7, 2)]);
    assert_eq!(cluster.fault_hits(lost), 1);
    accept_all(&consumer);
    commit_all(&consumer).await;
    assert_eq!(results(&consumer), (0..8).map(|offset| (offset, None)).collect::<Vec<_>>());
    assert!(is_finished(&cluster, 1));
}

/// The broker may have applied the request, and no later request confirms it.
#[tokio::test(start_paused = true)]
async fn a_lost_share_acknowledge_response_during_a_commit_is_an_error_that_says_so() {
    let (cluster, consumer) = holding().await;
    accept_all(&consumer);
    cluster.inject(once(ApiKey::ShareAcknowledge, Reaction::Disconnect(When::AfterHandling)));
    let error = commit(&consumer).await.expect("an error");
    assert!(error.is_maybe_done(), "{error}");
    assert!(is_finished(&cluster, 1), "it was applied");
}

/// A new session is opened at once; the acknowledgements wait for its second request.
#[tokio::test(start_paused = true)]
async fn a_lost_session_costs_neither_acknowledgements_nor_deliveries() {
    for code in [ErrorCode::ShareSessionNotFound, ErrorCode::InvalidShareSessionEpoch] {
        let (cluster, consumer) = holding().await;
        accept_all(&consumer);
        let refused = cluster.inject(once(ApiKey::ShareFetch, Reaction::Error(code)));
        append(&cluster, 1);
        assert_eq!(deliveries(&read_once(&consumer).await), [(6, 1)], "{code:?}");
        assert_eq!(cluster.fault_hits(refused), 1);
        accept_all(&consumer);
        commit_all(&consumer).await;
        assert_eq!(results(&consumer), (0..7).map(|offset| (offset, None)).collect::<Vec<_>>());
        assert!(is_finished(&cluster, 1), "{code:?}");
    }
}

/// A member beyond the limit of sessions waits, without an error and without a request storm.
#[tokio::test(start_paused = true)]
async fn a_member_beyond_the_session_limit_waits_for_a_session() {
    let share = ShareGroupConfig { max_sessions: 1, ..ShareGroupConfig::default() };
    let cluster = share_cluster_with(share, 1).await;
    append(&cluster, 6);
    let first = share_member(&cluster, &[EXPLICIT]).await;
    read_once(&first).await;
    let second = share_member(&cluster, &[EXPLICIT]).await;
    cluster.clear_requests();
    let polled = within_deadline(second.poll(Duration::from_secs(20), 9)).await.expect("no error");
    assert!(polled.is_empty());
    let refused = cluster.request_count(None, ApiKey::ShareFetch);
    assert!((2..=45).contains(&refused), "{refused} fetches in 20 s");
    close(first).await;
    assert_eq!(deliveries(&read_once(&second).await), (0..6).map(|n| (n, 2)).collect::<Vec<_>>());
    accept_all(&second);
    commit_all(&second).await;
    assert!(is_finished(&cluster, 1));
}

#[tokio::test(start_paused = true)]
async fn a_silent_leader_is_left_after_the_request_timeout() {
    let cluster = share_cluster(6).await;
    let consumer = share_member(&cluster, &[EXPLICIT, ("request.timeout.ms", "1000")]).await;
    let silent = cluster.inject(once(ApiKey::ShareFetch, Reaction::Silence));
    let started = Instant::now();
    read_once(&consumer).await;
    // The request may wait for fetch.max.wait.ms at the broker.
    assert_took(started, ms(1_500), ms(5_000));
    assert_eq!(cluster.fault_hits(silent), 1);
    accept_all(&consumer);
    cluster.inject(Fault::new(Match::api(ApiKey::ShareAcknowledge), Reaction::Silence));
    let error = within_deadline(consumer.close(ms(500))).await.expect_err("no response");
    assert_eq!(error.kind(), Kind::Timeout);
    cluster.clear_faults();
    let other = share_member(&cluster, &[EXPLICIT]).await;
    finish(&cluster, other).await;
}

/// The locks belong to the member's id, which stays.
#[tokio::test(start_paused = true)]
async fn a_member_that_has_to_rejoin_keeps_its_records() {
    let (cluster, consumer) = holding().await;
    let removed = once(ApiKey::ShareGroupHeartbeat, Reaction::Error(ErrorCode::UnknownMemberId));
    let removed = cluster.inject(removed);
    until(|| cluster.fault_hits(removed) == 1).await;
    accept_all(&consumer);
    append(&cluster, 1);
    assert_eq!(deliveries(&read_once(&consumer).await), [(6, 1)]);
    accept_all(&consumer);
    commit_all(&consumer).await;
    assert_eq!(results(&consumer), (0..7).map(|offset| (offset, None)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_member_that_exceeds_the_poll_interval_rejoins_and_its_acknowledgements_count() {
    let cluster = share_cluster(6).await;
    let consumer = share_member(&cluster, &[EXPLICIT, ("max.poll.interval.ms", "5000")]).await;
    read_once(&consumer).await;
    until(|| cluster.members("g").is_empty()).await;
    accept_all(&consumer);
    append(&cluster, 1);
    assert_eq!(deliveries(&read_once(&consumer).await), [(6, 1)]);
    assert_eq!(cluster.members("g").len(), 1);
    accept_all(&consumer);
    commit_all(&consumer).await;
    assert!(is_finished(&cluster, 1));
}

/// Regression: the broker confirmed the renewal of a record that another member had finished.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_comes_too_late_is_an_error() {
    let share = ShareGroupConfig { record_lock_duration: ms(1_000), ..ShareGroupConfig::default() };
    let cluster = share_cluster_with(share, 1).await;
    append(&cluster, 6);
    let slow = share_member(&cluster, &[EXPLICIT]).await;
    read_once(&slow).await;
    let other = share_member(&cluster, &[EXPLICIT]).await;
    assert_eq!(deliveries(&read_once(&other).await), (0..6).map(|n| (n, 2)).collect::<Vec<_>>());
    accept_all(&other);
    commit_all(&other).await;
    tokio::time::sleep(ms(1_000)).await;
    slow.acknowledge_all(AcknowledgeType::Renew).expect("explicit");
    assert!(within_deadline(slow.poll(ms(3_000), 9)).await.expect("polled").is_empty());
    let late = Some(ErrorCode::InvalidRecordState);
    assert_eq!(results(&slow), (0..6).map(|offset| (offset, late)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn unsubscribing_releases_what_was_not_delivered_and_a_new_subscription_reads_on() {
    let cluster = share_cluster(6).await;
    let consumer = share_member(&cluster, &[EXPLICIT]).await;
    let mut offsets = Vec::new();
    for count in [2, 4] {
        let records = within_deadline(async {
            loop {
                let records = consumer.poll(ms(500), count).await.expect("polled");
                if !records.is_empty() {
                    return records;
                }
            }
        })
        .await;
        offsets.extend(deliveries(&records));
        consumer.unsubscribe().expect("open");
        // Delivered records may still be acknowledged.
        accept_all(&consumer);
        commit_all(&consumer).await;
        until(|| cluster.members("g").is_empty()).await;
        consumer.subscribe(vec!["t".into()]).expect("subscribed");
    }
    assert_eq!(offsets, [(0, 1), (1, 1), (2, 2), (3, 2), (4, 2), (5, 2)]);
    assert!(is_finished(&cluster, 1));
}

/// Regression: a new assignment withdrew the error of a topic that may not be read, which is reported once, if
/// the application had not polled meanwhile.
#[tokio::test(start_paused = true)]
async fn an_assignment_does_not_replace_the_error_of_a_topic() {
    let cluster = share_cluster(1).await;
    let refused = Reaction::Error(ErrorCode::TopicAuthorizationFailed);
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata).topic("secret"), refused));
    let client = client(&cluster, &[("group.id", "g")]).await;
    let settings = GroupSettings::try_from(client.config()).expect("settings");
    let group = Group::start_share(client, settings);
    group.subscribe(Subscription::Topics(vec!["t".into(), "secret".into()])).expect("subscribed");
    // Both events are queued before the application polls.
    tokio::time::sleep(ms(5_000)).await;
    let mut failures = Vec::new();
    let mut assigned = Vec::new();
    while let Some(event) = group.try_next_event() {
        group.complete_event();
        match event {
            RebalanceEvent::Failed(error) => failures.push(error.code()),
            RebalanceEvent::Assign { all, .. } => assigned = all,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(failures, [Some(ErrorCode::TopicAuthorizationFailed)]);
    assert_eq!(assigned, [("t".into(), 0)]);
}

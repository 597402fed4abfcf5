//! Proves: a Rust program polls records and Arrow batches with the same guarantees. Positions move with what
//! was delivered and no further, a cancelled poll loses nothing, aborted and control records never appear, and
//! rebalances and closing call the listener in order and commit what was delivered.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use ottla_client::consumer::group::{RebalanceEvent, Subscription};
use ottla_client::consumer::{
    ArrowLayout, CommitListener, Consumer, PartitionFilter, RebalanceListener, RecordSet,
};
use ottla_client::environment::BoxFuture;
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::{Error, Kind, Result, TopicPartition};
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::{ApiKey, ErrorCode};
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::support::reader::{self, consumer, tp, write};
use crate::support::*;

/// The offsets of the next Arrow batch; none at the timeout.
async fn offsets(consumer: &Consumer, layout: &ArrowLayout) -> Vec<i64> {
    let batch = within_deadline(consumer.poll_arrow(ms(1_000), layout)).await.expect("a batch");
    batch.map_or_else(Vec::new, |batch| {
        let column = batch.column_by_name("offset").expect("a column").as_primitive::<Int64Type>();
        column.values().to_vec()
    })
}

fn rows(max_rows: usize) -> ArrowLayout {
    ArrowLayout { max_rows, ..ArrowLayout::default() }
}

#[tokio::test(start_paused = true)]
async fn arrow_batches_move_the_position_by_their_rows() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 25);
    let consumer = consumer(&cluster, &[0], &[]).await;
    assert_eq!(offsets(&consumer, &rows(10)).await, (0..10).collect::<Vec<_>>());
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 10);
    // Another layout decodes the rest anew, from the position on.
    assert_eq!(offsets(&consumer, &rows(7)).await, (10..17).collect::<Vec<_>>());
    // So does another kind of poll.
    assert_eq!(within_deadline(consumer.poll(ms(1_000), 3)).await.unwrap()[0].entries[0].offset, 17);
    let mut rest = Vec::new();
    while let found = offsets(&consumer, &rows(100)).await
        && !found.is_empty()
    {
        rest.extend(found);
    }
    assert_eq!(rest.last(), Some(&24));
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 25);
}

/// The partitions and offsets of the records of one poll of `partitions`.
async fn poll_of(consumer: &Consumer, partitions: &[i32], max_records: usize) -> Vec<(i32, i64)> {
    let of = PartitionFilter::only(partitions.iter().map(|partition| tp(*partition)));
    let sets = within_deadline(consumer.poll_of(ms(500), max_records, of)).await.expect("polled");
    let rows =
        |set: &RecordSet| set.entries.iter().map(|entry| (set.partition.1, entry.offset)).collect::<Vec<_>>();
    sets.iter().flat_map(rows).collect()
}

#[tokio::test(start_paused = true)]
async fn a_poll_of_some_partitions_leaves_the_others_to_later_polls() {
    let cluster = cluster(3).await;
    for partition in 0..3 {
        write(&cluster, partition, 6);
    }
    let consumer = consumer(&cluster, &[0, 1, 2], &[]).await;
    assert_eq!(poll_of(&consumer, &[1], 2).await, reader::rows(1, 0..2));
    assert_eq!(poll_of(&consumer, &[2], 3).await, reader::rows(2, 0..3));
    assert_eq!(poll_of(&consumer, &[1], 9).await, reader::rows(1, 2..6));
    assert_eq!(poll_of(&consumer, &[1], 9).await, [], "nothing else comes");
    let position = consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap();
    assert_eq!(position, 0, "what was not delivered is not passed");
    let mut rest = reader::read(&consumer, 9).await;
    rest.sort_unstable();
    assert_eq!(rest, [reader::rows(0, 0..6), reader::rows(2, 3..6)].concat());
    consumer.seek(&tp(1), 0, None).expect("assigned");
    assert_eq!(poll_of(&consumer, &[0, 1], 9).await, reader::rows(1, 0..6));
}

/// Regression: in its session, the broker left out a partition that had not changed since an earlier assignment.
#[tokio::test(start_paused = true)]
async fn a_partition_that_is_assigned_again_has_its_watermarks() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 2);
    let consumer = consumer(&cluster, &[], &[]).await;
    let high_watermark = || consumer.watermarks().first().map(|(_, known)| known.high_watermark);
    for _ in 0..3 {
        consumer.assign(vec![tp(0)]).expect("assigned");
        consumer.seek(&tp(0), 2, None).expect("assigned");
        assert_eq!(high_watermark(), Some(-1), "unknown");
        // A fetch of the earlier assignment may still wait at the broker.
        for _ in 0..2 {
            assert_eq!(poll_of(&consumer, &[0], 9).await, []);
        }
        assert_eq!(high_watermark(), Some(2));
        consumer.assign(Vec::new()).expect("unassigned");
    }
}

#[tokio::test(start_paused = true)]
async fn polls_deliver_at_most_max_records_across_batches() {
    let cluster = cluster(1).await;
    cluster.append("t", 0, &[&b"v"[..]; 10]).unwrap();
    cluster.append("t", 0, &[&b"v"[..]; 10]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let mut all = Vec::new();
    while all.len() < 20 {
        let sets = within_deadline(consumer.poll(ms(300), 7)).await.unwrap();
        let polled: Vec<i64> = sets.iter().flat_map(|set| &set.entries).map(|entry| entry.offset).collect();
        assert!((1..=7).contains(&polled.len()), "{polled:?}");
        all.extend(polled);
        let position = consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap();
        assert_eq!(position, all.last().unwrap() + 1);
    }
    assert_eq!(all, (0..20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_poll_loses_no_record() {
    let cluster = cluster(1).await;
    let consumer = consumer(&cluster, &[0], &[]).await;
    for round in 0..20 {
        write(&cluster, 0, 5);
        let _ = timeout(ms(round), consumer.poll(CALL_TIMEOUT, 3)).await;
        let _ = timeout(ms(round), consumer.poll_arrow(CALL_TIMEOUT, &rows(2))).await;
    }
    let position = consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap();
    let mut next = position;
    while next < 100 {
        for set in within_deadline(consumer.poll(ms(300), 7)).await.unwrap() {
            for entry in &set.entries {
                assert_eq!(entry.offset, next);
                next += 1;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn read_committed_filters_aborted_records_and_markers() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 2);
    for (producer, commit) in [(1, false), (2, true), (3, false)] {
        cluster.append_in_transaction("t", 0, producer, &[b"v", b"v"]).unwrap();
        cluster.end_transaction("t", 0, producer, commit).unwrap();
    }
    let pairs = [("isolation.level", "read_committed")];
    let by_arrow = consumer(&cluster, &[0], &pairs).await;
    assert_eq!(offsets(&by_arrow, &rows(100)).await, [0, 1, 5, 6]);
    let by_record = consumer(&cluster, &[0], &pairs).await;
    let sets = within_deadline(by_record.poll(ms(300), 100)).await.unwrap();
    let offsets: Vec<i64> = sets.iter().flat_map(|set| &set.entries).map(|entry| entry.offset).collect();
    assert_eq!(offsets, [0, 1, 5, 6]);
    for consumer in [by_arrow, by_record] {
        // Past the last marker.
        assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 11);
    }
}

#[tokio::test(start_paused = true)]
async fn one_poll_at_a_time_and_typed_errors() {
    let cluster = cluster(1).await;
    let consumer = Arc::new(consumer(&cluster, &[0], &[]).await);
    let polling = tokio::spawn({
        let consumer = Arc::clone(&consumer);
        async move { consumer.poll(CALL_TIMEOUT, 1).await.map(|sets| sets.len()) }
    });
    tokio::time::sleep(ms(50)).await;
    assert_eq!(consumer.poll(CALL_TIMEOUT, 1).await.expect_err("two polls").kind(), Kind::State);
    consumer.wakeup();
    assert_eq!(polling.await.unwrap().expect_err("woken").kind(), Kind::Wakeup);
    let polling = tokio::spawn({
        let consumer = Arc::clone(&consumer);
        async move { consumer.poll_arrow(CALL_TIMEOUT, &ArrowLayout::default()).await.map(drop) }
    });
    tokio::time::sleep(ms(50)).await;
    consumer.close(CALL_TIMEOUT).await.expect("closed");
    assert_eq!(polling.await.unwrap().expect_err("closed").kind(), Kind::Closed);
    consumer.close(CALL_TIMEOUT).await.expect("closed already");
    assert_eq!(consumer.poll(CALL_TIMEOUT, 1).await.expect_err("closed").kind(), Kind::Closed);
}

/// What the listener does with a revocation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OnRevoke {
    Return,
    Fail,
    Hang,
}

#[derive(Debug)]
struct Listener(Mutex<Vec<String>>, OnRevoke);

impl RebalanceListener for Listener {
    fn on_rebalance<'a>(
        &'a self,
        consumer: &'a Consumer,
        event: &'a RebalanceEvent,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let (name, partitions) = match event {
                RebalanceEvent::Assign { added, .. } => ("assigned", added.len()),
                RebalanceEvent::Revoke(partitions) => ("revoked", partitions.len()),
                RebalanceEvent::Lost(partitions) => ("lost", partitions.len()),
                RebalanceEvent::Failed(error) => return Err(error.clone()),
            };
            self.0.lock().push(format!("{name} {partitions} of {}", consumer.assignment().len()));
            match (event, self.1) {
                (RebalanceEvent::Revoke(_), OnRevoke::Fail) => {
                    Err(Error::new(Kind::State, "the listener failed"))
                }
                (RebalanceEvent::Revoke(_), OnRevoke::Hang) => std::future::pending().await,
                _ => Ok(()),
            }
        })
    }
}

async fn member(cluster: &MockCluster, on_revoke: OnRevoke) -> (Consumer, Arc<Listener>) {
    let listener = Arc::new(Listener(Mutex::default(), on_revoke));
    let pairs = [("group.id", "g"), ("auto.offset.reset", "earliest"), ("heartbeat.interval.ms", "50")];
    let consumer = Consumer::new(client(cluster, &pairs).await)
        .with_rebalance_listener(Arc::clone(&listener) as Arc<dyn RebalanceListener>);
    consumer.subscribe(Subscription::Topics(vec!["t".into()])).expect("subscribed");
    (consumer, listener)
}

/// Reads `count` records with the default auto-commit.
async fn read(consumer: &Consumer, count: usize) {
    let mut read = 0;
    within_deadline(async {
        while read < count {
            let sets = consumer.poll(ms(300), 2).await.expect("polled");
            read += sets.iter().map(|set| set.entries.len()).sum::<usize>();
        }
    })
    .await;
    assert_eq!(read, count);
}

#[tokio::test(start_paused = true)]
async fn closing_calls_the_listener_and_commits_what_was_delivered() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 10);
    let (consumer, listener) = member(&cluster, OnRevoke::Return).await;
    read(&consumer, 4).await;
    within_deadline(consumer.close(CALL_TIMEOUT)).await.expect("closed");
    assert_eq!(*listener.0.lock(), ["assigned 1 of 1", "revoked 1 of 1"]);
    assert_eq!(cluster.committed("g", "t", 0).map(|committed| committed.offset), Some(4));
    assert!(cluster.requests().iter().any(|request| request.api == Some(ApiKey::LeaveGroup)));
}

/// Records the offsets of partition 0 of each commit.
#[derive(Debug, Default)]
struct Commits(Mutex<Vec<i64>>);

impl CommitListener for Commits {
    fn on_commit(&self, offsets: &HashMap<TopicPartition, CommittedOffset>) {
        self.0.lock().push(offsets[&tp(0)].offset);
    }
}

#[tokio::test(start_paused = true)]
async fn the_commit_listener_learns_of_successful_commits_only() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 10);
    let commits = Arc::new(Commits::default());
    let consumer =
        member(&cluster, OnRevoke::Return).await.0.with_commit_listener(Arc::clone(&commits) as Arc<_>);
    read(&consumer, 4).await;
    within_deadline(consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
    let rejected = Reaction::Error(ErrorCode::GroupAuthorizationFailed);
    cluster.inject(Fault::once(Match::api(ApiKey::OffsetCommit), rejected));
    within_deadline(consumer.commit(None, CALL_TIMEOUT)).await.expect_err("rejected");
    read(&consumer, 2).await;
    // The last commit is automatic.
    within_deadline(consumer.close(CALL_TIMEOUT)).await.expect("closed");
    assert_eq!(*commits.0.lock(), [4, 6]);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_in_time_with_the_first_error_of_the_listener() {
    for on_revoke in [OnRevoke::Fail, OnRevoke::Hang] {
        let cluster = cluster(1).await;
        write(&cluster, 0, 10);
        let (consumer, _) = member(&cluster, on_revoke).await;
        read(&consumer, 4).await;
        let started = Instant::now();
        let error = within_deadline(consumer.close(ms(2_000))).await.expect_err("the listener fails");
        match on_revoke {
            OnRevoke::Hang => {
                assert_eq!(error.kind(), Kind::Timeout);
                assert!(error.to_string().contains("a callback of the last rebalance"), "{error}");
            }
            _ => assert!(error.to_string().contains("the listener failed"), "{error}"),
        }
        assert!(started.elapsed() < ms(3_000), "{:?}", started.elapsed());
        assert_eq!(cluster.committed("g", "t", 0).map(|committed| committed.offset), Some(4));
        assert_eq!(consumer.poll(CALL_TIMEOUT, 1).await.expect_err("closed").kind(), Kind::Closed);
    }
}

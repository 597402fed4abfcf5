//! Proves: consumers of one group share the partitions and deliver each record to one of them, in both
//! protocols. Delivered records, and no others, are committed before partitions move and on close. A commit
//! that comes too late fails; a moving coordinator loses nothing.

use std::collections::{HashMap, HashSet};

use crate::support::*;
use ottla_client::consumer::group::{RebalanceEvent, Subscription};
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::{Error, Kind, TopicPartition};
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

type Row = (i32, i64);

fn tp(partition: i32) -> TopicPartition {
    ("t".into(), partition)
}

async fn fill(cluster: &MockCluster, partitions: i32, count: i64) {
    let producer = producer(cluster, &[]).await;
    for n in 0..count {
        for partition in 0..partitions {
            send(&producer, partition, &n.to_string()).await;
        }
    }
    within_deadline(producer.close(CALL_TIMEOUT)).await.expect("written");
}

/// A consumer, the records it read and its rebalance events.
struct Reader {
    consumer: Consumer,
    events: Vec<&'static str>,
    rows: Vec<Row>,
}

impl Reader {
    async fn join(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Self {
        let base = [
            ("auto.offset.reset", "earliest"),
            ("group.id", "g"),
            ("session.timeout.ms", "6000"),
            ("heartbeat.interval.ms", "50"),
            ("auto.commit.interval.ms", "50"),
        ];
        let new_protocol = pairs.contains(&("group.protocol", "consumer"));
        let base = base.iter().filter(|(key, _)| {
            !new_protocol || !["session.timeout.ms", "heartbeat.interval.ms"].contains(key)
        });
        let pairs: Vec<_> = base.chain(pairs).copied().collect();
        let consumer = Consumer::new(client(cluster, &pairs).await);
        consumer.subscribe(Subscription::Topics(vec!["t".into()])).expect("subscribed");
        Self { consumer, events: Vec::new(), rows: Vec::new() }
    }

    /// One poll, with everything that an application does for it.
    async fn poll(&mut self, wait: Duration) -> Result<usize, Error> {
        match self.consumer.wait_until_ready(Instant::now() + wait).await? {
            PollOutcome::TimedOut => Ok(0),
            PollOutcome::Rebalance(change) => {
                self.consumer.prepare_rebalance(&change).await;
                self.events.push(match change {
                    RebalanceEvent::Revoke(_) => "revoked",
                    RebalanceEvent::Assign { .. } => "assigned",
                    RebalanceEvent::Lost(_) => "lost",
                    RebalanceEvent::Failed(_) => "failed",
                });
                self.consumer.complete_rebalance(&change).map(|()| 0)
            }
            PollOutcome::Ready => {
                let before = self.rows.len();
                for set in self.consumer.take_records(7) {
                    self.rows.extend(set.entries.iter().map(|entry| (set.partition.1, entry.offset)));
                    self.consumer.mark_delivered(&set.partition, set.version(), set.next, set.leader_epoch);
                }
                Ok(self.rows.len() - before)
            }
        }
    }

    /// Polls for a while.
    async fn poll_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.poll(ms(20)).await.expect("polled");
        }
    }

    async fn close(mut self) -> Vec<Row> {
        self.consumer.begin_close(CALL_TIMEOUT).await;
        while let Some(change) = self.consumer.next_closing_event() {
            self.consumer.prepare_rebalance(&change).await;
            self.consumer.complete_rebalance(&change).expect("revoked");
        }
        self.consumer.end_close(CALL_TIMEOUT).await.expect("left");
        std::mem::take(&mut self.rows)
    }
}

/// Polls all readers in turn until `done`.
async fn until_polled(readers: &mut [Reader], mut done: impl FnMut(&[Reader]) -> bool) {
    within_deadline(async {
        while !done(readers) {
            for reader in &mut *readers {
                reader.poll(ms(10)).await.expect("polled");
            }
        }
    })
    .await;
}

fn rows(readers: &[Reader]) -> usize {
    readers.iter().map(|reader| reader.rows.len()).sum()
}

#[tokio::test(start_paused = true)]
async fn two_members_share_the_partitions_and_one_takes_over_from_the_other() {
    let protocols: [&[(&str, &str)]; 3] =
        [&[], &[("partition.assignment.strategy", "roundrobin")], &[("group.protocol", "consumer")]];
    for pairs in protocols {
        let cluster = cluster(4).await;
        fill(&cluster, 4, 50).await;
        let mut readers = vec![Reader::join(&cluster, pairs).await, Reader::join(&cluster, pairs).await];
        until_polled(&mut readers, |readers| {
            rows(readers) >= 200 && readers.iter().all(|r| r.consumer.assignment().len() == 2)
        })
        .await;
        let all: Vec<Row> = readers.iter().flat_map(|reader| reader.rows.clone()).collect();
        let different: HashSet<Row> = all.iter().copied().collect();
        assert_eq!(different.len(), 200, "{pairs:?}: all were delivered");
        let leaver = readers.pop().unwrap();
        leaver.close().await;
        fill(&cluster, 4, 10).await;
        let before = rows(&readers);
        until_polled(&mut readers, |readers| rows(readers) >= before + 40).await;
        assert_eq!(readers[0].consumer.assignment().len(), 4, "{pairs:?}");
        let mut fresh = readers[0].rows.split_off(before);
        fresh.sort_unstable();
        // The other reader's records were committed when it left: nothing is read twice.
        let expected: Vec<Row> = (0..4).flat_map(|p| (50..60).map(move |offset| (p, offset))).collect();
        assert_eq!(fresh, expected, "{pairs:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn closing_commits_the_position_and_nothing_beyond() {
    let cluster = cluster(1).await;
    fill(&cluster, 1, 100).await;
    let mut reader = Reader::join(&cluster, &[("auto.commit.interval.ms", "100000")]).await;
    while reader.rows.len() < 21 {
        reader.poll(CALL_TIMEOUT).await.expect("polled");
    }
    let delivered = i64::try_from(reader.rows.len()).unwrap();
    // Fetched and collected, but not delivered.
    assert!(!reader.consumer.take_records(10).is_empty());
    assert_eq!(cluster.committed("g", "t", 0).map(|c| c.offset), None);
    reader.close().await;
    assert_eq!(cluster.committed("g", "t", 0).map(|c| c.offset), Some(delivered));
    let mut next = Reader::join(&cluster, &[]).await;
    within_deadline(async { while next.poll(CALL_TIMEOUT).await.expect("polled") == 0 {} }).await;
    assert_eq!(next.rows[0], (0, delivered));
}

#[tokio::test(start_paused = true)]
async fn automatic_commits_cover_only_records_of_earlier_polls() {
    let cluster = cluster(1).await;
    fill(&cluster, 1, 100).await;
    let mut reader = Reader::join(&cluster, &[("auto.commit.interval.ms", "1")]).await;
    let mut before = 0;
    for _ in 0..12 {
        let earlier = i64::try_from(reader.rows.len()).unwrap();
        reader.poll(ms(200)).await.expect("polled");
        tokio::time::sleep(ms(30)).await;
        let committed = cluster.committed("g", "t", 0).map_or(0, |c| c.offset);
        assert!(committed <= earlier, "{committed} is committed, {earlier} were delivered before");
        assert!(committed >= before);
        before = committed;
    }
    assert!(before > 0, "nothing was committed");
}

#[tokio::test(start_paused = true)]
async fn offsets_are_committed_with_their_metadata_and_fetched() {
    let cluster = cluster(2).await;
    let reader = Reader::join(&cluster, &[("enable.auto.commit", "false")]).await;
    let mut readers = [reader];
    until_polled(&mut readers, |readers| readers[0].consumer.assignment().len() == 2).await;
    let committed = CommittedOffset {
        offset: 7,
        leader_epoch: Some(0),
        metadata: Some("note".to_owned()),
        ..CommittedOffset::default()
    };
    let offsets = HashMap::from([(tp(0), committed.clone())]);
    within_deadline(readers[0].consumer.commit(Some(offsets), CALL_TIMEOUT)).await.expect("committed");
    let found = within_deadline(readers[0].consumer.committed(vec![tp(0), tp(1)], CALL_TIMEOUT))
        .await
        .expect("found");
    assert_eq!(found[&tp(0)].as_ref(), Some(&committed));
    assert_eq!(found[&tp(1)], None);
}

#[tokio::test(start_paused = true)]
async fn a_moving_coordinator_loses_and_repeats_no_record() {
    for pairs in [&[][..], &[("group.protocol", "consumer")]] {
        let cluster = cluster(2).await;
        fill(&cluster, 2, 50).await;
        let mut readers = [Reader::join(&cluster, pairs).await];
        until_polled(&mut readers, |readers| rows(readers) >= 30).await;
        let broker = cluster.coordinator("g").unwrap();
        cluster.move_coordinator("g", broker % 3 + 1).unwrap();
        until_polled(&mut readers, |readers| rows(readers) >= 100).await;
        readers[0].poll_for(ms(300)).await;
        assert_eq!(readers[0].rows.len(), 100, "{pairs:?}");
        assert!(!readers[0].events.contains(&"lost"), "{pairs:?}: {:?}", readers[0].events);
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_commit_fails_and_the_member_rejoins() {
    for code in [ErrorCode::IllegalGeneration, ErrorCode::UnknownMemberId] {
        let cluster = cluster(1).await;
        fill(&cluster, 1, 20).await;
        let mut reader = [Reader::join(&cluster, &[("enable.auto.commit", "false")]).await];
        until_polled(&mut reader, |reader| rows(reader) >= 20).await;
        cluster.inject(Fault::once(Match::api(ApiKey::OffsetCommit), Reaction::Error(code)));
        let error =
            within_deadline(reader[0].consumer.commit(None, CALL_TIMEOUT)).await.expect_err("too late");
        assert_eq!(error.code(), Some(code), "{error}");
        let before = reader[0].events.len();
        until_polled(&mut reader, |reader| reader[0].events[before..].contains(&"assigned")).await;
        within_deadline(reader[0].consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
    }
}

#[tokio::test(start_paused = true)]
async fn an_application_that_polls_too_rarely_gets_an_error_and_continues() {
    let cluster = cluster(1).await;
    fill(&cluster, 1, 20).await;
    let slow = [("max.poll.interval.ms", "2500"), ("enable.auto.commit", "false")];
    let mut reader = [Reader::join(&cluster, &slow).await];
    until_polled(&mut reader, |reader| rows(reader) >= 20).await;
    until(|| cluster.members("g").is_empty()).await;
    let error = within_deadline(reader[0].consumer.commit(None, CALL_TIMEOUT)).await.expect_err("left");
    assert!(error.to_string().contains("max.poll.interval.ms"), "{error}");
    until_polled(&mut reader, |reader| reader[0].events.contains(&"lost")).await;
    // Nothing was committed: all records are read again.
    until_polled(&mut reader, |reader| rows(reader) >= 40).await;
    within_deadline(reader[0].consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
    assert_eq!(cluster.committed("g", "t", 0).map(|c| c.offset), Some(20));
}

#[tokio::test(start_paused = true)]
async fn an_unauthorized_member_gets_an_error() {
    let cluster = cluster(1).await;
    let code = ErrorCode::GroupAuthorizationFailed;
    cluster.inject(Fault::once(Match::api(ApiKey::JoinGroup), Reaction::Error(code)));
    let mut reader = Reader::join(&cluster, &[]).await;
    let error = within_deadline(async {
        loop {
            if let Err(error) = reader.poll(ms(50)).await {
                break error;
            }
        }
    })
    .await;
    assert_eq!((error.kind(), error.code()), (Kind::Authorization, Some(code)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn subscribing_and_assigning_do_not_mix() {
    let cluster = cluster(1).await;
    let reader = Reader::join(&cluster, &[]).await;
    assert_eq!(reader.consumer.assign(vec![tp(0)]).expect_err("subscribed").kind(), Kind::State);
    let assigned = Consumer::new(client(&cluster, &[("group.id", "g")]).await);
    assigned.assign(vec![tp(0)]).expect("assigned");
    let topics = Subscription::Topics(vec!["t".into()]);
    assert_eq!(assigned.subscribe(topics.clone()).expect_err("assigned").kind(), Kind::State);
    assigned.unsubscribe().expect("open");
    assigned.subscribe(topics).expect("nothing is assigned any more");
}

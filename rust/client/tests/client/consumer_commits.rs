//! Proves: commits that wait are sent before their partitions are revoked, or not at all, in both
//! protocols. A member can commit the partitions that it keeps in any generation, and while its own
//! JoinGroup waits for others.

use std::collections::HashMap;
use std::sync::Arc;

use crate::support::*;
use ottla_client::consumer::group::Subscription;
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::{Error, TopicPartition};
use ottla_mock::{Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};

type Pairs<'a> = &'a [(&'a str, &'a str)];

const RANGE: Pairs<'_> = &[("partition.assignment.strategy", "range"), ("heartbeat.interval.ms", "50")];
const COOPERATIVE: Pairs<'_> =
    &[("partition.assignment.strategy", "cooperative-sticky"), ("heartbeat.interval.ms", "50")];
const CONSUMER: Pairs<'_> = &[("group.protocol", "consumer")];

async fn two_partitions() -> MockCluster {
    let groups = GroupConfig { consumer_heartbeat_interval: ms(50), ..GroupConfig::default() };
    let cluster = MockCluster::start(MockConfig { groups, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(2)).unwrap();
    cluster
}

fn committed(cluster: &MockCluster, partition: i32) -> Option<i64> {
    cluster.committed("g", "t", partition).map(|committed| committed.offset)
}

fn offsets(
    partitions: impl IntoIterator<Item = TopicPartition>,
    to: i64,
) -> HashMap<TopicPartition, CommittedOffset> {
    let to = CommittedOffset { offset: to, ..CommittedOffset::default() };
    partitions.into_iter().map(|partition| (partition, to.clone())).collect()
}

/// A member whose application handles every event.
struct Member {
    consumer: Arc<Consumer>,
    /// Whether it awaits its commits before a revocation.
    awaits_commits: bool,
}

impl Member {
    async fn join(cluster: &MockCluster, name: &str, awaits_commits: bool, pairs: Pairs<'_>) -> Self {
        let base = [("group.id", "g"), ("client.id", name), ("enable.auto.commit", "false")];
        let pairs: Vec<_> = base.iter().chain(pairs).copied().collect();
        let consumer = Arc::new(Consumer::new(client(cluster, &pairs).await));
        consumer.subscribe(Subscription::Topics(vec!["t".into()])).expect("subscribed");
        Self { consumer, awaits_commits }
    }

    async fn poll(&self, wait: Duration) {
        if let PollOutcome::Rebalance(change) =
            self.consumer.wait_until_ready(Instant::now() + wait).await.expect("polled")
        {
            self.consumer.prepare_rebalance(&change).await;
            self.consumer.finish_rebalance(&change, self.awaits_commits, None).await.expect("done");
        }
    }

    /// Commits both partitions, after earlier commits.
    fn commit_later(&self, to: i64) -> JoinHandle<Result<(), Error>> {
        let consumer = Arc::clone(&self.consumer);
        let both = offsets([("t".into(), 0), ("t".into(), 1)], to);
        tokio::spawn(async move { consumer.commit(Some(both), CALL_TIMEOUT).await })
    }
}

/// Polls until each member owns `wanted` partitions.
async fn share(members: &[&Member], wanted: usize) {
    within_deadline(async {
        while members.iter().any(|member| member.consumer.assignment().len() != wanted) {
            for member in members {
                member.poll(ms(10)).await;
            }
        }
    })
    .await;
}

/// Regression: the offsets of a commit were fixed when it was requested, but its generation only when it
/// was sent. If its partition moved to another member meanwhile, the commit was sent under the new
/// generation and overwrote the newer offset of that member.
#[tokio::test(start_paused = true)]
async fn a_pending_commit_is_not_sent_after_its_partition_was_revoked() {
    for (pairs, kept) in [(RANGE, None), (COOPERATIVE, Some(3)), (CONSUMER, Some(3))] {
        let cluster = two_partitions().await;
        let first = Member::join(&cluster, "first", false, pairs).await;
        share(&[&first], 2).await;
        let from_first = Match { client_id: Some("first".to_owned()), ..Match::api(ApiKey::OffsetCommit) };
        let held_up = Reaction::Error(ErrorCode::CoordinatorLoadInProgress);
        let fault = cluster.inject(Fault::new(from_first, held_up));
        let waiting: Vec<_> = (1..=3).map(|to| first.commit_later(to)).collect();
        until(|| cluster.fault_hits(fault) > 0).await;

        let second = Member::join(&cluster, "second", false, pairs).await;
        share(&[&first, &second], 1).await;
        let (mine, its) = (first.consumer.assignment().remove(0), second.consumer.assignment().remove(0));
        within_deadline(second.consumer.commit(Some(offsets([its.clone()], 900)), CALL_TIMEOUT))
            .await
            .expect("committed");

        cluster.remove_fault(fault);
        for commit in waiting {
            let error = within_deadline(commit).await.unwrap().expect_err("revoked meanwhile");
            assert_eq!(error.code(), Some(ErrorCode::IllegalGeneration), "{pairs:?}: {error}");
        }
        assert_eq!(committed(&cluster, its.1), Some(900), "{pairs:?}: overwritten");
        assert_eq!(committed(&cluster, mine.1), kept, "{pairs:?}: what it has had all the time");
        share(&[&first, &second], 1).await;
        within_deadline(first.consumer.commit(Some(offsets([mine], 4)), CALL_TIMEOUT))
            .await
            .expect("a member all the same");
    }
}

/// Regression: with a cooperative assignor a member keeps its partitions while it rejoins, but its commits
/// and offset fetches queued behind its own JoinGroup on the connection. The broker responds to that once
/// all members have joined, even one that is busy for minutes: the commits timed out, although the group
/// would have accepted them.
#[tokio::test(start_paused = true)]
async fn commits_do_not_queue_behind_a_pending_join() {
    let cluster = two_partitions().await;
    let pairs: Vec<_> = COOPERATIVE.iter().copied().chain([("fetch.max.wait.ms", "100")]).collect();
    let first = Member::join(&cluster, "first", true, &pairs).await;
    share(&[&first], 2).await;
    let join = Match { client_id: Some("first".to_owned()), ..Match::api(ApiKey::JoinGroup) };
    let delayed = cluster.inject(Fault::once(join, Reaction::Delay(ms(60_000))));
    let second = Member::join(&cluster, "second", true, &pairs).await;
    second.poll(ms(10)).await;
    until(|| cluster.fault_hits(delayed) == 1).await;
    for to in 1..=3 {
        let started = Instant::now();
        within_deadline(first.commit_later(to)).await.unwrap().expect("committed");
        let both = vec![("t".into(), 0), ("t".into(), 1)];
        let found = within_deadline(first.consumer.committed(both, CALL_TIMEOUT)).await.expect("found");
        assert!(started.elapsed() < ms(1_000), "{:?}", started.elapsed());
        assert!(found.values().all(|found| found.as_ref().is_some_and(|found| found.offset == to)));
    }
    assert_eq!(first.consumer.assignment().len(), 2);
}

/// Regression: pending commits were not awaited when their partition was revoked, so that its next reader
/// started before them.
#[tokio::test(start_paused = true)]
async fn pending_commits_are_sent_before_their_partition_is_revoked() {
    for pairs in [RANGE, CONSUMER] {
        let cluster = two_partitions().await;
        let first = Member::join(&cluster, "first", true, pairs).await;
        share(&[&first], 2).await;
        cluster.inject(Fault::new(Match::api(ApiKey::OffsetCommit), Reaction::Delay(ms(30))));
        let second = Member::join(&cluster, "second", true, pairs).await;
        second.poll(ms(10)).await;
        let waiting: Vec<_> = (1..=20).map(|to| first.commit_later(to)).collect();
        share(&[&first, &second], 1).await;
        assert_eq!([committed(&cluster, 0), committed(&cluster, 1)], [Some(20); 2], "{pairs:?}");
        for commit in waiting {
            within_deadline(commit).await.unwrap().expect("committed");
        }
    }
}

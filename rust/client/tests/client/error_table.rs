//! Proves: each error code of a group's coordinator has the effect for the application that the design's
//! table lists: records continue, rebalances are reported, fatal errors are raised. `group_*_errors.rs`
//! test the state machines' transitions, `consumer.rs` those of partitions, `offsets.rs` those of offsets,
//! `share_error_table.rs` share groups.

use crate::support::*;
use ottla_client::consumer::group::{RebalanceEvent, Subscription};
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::{Error, Kind};
use ottla_mock::{Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

/// A short session: a member that joins under a new id waits for the end of its old session.
const CLASSIC: &[(&str, &str)] = &[("heartbeat.interval.ms", "50"), ("session.timeout.ms", "3000")];
const CONSUMER: &[(&str, &str)] = &[("group.protocol", "consumer")];

async fn cluster_with_ten_records() -> MockCluster {
    let groups = GroupConfig { consumer_heartbeat_interval: ms(50), ..GroupConfig::default() };
    let cluster = MockCluster::start(MockConfig { groups, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1)).unwrap();
    append_ten(&cluster);
    cluster
}

fn append_ten(cluster: &MockCluster) {
    for _ in 0..10 {
        cluster.append("t", 0, &[b"v"]).unwrap();
    }
}

fn fail_once(cluster: &MockCluster, api: ApiKey, code: ErrorCode) -> ottla_mock::FaultId {
    cluster.inject(Fault::once(Match::api(api), Reaction::Error(code)))
}

/// A member with the rebalance events and the offsets that it received.
struct Member {
    consumer: Consumer,
    changes: Vec<&'static str>,
    offsets: Vec<i64>,
}

impl Member {
    async fn join(cluster: &MockCluster, protocol: &[(&str, &str)], pairs: &[(&str, &str)]) -> Self {
        let base = [("group.id", "g"), ("auto.offset.reset", "earliest"), ("enable.auto.commit", "false")];
        let all: Vec<_> = base.iter().chain(protocol).chain(pairs).copied().collect();
        let consumer = Consumer::new(client(cluster, &all).await);
        consumer.subscribe(Subscription::Topics(vec!["t".into()])).expect("subscribed");
        Self { consumer, changes: Vec::new(), offsets: Vec::new() }
    }

    async fn poll(&mut self, wait: Duration) -> Result<(), Error> {
        match self.consumer.wait_until_ready(Instant::now() + wait).await? {
            PollOutcome::TimedOut => Ok(()),
            PollOutcome::Rebalance(change) => {
                self.consumer.prepare_rebalance(&change).await;
                self.changes.push(match change {
                    RebalanceEvent::Revoke(_) => "revoked",
                    RebalanceEvent::Assign { .. } => "assigned",
                    RebalanceEvent::Lost(_) => "lost",
                    RebalanceEvent::Failed(_) => "failed",
                });
                self.consumer.complete_rebalance(&change)
            }
            PollOutcome::Ready => {
                for set in self.consumer.take_records(500) {
                    self.offsets.extend(set.entries.iter().map(|entry| entry.offset));
                    self.consumer.mark_delivered(&set.partition, set.version(), set.next, set.leader_epoch);
                }
                Ok(())
            }
        }
    }

    async fn until(&mut self, done: impl Fn(&Self) -> bool) {
        within_deadline(async {
            while !done(self) {
                self.poll(ms(10)).await.expect("polled");
            }
        })
        .await;
    }

    async fn until_it_fails(&mut self) -> Error {
        within_deadline(async {
            loop {
                if let Err(error) = self.poll(ms(10)).await {
                    return error;
                }
            }
        })
        .await
    }
}

/// The API of a member's heartbeats.
fn heartbeat(protocol: &[(&str, &str)]) -> ApiKey {
    if protocol == CONSUMER { ApiKey::ConsumerGroupHeartbeat } else { ApiKey::Heartbeat }
}

/// The codes after which a member rejoins, and how its partitions are reported.
#[tokio::test(start_paused = true)]
async fn a_member_that_has_to_rejoin_does_and_continues_to_read() {
    use ErrorCode as E;
    let cases = [
        (CLASSIC, E::IllegalGeneration, "lost"),
        (CLASSIC, E::UnknownMemberId, "lost"),
        (CLASSIC, E::RebalanceInProgress, "revoked"),
        (CONSUMER, E::UnknownMemberId, "lost"),
        (CONSUMER, E::FencedMemberEpoch, "lost"),
    ];
    for (protocol, code, event) in cases {
        let cluster = cluster_with_ten_records().await;
        let mut member = Member::join(&cluster, protocol, &[]).await;
        member.until(|member| member.offsets.len() == 10).await;
        within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
        let fault = fail_once(&cluster, heartbeat(protocol), code);
        member.until(|member| member.changes == ["assigned", event, "assigned"]).await;
        assert_eq!(cluster.fault_hits(fault), 1, "{code:?}");
        append_ten(&cluster);
        member.until(|member| member.offsets.len() == 20).await;
        assert_eq!(member.offsets, (0..20).collect::<Vec<_>>(), "{code:?}");
        within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("a member again");
    }
}

/// Errors of the coordinator cost neither partitions nor records, and the coordinator is looked up only if it
/// has moved.
#[tokio::test(start_paused = true)]
async fn the_coordinator_is_looked_up_only_if_it_has_moved() {
    use ErrorCode as E;
    for protocol in [CLASSIC, CONSUMER] {
        for (code, lookups) in
            [(E::CoordinatorLoadInProgress, 0), (E::NotCoordinator, 1), (E::CoordinatorNotAvailable, 1)]
        {
            for api in [heartbeat(protocol), ApiKey::OffsetCommit] {
                let cluster = cluster_with_ten_records().await;
                let mut member = Member::join(&cluster, protocol, &[]).await;
                member.until(|member| member.offsets.len() == 10).await;
                cluster.clear_requests();
                let fault = fail_once(&cluster, api, code);
                within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
                let hit = || cluster.fault_hits(fault) == 1;
                until(hit).await;
                let beats = cluster.request_count(None, heartbeat(protocol));
                until(|| cluster.request_count(None, heartbeat(protocol)) > beats + 1).await;
                let found = cluster.request_count(None, ApiKey::FindCoordinator);
                assert_eq!(found, lookups, "{code:?} to {api:?}");
                append_ten(&cluster);
                member.until(|member| member.offsets.len() == 20).await;
                assert_eq!(member.changes, ["assigned"], "{code:?} to {api:?}");
            }
        }
    }
}

/// A commit with a stale epoch is retried with the epoch from the next heartbeat.
#[tokio::test(start_paused = true)]
async fn a_commit_with_a_stale_epoch_waits_for_the_new_one() {
    let cluster = cluster_with_ten_records().await;
    let mut member = Member::join(&cluster, CONSUMER, &[]).await;
    member.until(|member| member.offsets.len() == 10).await;
    let before = member.consumer.group_metadata().unwrap().generation;
    let fault = fail_once(&cluster, ApiKey::OffsetCommit, ErrorCode::StaleMemberEpoch);
    let other = Member::join(&cluster, CONSUMER, &[]).await;
    let joins = async {
        until(|| cluster.fault_hits(fault) == 1).await;
        // Raises the group's epoch.
        let _ = other.consumer.wait_until_ready(Instant::now() + ms(10)).await;
    };
    let (committed, ()) = tokio::join!(within_deadline(member.consumer.commit(None, CALL_TIMEOUT)), joins);
    committed.expect("committed under the new epoch");
    assert!(member.consumer.group_metadata().unwrap().generation > before);
    assert_eq!(cluster.committed("g", "t", 0).map(|committed| committed.offset), Some(10));
}

/// After an error code in OffsetFetch's response, a member retries with its current member id and epoch.
///
/// Regression: such a code, mostly STALE_MEMBER_EPOCH while other members joined and left, was raised to
/// the application by a poll of a member that had just been assigned its partitions.
#[tokio::test(start_paused = true)]
async fn a_member_retries_offset_fetch_and_continues_to_read() {
    use ErrorCode as E;
    let cases = [
        (CLASSIC, E::StaleMemberEpoch, None),
        (CLASSIC, E::UnknownMemberId, Some("lost")),
        (CLASSIC, E::IllegalGeneration, Some("lost")),
        (CLASSIC, E::RebalanceInProgress, Some("revoked")),
        (CONSUMER, E::StaleMemberEpoch, None),
        (CONSUMER, E::UnknownMemberId, Some("lost")),
        (CONSUMER, E::FencedMemberEpoch, Some("lost")),
        (CONSUMER, E::IllegalGeneration, Some("lost")),
        (CONSUMER, E::RebalanceInProgress, Some("lost")),
    ];
    for (protocol, code, event) in cases {
        let cluster = cluster_with_ten_records().await;
        let fault = fail_once(&cluster, ApiKey::OffsetFetch, code);
        let mut member = Member::join(&cluster, protocol, &[]).await;
        let changes: Vec<_> =
            ["assigned"].into_iter().chain(event).chain(event.map(|_| "assigned")).collect();
        member.until(|member| member.offsets.len() == 10 && member.changes == changes).await;
        assert_eq!(cluster.fault_hits(fault), 1, "{protocol:?} {code:?}");
        assert_eq!(member.offsets, (0..10).collect::<Vec<_>>(), "{protocol:?} {code:?}");

        within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("a member");
        let fault = fail_once(&cluster, ApiKey::OffsetFetch, code);
        let found = within_deadline(member.consumer.committed(vec![("t".into(), 0)], CALL_TIMEOUT)).await;
        let found = found.unwrap_or_else(|error| panic!("{protocol:?} {code:?}: {error}"));
        assert_eq!(found[&("t".into(), 0)].as_ref().map(|committed| committed.offset), Some(10));
        assert_eq!(cluster.fault_hits(fault), 1, "{protocol:?} {code:?}");
    }
}

/// An error that never passes ends with the call's timeout.
#[tokio::test(start_paused = true)]
async fn fetching_committed_offsets_ends_with_its_timeout() {
    let cluster = cluster_with_ten_records().await;
    let mut member = Member::join(&cluster, CONSUMER, &[]).await;
    member.until(|member| member.offsets.len() == 10).await;
    let stale = Reaction::Error(ErrorCode::StaleMemberEpoch);
    cluster.inject(Fault::new(Match::api(ApiKey::OffsetFetch), stale));
    let error =
        within_deadline(member.consumer.committed(vec![("t".into(), 0)], ms(300))).await.expect_err("never");
    assert_eq!((error.kind(), error.code()), (Kind::Timeout, Some(ErrorCode::StaleMemberEpoch)), "{error}");
}

/// The request failed as a member's, but the consumer is no longer a member.
#[tokio::test(start_paused = true)]
async fn a_consumer_that_unsubscribes_while_fetching_committed_offsets_gets_them() {
    for code in [ErrorCode::StaleMemberEpoch, ErrorCode::UnknownMemberId] {
        let cluster = cluster_with_ten_records().await;
        let mut member = Member::join(&cluster, CONSUMER, &[]).await;
        member.until(|member| member.offsets.len() == 10).await;
        within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("a member");
        cluster.inject(Fault::once(Match::api(ApiKey::OffsetFetch), Reaction::Delay(ms(100))));
        let fault = fail_once(&cluster, ApiKey::OffsetFetch, code);
        let unsubscribe = async {
            tokio::time::sleep(ms(50)).await;
            member.consumer.unsubscribe().expect("subscribed");
        };
        let fetch = member.consumer.committed(vec![("t".into(), 0)], CALL_TIMEOUT);
        let (found, ()) = within_deadline(async { tokio::join!(fetch, unsubscribe) }).await;
        let found = found.unwrap_or_else(|error| panic!("{code:?}: {error}"));
        assert_eq!(found[&("t".into(), 0)].as_ref().map(|committed| committed.offset), Some(10));
        assert_eq!(cluster.fault_hits(fault), 1);
    }
}

/// Errors that only the application can fix are raised, and not retried.
#[tokio::test(start_paused = true)]
async fn fatal_errors_reach_the_application() {
    use ErrorCode as E;
    for protocol in [CLASSIC, CONSUMER] {
        for (code, kind) in
            [(E::FencedInstanceId, Kind::Fenced), (E::GroupAuthorizationFailed, Kind::Authorization)]
        {
            let cluster = cluster_with_ten_records().await;
            let mut member = Member::join(&cluster, protocol, &[("group.instance.id", "i")]).await;
            member.until(|member| member.offsets.len() == 10).await;
            cluster.inject(Fault::new(Match::api(heartbeat(protocol)), Reaction::Error(code)));
            let error = member.until_it_fails().await;
            assert_eq!((error.kind(), error.code()), (kind, Some(code)), "{protocol:?}: {error}");
            let again = member.until_it_fails().await;
            assert_eq!(again.code(), Some(code), "{protocol:?}: each poll raises it");
        }
        for code in [E::FencedInstanceId, E::GroupAuthorizationFailed, E::TopicAuthorizationFailed] {
            let cluster = cluster_with_ten_records().await;
            let mut member = Member::join(&cluster, protocol, &[]).await;
            member.until(|member| member.offsets.len() == 10).await;
            fail_once(&cluster, ApiKey::OffsetCommit, code);
            let error =
                within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect_err("failed");
            assert_eq!(error.code(), Some(code), "{protocol:?}: {error}");
            assert_eq!(cluster.request_count(None, ApiKey::OffsetCommit), 1, "{protocol:?}");
        }
    }
}

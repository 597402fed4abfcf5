//! Proves: what a group's coordinator may answer has the outcome that the design's table gives it, as
//! an application sees it: records go on, changes are told, what is fatal is raised. The state
//! machines' transitions one by one are in `group_*_errors.rs`, those of partitions in `consumer.rs`,
//! those of offsets in `offsets.rs`.

use crate::support::*;
use ottla_client::admin::NewTopic;
use ottla_client::consumer::group::{RebalanceEvent, Subscription};
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::{Error, Kind};
use ottla_mock::{Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

/// A session that is soon over: who joins under a new id waits for the end of the old one's.
const CLASSIC: &[(&str, &str)] = &[("heartbeat.interval.ms", "50"), ("session.timeout.ms", "3000")];
const CONSUMER: &[(&str, &str)] = &[("group.protocol", "consumer")];

async fn ten() -> MockCluster {
    let groups = GroupConfig { consumer_heartbeat_interval: ms(50), ..GroupConfig::default() };
    let cluster = MockCluster::start(MockConfig { groups, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1)).unwrap();
    write(&cluster);
    cluster
}

fn write(cluster: &MockCluster) {
    for _ in 0..10 {
        cluster.append("t", 0, &[b"v"]).unwrap();
    }
}

fn refuse(cluster: &MockCluster, api: ApiKey, code: ErrorCode) -> ottla_mock::FaultId {
    cluster.inject(Fault::once(Match::api(api), Reaction::Error(code)))
}

/// A member, and what befell it.
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
        match self.consumer.poll(Instant::now() + wait).await? {
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

/// Which request a member heartbeats with.
fn heartbeat(protocol: &[(&str, &str)]) -> ApiKey {
    if protocol == CONSUMER { ApiKey::ConsumerGroupHeartbeat } else { ApiKey::Heartbeat }
}

/// The codes after which a member joins again, and what it is told of its partitions.
#[tokio::test(start_paused = true)]
async fn who_has_to_join_again_does_and_reads_on() {
    use ErrorCode as E;
    let cases = [
        (CLASSIC, E::IllegalGeneration, "lost"),
        (CLASSIC, E::UnknownMemberId, "lost"),
        (CLASSIC, E::RebalanceInProgress, "revoked"),
        (CONSUMER, E::UnknownMemberId, "lost"),
        (CONSUMER, E::FencedMemberEpoch, "lost"),
    ];
    for (protocol, code, told) in cases {
        let cluster = ten().await;
        let mut member = Member::join(&cluster, protocol, &[]).await;
        member.until(|member| member.offsets.len() == 10).await;
        within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
        let fault = refuse(&cluster, heartbeat(protocol), code);
        member.until(|member| member.changes == ["assigned", told, "assigned"]).await;
        assert_eq!(cluster.fault_hits(fault), 1, "{code:?}");
        write(&cluster);
        member.until(|member| member.offsets.len() == 20).await;
        assert_eq!(member.offsets, (0..20).collect::<Vec<_>>(), "{code:?}");
        within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("a member again");
    }
}

/// What is about the coordinator costs neither partitions nor records, and only a coordinator that is
/// none any more is looked for.
#[tokio::test(start_paused = true)]
async fn a_coordinator_is_looked_for_only_when_it_is_none() {
    use ErrorCode as E;
    for protocol in [CLASSIC, CONSUMER] {
        for (code, looked) in
            [(E::CoordinatorLoadInProgress, 0), (E::NotCoordinator, 1), (E::CoordinatorNotAvailable, 1)]
        {
            for api in [heartbeat(protocol), ApiKey::OffsetCommit] {
                let cluster = ten().await;
                let mut member = Member::join(&cluster, protocol, &[]).await;
                member.until(|member| member.offsets.len() == 10).await;
                cluster.clear_requests();
                let fault = refuse(&cluster, api, code);
                within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
                let hit = || cluster.fault_hits(fault) == 1;
                until(hit).await;
                let beats = cluster.request_count(None, heartbeat(protocol));
                until(|| cluster.request_count(None, heartbeat(protocol)) > beats + 1).await;
                let found = cluster.request_count(None, ApiKey::FindCoordinator);
                assert_eq!(found, looked, "{code:?} to {api:?}");
                write(&cluster);
                member.until(|member| member.offsets.len() == 20).await;
                assert_eq!(member.changes, ["assigned"], "{code:?} to {api:?}");
            }
        }
    }
}

/// A commit under an epoch that is behind goes out again under the one that a heartbeat brings.
#[tokio::test(start_paused = true)]
async fn a_commit_of_an_earlier_epoch_waits_for_the_next_one() {
    let cluster = ten().await;
    let mut member = Member::join(&cluster, CONSUMER, &[]).await;
    member.until(|member| member.offsets.len() == 10).await;
    let before = member.consumer.group_metadata().unwrap().generation;
    let fault = refuse(&cluster, ApiKey::OffsetCommit, ErrorCode::StaleMemberEpoch);
    let other = Member::join(&cluster, CONSUMER, &[]).await;
    let joins = async {
        until(|| cluster.fault_hits(fault) == 1).await;
        // Raises the group's epoch.
        let _ = other.consumer.poll(Instant::now() + ms(10)).await;
    };
    let (committed, ()) = tokio::join!(within_deadline(member.consumer.commit(None, CALL_TIMEOUT)), joins);
    committed.expect("committed under the new epoch");
    assert!(member.consumer.group_metadata().unwrap().generation > before);
    assert_eq!(cluster.committed("g", "t", 0).map(|committed| committed.offset), Some(10));
}

/// What a member does about a code in OffsetFetch's answer: it asks again, as who it is by then.
///
/// Regression: such a code, above all STALE_MEMBER_EPOCH while others came and went, was raised to the
/// application, by a poll of a member that had only just been given its partitions.
#[tokio::test(start_paused = true)]
async fn who_is_refused_its_committed_offsets_asks_again_and_reads_on() {
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
    for (protocol, code, told) in cases {
        let cluster = ten().await;
        let fault = refuse(&cluster, ApiKey::OffsetFetch, code);
        let mut member = Member::join(&cluster, protocol, &[]).await;
        let changes: Vec<_> = ["assigned"].into_iter().chain(told).chain(told.map(|_| "assigned")).collect();
        member.until(|member| member.offsets.len() == 10 && member.changes == changes).await;
        assert_eq!(cluster.fault_hits(fault), 1, "{protocol:?} {code:?}");
        assert_eq!(member.offsets, (0..10).collect::<Vec<_>>(), "{protocol:?} {code:?}");

        within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("a member");
        let fault = refuse(&cluster, ApiKey::OffsetFetch, code);
        let found = within_deadline(member.consumer.committed(vec![("t".into(), 0)], CALL_TIMEOUT)).await;
        let found = found.unwrap_or_else(|error| panic!("{protocol:?} {code:?}: {error}"));
        assert_eq!(found[&("t".into(), 0)].as_ref().map(|committed| committed.offset), Some(10));
        assert_eq!(cluster.fault_hits(fault), 1, "{protocol:?} {code:?}");
    }
}

/// What is for ever about a member ends in its time.
#[tokio::test(start_paused = true)]
async fn asking_for_committed_offsets_ends_in_its_time() {
    let cluster = ten().await;
    let mut member = Member::join(&cluster, CONSUMER, &[]).await;
    member.until(|member| member.offsets.len() == 10).await;
    let stale = Reaction::Error(ErrorCode::StaleMemberEpoch);
    cluster.inject(Fault::new(Match::api(ApiKey::OffsetFetch), stale));
    let error =
        within_deadline(member.consumer.committed(vec![("t".into(), 0)], ms(300))).await.expect_err("never");
    assert_eq!((error.kind(), error.code()), (Kind::Timeout, Some(ErrorCode::StaleMemberEpoch)), "{error}");
}

/// Its request was refused as a member's, and it is none any more.
#[tokio::test(start_paused = true)]
async fn who_unsubscribes_while_it_asks_for_committed_offsets_gets_them() {
    for code in [ErrorCode::StaleMemberEpoch, ErrorCode::UnknownMemberId] {
        let cluster = ten().await;
        let mut member = Member::join(&cluster, CONSUMER, &[]).await;
        member.until(|member| member.offsets.len() == 10).await;
        within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect("a member");
        cluster.inject(Fault::once(Match::api(ApiKey::OffsetFetch), Reaction::Delay(ms(100))));
        let fault = refuse(&cluster, ApiKey::OffsetFetch, code);
        let unsubscribe = async {
            tokio::time::sleep(ms(50)).await;
            member.consumer.unsubscribe().expect("subscribed");
        };
        let asked = member.consumer.committed(vec![("t".into(), 0)], CALL_TIMEOUT);
        let (found, ()) = within_deadline(async { tokio::join!(asked, unsubscribe) }).await;
        let found = found.unwrap_or_else(|error| panic!("{code:?}: {error}"));
        assert_eq!(found[&("t".into(), 0)].as_ref().map(|committed| committed.offset), Some(10));
        assert_eq!(cluster.fault_hits(fault), 1);
    }
}

/// What only the application can mend reaches it, and is not tried again by itself.
#[tokio::test(start_paused = true)]
async fn what_is_fatal_reaches_the_application() {
    use ErrorCode as E;
    for protocol in [CLASSIC, CONSUMER] {
        for (code, kind) in
            [(E::FencedInstanceId, Kind::Fenced), (E::GroupAuthorizationFailed, Kind::Authorization)]
        {
            let cluster = ten().await;
            let mut member = Member::join(&cluster, protocol, &[("group.instance.id", "i")]).await;
            member.until(|member| member.offsets.len() == 10).await;
            cluster.inject(Fault::new(Match::api(heartbeat(protocol)), Reaction::Error(code)));
            let error = member.until_it_fails().await;
            assert_eq!((error.kind(), error.code()), (kind, Some(code)), "{protocol:?}: {error}");
            let again = member.until_it_fails().await;
            assert_eq!(again.code(), Some(code), "{protocol:?}: each poll says it again");
        }
        for code in [E::FencedInstanceId, E::GroupAuthorizationFailed, E::TopicAuthorizationFailed] {
            let cluster = ten().await;
            let mut member = Member::join(&cluster, protocol, &[]).await;
            member.until(|member| member.offsets.len() == 10).await;
            refuse(&cluster, ApiKey::OffsetCommit, code);
            let error =
                within_deadline(member.consumer.commit(None, CALL_TIMEOUT)).await.expect_err("refused");
            assert_eq!(error.code(), Some(code), "{protocol:?}: {error}");
            assert_eq!(cluster.request_count(None, ApiKey::OffsetCommit), 1, "{protocol:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_over_its_quota_waits_as_told_and_tries_again() {
    let cluster = ten().await;
    let client = client(&cluster, &[]).await;
    let fault = refuse(&cluster, ApiKey::CreateTopics, ErrorCode::ThrottlingQuotaExceeded);
    let topic = NewTopic { name: "u".into(), partitions: None, replication: None, configs: Vec::new() };
    within_deadline(client.create_topics(&[topic], CALL_TIMEOUT)).await.expect("made");
    assert_eq!((cluster.fault_hits(fault), cluster.request_count(None, ApiKey::CreateTopics)), (1, 2));
}

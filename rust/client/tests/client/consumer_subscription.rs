//! Proves: a subscription takes effect in the next poll, as in Java's consumer. Until then no broker learns
//! of the group, so that nobody waits for a member that is not polled; errors in the subscription are
//! returned at once.

use std::collections::HashMap;

use crate::support::*;
use ottla_client::consumer::group::Subscription;
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::{Error, Kind, TopicPartition};
use ottla_mock::MockCluster;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

const PROTOCOLS: [&[(&str, &str)]; 2] =
    [&[("heartbeat.interval.ms", "50")], &[("group.protocol", "consumer")]];
const OF_GROUPS: [ApiKey; 7] = [
    ApiKey::FindCoordinator,
    ApiKey::JoinGroup,
    ApiKey::SyncGroup,
    ApiKey::Heartbeat,
    ApiKey::LeaveGroup,
    ApiKey::ConsumerGroupHeartbeat,
    ApiKey::OffsetCommit,
];

fn tp(partition: i32) -> TopicPartition {
    ("t".into(), partition)
}

fn topics() -> Subscription {
    Subscription::Topics(vec!["t".into()])
}

fn at(offset: i64) -> HashMap<TopicPartition, CommittedOffset> {
    HashMap::from([(tp(0), CommittedOffset { offset, ..CommittedOffset::default() })])
}

/// The number of group requests that brokers received.
fn group_requests(cluster: &MockCluster) -> u64 {
    OF_GROUPS.iter().map(|api| cluster.request_count(None, *api)).sum()
}

async fn consumer(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Consumer {
    let base = [("group.id", "g"), ("auto.offset.reset", "earliest")];
    let pairs: Vec<_> = base.iter().chain(pairs).copied().collect();
    Consumer::new(client(cluster, &pairs).await)
}

/// One poll, with everything that an application does for it.
async fn poll(consumer: &Consumer, wait: Duration) -> Result<(), Error> {
    if let PollOutcome::Rebalance(change) = consumer.wait_until_ready(Instant::now() + wait).await? {
        consumer.prepare_rebalance(&change).await;
        consumer.complete_rebalance(&change)?;
    }
    Ok(())
}

async fn until_polled(consumers: &[&Consumer], mut done: impl FnMut() -> bool) {
    within_deadline(async {
        while !done() {
            for consumer in consumers {
                poll(consumer, ms(10)).await.expect("polled");
            }
        }
    })
    .await;
}

async fn close(consumer: Consumer) {
    consumer.begin_close(CALL_TIMEOUT).await;
    while let Some(change) = consumer.next_closing_event() {
        consumer.prepare_rebalance(&change).await;
        consumer.complete_rebalance(&change).expect("revoked");
    }
    within_deadline(consumer.end_close(CALL_TIMEOUT)).await.expect("left");
}

/// The group gives its partitions up in later polls, which must not take those that the application assigns.
#[tokio::test(start_paused = true)]
async fn partitions_assigned_after_an_unsubscription_stay_when_the_group_revokes_its_own() {
    for protocol in PROTOCOLS {
        let cluster = cluster(2).await;
        let consumer = consumer(&cluster, protocol).await;
        consumer.subscribe(topics()).expect("subscribed");
        until_polled(&[&consumer], || consumer.assignment().len() == 2).await;
        consumer.unsubscribe().expect("unsubscribed");
        consumer.assign(vec![tp(1)]).expect("assigned");
        until_polled(&[&consumer], || cluster.members("g").is_empty()).await;
        for _ in 0..3 {
            poll(&consumer, ms(10)).await.expect("polled");
        }
        assert_eq!(consumer.assignment(), [tp(1)], "{protocol:?}");
        close(consumer).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_never_polled_delays_nobody() {
    for protocol in PROTOCOLS {
        let cluster = cluster(2).await;
        let idle = consumer(&cluster, protocol).await;
        idle.subscribe(topics()).expect("subscribed");
        assert_eq!(group_requests(&cluster), 0, "{protocol:?}");
        let busy = consumer(&cluster, protocol).await;
        busy.subscribe(topics()).expect("subscribed");
        until_polled(&[&busy], || busy.assignment().len() == 2).await;
        assert_eq!(cluster.members("g").len(), 1, "{protocol:?}");
        // The first poll joins, even one without a wait, and even if no other follows soon.
        poll(&idle, Duration::ZERO).await.expect("polled");
        until(|| cluster.members("g").len() == 2).await;
        until_polled(&[&busy, &idle], || busy.assignment().len() == 1 && idle.assignment().len() == 1).await;
        close(idle).await;
        until_polled(&[&busy], || busy.assignment().len() == 2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_consumer_closed_before_its_first_poll_leaves_no_trace() {
    for protocol in PROTOCOLS {
        let cluster = cluster(1).await;
        let closed = consumer(&cluster, protocol).await;
        closed.subscribe(topics()).expect("subscribed");
        close(closed).await;
        let other = consumer(&cluster, protocol).await;
        other.subscribe(topics()).expect("subscribed");
        other.unsubscribe().expect("open");
        assert_eq!(poll(&other, ms(50)).await.expect_err("nothing to poll").kind(), Kind::State);
        other.assign(vec![tp(0)]).expect("nothing is subscribed to any more");
        poll(&other, Duration::ZERO).await.expect("polled");
        assert_eq!(group_requests(&cluster) - cluster.request_count(None, ApiKey::FindCoordinator), 0);
        assert!(cluster.group("g").is_none(), "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn before_the_first_poll_it_is_not_a_member() {
    for protocol in PROTOCOLS {
        let cluster = cluster(1).await;
        cluster.commit("g", "t", 0, 7);
        let pairs: Vec<_> = protocol.iter().copied().chain([("group.instance.id", "i")]).collect();
        let consumer = consumer(&cluster, &pairs).await;
        let before = consumer.group_metadata().expect("a group");
        assert!(before.member_id.is_empty(), "what it commits before is not a member's");
        let own = consumer.member_id();
        consumer.subscribe(topics()).expect("subscribed");
        let member = consumer.group_metadata().expect("a group");
        assert_eq!(own, member.member_id, "it is chosen at the beginning, or not yet known");
        assert_eq!((&*member.group_id, member.generation), ("g", -1));
        // KIP-848 members choose their ids themselves.
        assert_eq!(member.member_id.is_empty(), protocol == PROTOCOLS[0]);
        assert_eq!(member.instance_id.as_deref(), Some("i"));
        // Nothing was delivered: there is nothing to commit, and no request is sent.
        within_deadline(consumer.commit(None, CALL_TIMEOUT)).await.expect("nothing to do");
        let error = within_deadline(consumer.commit(Some(at(9)), CALL_TIMEOUT)).await.expect_err("no member");
        assert_eq!(error.code(), Some(ErrorCode::UnknownMemberId), "{error}");
        assert!(error.to_string().contains("poll to join"), "{error}");
        assert_eq!(cluster.request_count(None, ApiKey::OffsetCommit), 0);
        let error = within_deadline(consumer.position(&tp(0), CALL_TIMEOUT)).await.expect_err("not assigned");
        assert_eq!(error.kind(), Kind::State, "{error}");
        let committed = within_deadline(consumer.committed(vec![tp(0)], CALL_TIMEOUT)).await.expect("known");
        assert_eq!(committed[&tp(0)].as_ref().map(|committed| committed.offset), Some(7));
        assert!(cluster.members("g").is_empty());
        until_polled(&[&consumer], || consumer.assignment().len() == 1).await;
        if protocol == PROTOCOLS[1] {
            let joined = consumer.group_metadata().expect("a group");
            assert_eq!(joined.member_id, member.member_id, "the id stays");
        }
        within_deadline(consumer.commit(Some(at(9)), CALL_TIMEOUT)).await.expect("a member by now");
        assert_eq!(cluster.committed("g", "t", 0).map(|committed| committed.offset), Some(9));
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_subscription_takes_effect_in_the_next_poll() {
    for protocol in PROTOCOLS {
        let cluster = cluster(1).await;
        cluster.create_topic(ottla_mock::TopicSpec::new("u").partitions(2)).unwrap();
        let consumer = consumer(&cluster, protocol).await;
        // The group gets only the last one.
        consumer.subscribe(Subscription::Topics(vec!["nowhere".into()])).expect("subscribed");
        consumer.subscribe(topics()).expect("subscribed");
        until_polled(&[&consumer], || consumer.assignment() == [tp(0)]).await;
        let u = |partition| -> TopicPartition { ("u".into(), partition) };
        consumer.subscribe(Subscription::Topics(vec!["u".into()])).expect("subscribed");
        until_polled(&[&consumer], || consumer.assignment() == [u(0), u(1)]).await;
        // A poll in progress applies it, too.
        let again = async {
            tokio::time::sleep(ms(50)).await;
            consumer.subscribe(topics()).expect("subscribed");
        };
        let (polled, ()) = tokio::join!(poll(&consumer, CALL_TIMEOUT), again);
        polled.expect("a change");
        until_polled(&[&consumer], || consumer.assignment() == [tp(0)]).await;
        // Unsubscribed and subscribed again, without a poll in between.
        consumer.unsubscribe().expect("open");
        consumer.subscribe(Subscription::Topics(vec!["u".into()])).expect("subscribed");
        until_polled(&[&consumer], || consumer.assignment() == [u(0), u(1)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_subscription_fails_at_once() {
    let cluster = cluster(1).await;
    let slow = [("heartbeat.interval.ms", "9000"), ("session.timeout.ms", "8000")];
    let wrong = consumer(&cluster, &slow).await;
    assert_eq!(wrong.subscribe(topics()).expect_err("too seldom").kind(), Kind::Config);
    let classic = consumer(&cluster, &[]).await;
    let regex = Subscription::Regex("t.*".to_owned());
    assert_eq!(classic.subscribe(regex).expect_err("classic").kind(), Kind::Config);
    assert_eq!(poll(&classic, ms(10)).await.expect_err("nothing to poll").kind(), Kind::State);
    classic.assign(vec![tp(0)]).expect("the rejected subscription has no effect");
}

//! Proves: members of a classic group share partitions with each assignor, including custom ones; with
//! cooperative ones they keep reading the partitions that stay; an assignor's error reaches the
//! application.

use std::sync::Arc;

use crate::support::*;
use bytes::Bytes;
use ottla_client::consumer::assignor::{
    Assignor, GroupAssignment, LastAssignment, MemberAssignment, MemberSubscription, Topics,
};
use ottla_client::consumer::group::{RebalanceEvent, Subscription};
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_client::{Error, Kind, TopicPartition};
use ottla_mock::MockCluster;
use parking_lot::Mutex;
use tokio::time::Instant;

async fn join(cluster: &MockCluster, pairs: &[(&str, &str)], custom: Vec<Arc<dyn Assignor>>) -> Consumer {
    let base = [("group.id", "g"), ("session.timeout.ms", "5000"), ("heartbeat.interval.ms", "50")];
    let pairs: Vec<_> = base.iter().chain(pairs).copied().collect();
    let consumer = Consumer::new(client(cluster, &pairs).await).with_assignors(custom);
    consumer.subscribe(Subscription::Topics(vec!["t".into()])).expect("subscribed");
    consumer
}

/// One poll; returns the partitions that it revoked.
async fn poll(consumer: &Consumer) -> Result<Vec<TopicPartition>, Error> {
    let PollOutcome::Rebalance(change) = consumer.wait_until_ready(Instant::now() + ms(20)).await? else {
        return Ok(Vec::new());
    };
    consumer.prepare_rebalance(&change).await;
    consumer.complete_rebalance(&change)?;
    match change {
        RebalanceEvent::Revoke(revoked) | RebalanceEvent::Lost(revoked) => Ok(revoked),
        _ => Ok(Vec::new()),
    }
}

/// Polls until the consumers own the given numbers of partitions; returns those revoked from the first one.
async fn settle(consumers: &[&Consumer], counts: &[usize]) -> Vec<TopicPartition> {
    let mut revoked = Vec::new();
    within_deadline(async {
        while consumers.iter().map(|consumer| consumer.assignment().len()).ne(counts.iter().copied()) {
            for (at, consumer) in consumers.iter().enumerate() {
                let newly_revoked = poll(consumer).await.expect("a poll");
                if at == 0 {
                    revoked.extend(newly_revoked);
                }
            }
        }
    })
    .await;
    revoked
}

#[tokio::test(start_paused = true)]
async fn members_share_by_each_assignor() {
    for (name, cooperative) in
        [("range", false), ("roundrobin", false), ("sticky", false), ("cooperative-sticky", true)]
    {
        let cluster = cluster(6).await;
        let pairs = [("partition.assignment.strategy", name)];
        let first = join(&cluster, &pairs, vec![]).await;
        assert!(settle(&[&first], &[6]).await.is_empty());
        let before = first.assignment();
        let second = join(&cluster, &pairs, vec![]).await;
        let revoked = settle(&[&first, &second], &[3, 3]).await;
        assert_eq!(revoked.len(), if cooperative { 3 } else { 6 }, "{name}");
        if name.contains("sticky") {
            assert!(first.assignment().iter().all(|kept| before.contains(kept)), "{name}");
        }
        assert_eq!(cluster.group("g").unwrap().protocol.as_deref(), Some(name));
    }
}

/// Assigns the even partitions to the member that asks for them in its user data, the odd ones to the
/// other.
#[derive(Debug)]
struct EvenAndOdd {
    user_data: &'static [u8],
    assignments: Mutex<Vec<(Vec<TopicPartition>, i32)>>,
}

impl EvenAndOdd {
    fn new(user_data: &'static [u8]) -> Arc<Self> {
        Arc::new(Self { user_data, assignments: Mutex::default() })
    }
}

impl Assignor for EvenAndOdd {
    fn name(&self) -> &'static str {
        "even-and-odd"
    }

    fn user_data(&self, topics: &[Arc<str>], _: &LastAssignment) -> Option<Bytes> {
        assert_eq!(topics, [Arc::from("t")]);
        Some(Bytes::from_static(self.user_data))
    }

    fn on_assignment(&self, assignment: &MemberAssignment, generation: i32) {
        self.assignments.lock().push((assignment.partitions.clone(), generation));
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment, Error> {
        if members.iter().any(|member| member.user_data.as_deref() == Some(b"fail")) {
            return Err(Error::new(Kind::Config, "no way to divide this"));
        }
        let assigned = members.iter().map(|member| {
            let even = member.user_data.as_deref() == Some(b"even");
            let all = topics["t"].iter().map(|info| (Arc::from("t"), info.partition));
            let partitions = all.filter(|(_, partition)| (partition % 2 == 0) == even).collect();
            (Arc::clone(&member.member_id), MemberAssignment { partitions, user_data: None })
        });
        Ok(assigned.collect())
    }
}

#[tokio::test(start_paused = true)]
async fn a_custom_assignor_is_called() {
    let cluster = cluster(5).await;
    let (even, odd) = (EvenAndOdd::new(b"even"), EvenAndOdd::new(b"odd"));
    let first = join(&cluster, &[], vec![Arc::clone(&even) as Arc<dyn Assignor>]).await;
    settle(&[&first], &[3]).await;
    let second = join(&cluster, &[], vec![Arc::clone(&odd) as Arc<dyn Assignor>]).await;
    settle(&[&first, &second], &[3, 2]).await;
    assert_eq!(second.assignment(), [("t".into(), 1), ("t".into(), 3)]);
    until(|| !odd.assignments.lock().is_empty()).await;
    let (partitions, generation) = odd.assignments.lock()[0].clone();
    assert_eq!((partitions, generation), (second.assignment(), 2));
}

#[tokio::test(start_paused = true)]
async fn an_assignors_error_reaches_the_application() {
    let cluster = cluster(2).await;
    let consumer = join(&cluster, &[], vec![EvenAndOdd::new(b"fail")]).await;
    let error = within_deadline(async {
        loop {
            if let Err(error) = poll(&consumer).await {
                return error;
            }
        }
    })
    .await;
    assert_eq!(error.kind(), Kind::Config);
    assert!(error.message().ends_with("no way to divide this"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn invalid_assignors_are_rejected() {
    let cluster = cluster(1).await;
    let error_of = async |pairs: &[(&str, &str)], custom| {
        let consumer = Consumer::new(client(&cluster, pairs).await).with_assignors(custom);
        let error = consumer.subscribe(Subscription::Topics(vec!["t".into()])).unwrap_err();
        assert_eq!(error.kind(), Kind::Config);
        error.message().to_owned()
    };
    let two: Vec<Arc<dyn Assignor>> = vec![EvenAndOdd::new(b""), EvenAndOdd::new(b"")];
    assert!(error_of(&[("group.id", "g")], two).await.contains("used twice"));
    let new = [("group.id", "g"), ("group.protocol", "consumer")];
    assert!(error_of(&new, vec![EvenAndOdd::new(b"")]).await.contains("the brokers assign"));
}

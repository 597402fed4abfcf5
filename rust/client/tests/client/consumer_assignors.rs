//! Proves: members of a classic group share partitions by each assignor, a program's own included;
//! with cooperative ones they go on reading what stays theirs; what an assignor fails with reaches
//! the program.

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

async fn join(cluster: &MockCluster, pairs: &[(&str, &str)], own: Vec<Arc<dyn Assignor>>) -> Consumer {
    let base = [("group.id", "g"), ("session.timeout.ms", "5000"), ("heartbeat.interval.ms", "50")];
    let pairs: Vec<_> = base.iter().chain(pairs).copied().collect();
    let consumer = Consumer::new(client(cluster, &pairs).await).with_assignors(own);
    consumer.subscribe(Subscription::Topics(vec!["t".into()])).expect("subscribed");
    consumer
}

/// One poll; the partitions that were taken away in it.
async fn poll(consumer: &Consumer) -> Result<Vec<TopicPartition>, Error> {
    let PollOutcome::Rebalance(change) = consumer.poll(Instant::now() + ms(20)).await? else {
        return Ok(Vec::new());
    };
    consumer.prepare_rebalance(&change).await;
    consumer.complete_rebalance(&change)?;
    match change {
        RebalanceEvent::Revoke(gone) | RebalanceEvent::Lost(gone) => Ok(gone),
        _ => Ok(Vec::new()),
    }
}

/// Polls until the consumers have so many partitions each; what was taken from the first one.
async fn settle(consumers: &[&Consumer], counts: &[usize]) -> Vec<TopicPartition> {
    let mut gone = Vec::new();
    soon(async {
        while consumers.iter().map(|consumer| consumer.assignment().len()).ne(counts.iter().copied()) {
            for (at, consumer) in consumers.iter().enumerate() {
                let taken = poll(consumer).await.expect("a poll");
                if at == 0 {
                    gone.extend(taken);
                }
            }
        }
    })
    .await;
    gone
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
        let gone = settle(&[&first, &second], &[3, 3]).await;
        assert_eq!(gone.len(), if cooperative { 3 } else { 6 }, "{name}");
        if name.contains("sticky") {
            assert!(first.assignment().iter().all(|kept| before.contains(kept)), "{name}");
        }
        assert_eq!(cluster.group("g").unwrap().protocol.as_deref(), Some(name));
    }
}

/// Gives the even partitions to the member that has told so in its user data, the odd ones to the
/// other.
#[derive(Debug)]
struct EvenAndOdd {
    says: &'static [u8],
    told: Mutex<Vec<(Vec<TopicPartition>, i32)>>,
}

impl EvenAndOdd {
    fn new(says: &'static [u8]) -> Arc<Self> {
        Arc::new(Self { says, told: Mutex::default() })
    }
}

impl Assignor for EvenAndOdd {
    fn name(&self) -> &'static str {
        "even-and-odd"
    }

    fn user_data(&self, topics: &[Arc<str>], _: &LastAssignment) -> Option<Bytes> {
        assert_eq!(topics, [Arc::from("t")]);
        Some(Bytes::from_static(self.says))
    }

    fn on_assignment(&self, assignment: &MemberAssignment, generation: i32) {
        self.told.lock().push((assignment.partitions.clone(), generation));
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment, Error> {
        if members.iter().any(|member| member.user_data.as_deref() == Some(b"fail")) {
            return Err(Error::new(Kind::Config, "no way to divide this"));
        }
        let given = members.iter().map(|member| {
            let even = member.user_data.as_deref() == Some(b"even");
            let all = topics["t"].iter().map(|info| (Arc::from("t"), info.partition));
            let partitions = all.filter(|(_, partition)| (partition % 2 == 0) == even).collect();
            (Arc::clone(&member.member_id), MemberAssignment { partitions, user_data: None })
        });
        Ok(given.collect())
    }
}

#[tokio::test(start_paused = true)]
async fn a_programs_own_assignor_is_asked() {
    let cluster = cluster(5).await;
    let (even, odd) = (EvenAndOdd::new(b"even"), EvenAndOdd::new(b"odd"));
    let first = join(&cluster, &[], vec![Arc::clone(&even) as Arc<dyn Assignor>]).await;
    settle(&[&first], &[3]).await;
    let second = join(&cluster, &[], vec![Arc::clone(&odd) as Arc<dyn Assignor>]).await;
    settle(&[&first, &second], &[3, 2]).await;
    assert_eq!(second.assignment(), [("t".into(), 1), ("t".into(), 3)]);
    until(|| !odd.told.lock().is_empty()).await;
    let (partitions, generation) = odd.told.lock()[0].clone();
    assert_eq!((partitions, generation), (second.assignment(), 2));
}

#[tokio::test(start_paused = true)]
async fn what_an_assignor_fails_with_reaches_the_program() {
    let cluster = cluster(2).await;
    let consumer = join(&cluster, &[], vec![EvenAndOdd::new(b"fail")]).await;
    let error = soon(async {
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
async fn assignors_that_cannot_be_offered_are_refused() {
    let cluster = cluster(1).await;
    let refused = async |pairs: &[(&str, &str)], own| {
        let consumer = Consumer::new(client(&cluster, pairs).await).with_assignors(own);
        let error = consumer.subscribe(Subscription::Topics(vec!["t".into()])).unwrap_err();
        assert_eq!(error.kind(), Kind::Config);
        error.message().to_owned()
    };
    let two: Vec<Arc<dyn Assignor>> = vec![EvenAndOdd::new(b""), EvenAndOdd::new(b"")];
    assert!(refused(&[("group.id", "g")], two).await.contains("used twice"));
    let new = [("group.id", "g"), ("group.protocol", "consumer")];
    assert!(refused(&new, vec![EvenAndOdd::new(b"")]).await.contains("the brokers assign"));
}

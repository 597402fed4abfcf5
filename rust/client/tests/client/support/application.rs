//! A group member on the mock, with an application that handles every rebalance event.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_client::consumer::group::{Group, GroupSettings, RebalanceEvent, Subscription};
use ottla_client::{Error, TopicPartition};
use ottla_mock::{GroupConfig, MockCluster, MockConfig, TopicSpec};

use crate::support::{client, in_memory, ms, within_deadline};

pub(crate) const CLASSIC: (&str, &str) = ("group.protocol", "classic");
pub(crate) const CONSUMER: (&str, &str) = ("group.protocol", "consumer");
pub(crate) const COOPERATIVE: (&str, &str) = ("partition.assignment.strategy", "cooperative-sticky");

/// A member and the partitions that its application owns.
pub(crate) struct TestMember {
    pub(crate) group: Group,
    pub(crate) owned: BTreeSet<TopicPartition>,
    pub(crate) lost: usize,
}

pub(crate) fn subscription(topics: &[&str]) -> Subscription {
    Subscription::Topics(topics.iter().map(|topic| (*topic).into()).collect())
}

pub(crate) async fn group(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Group {
    let mut all = vec![("group.id", "g"), ("partition.assignment.strategy", "range")];
    all.extend([("session.timeout.ms", "2000"), ("heartbeat.interval.ms", "50")]);
    if pairs.contains(&CONSUMER) {
        all.truncate(1);
    }
    all.extend(pairs);
    let client = client(cluster, &all).await;
    let settings = GroupSettings::try_from(client.config()).expect("settings");
    Group::start(client, settings)
}

impl TestMember {
    pub(crate) async fn join(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Self {
        Self::subscribe(cluster, pairs, subscription(&["t"])).await
    }

    pub(crate) async fn subscribe(
        cluster: &MockCluster,
        pairs: &[(&str, &str)],
        wanted: Subscription,
    ) -> Self {
        let group = group(cluster, pairs).await;
        group.subscribe(wanted).expect("subscribed");
        Self { group, owned: BTreeSet::new(), lost: 0 }
    }

    /// Handles one rebalance event.
    pub(crate) fn apply(&mut self, event: RebalanceEvent) {
        match event {
            RebalanceEvent::Revoke(partitions) => {
                for partition in &partitions {
                    assert!(self.owned.remove(partition), "{partition:?} was not owned");
                }
            }
            RebalanceEvent::Lost(partitions) => {
                self.lost += 1;
                for partition in &partitions {
                    assert!(self.owned.remove(partition), "{partition:?} was not owned");
                }
            }
            RebalanceEvent::Assign { added, all } => {
                self.owned.extend(added);
                assert_eq!(self.owned, all.into_iter().collect());
            }
            RebalanceEvent::Failed(error) => panic!("{error}"),
        }
        self.group.complete_event();
    }

    pub(crate) fn poll(&mut self) {
        let group = &self.group;
        group.record_poll();
        while let Some(event) = self.group.try_next_event() {
            self.apply(event);
        }
    }

    pub(crate) async fn failure(&self) -> Error {
        match within_deadline(self.group.next_event()).await {
            RebalanceEvent::Failed(error) => {
                self.group.complete_event();
                error
            }
            other => panic!("it has not failed: {other:?}"),
        }
    }
}

/// Polls all members until together they own `wanted`, evenly and without overlaps.
pub(crate) async fn await_assignment(members: &mut [&mut TestMember], wanted: &[(&str, i32)]) {
    let wanted: BTreeSet<TopicPartition> = wanted
        .iter()
        .flat_map(|(topic, partitions)| (0..*partitions).map(|index| (Arc::from(*topic), index)))
        .collect();
    let share = wanted.len() / members.len();
    within_deadline(async {
        loop {
            members.iter_mut().for_each(|member| member.poll());
            let owned: Vec<&TopicPartition> = members.iter().flat_map(|member| &member.owned).collect();
            let distinct: BTreeSet<TopicPartition> = owned.iter().map(|it| (*it).clone()).collect();
            let fair = members.iter().all(|member| member.owned.len() >= share);
            if owned.len() == distinct.len() && distinct == wanted && fair {
                return;
            }
            tokio::time::sleep(ms(5)).await;
        }
    })
    .await;
}

pub(crate) async fn group_cluster(groups: GroupConfig) -> MockCluster {
    let config = MockConfig { groups, ..in_memory() };
    let cluster = MockCluster::start(config).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(6)).expect("a topic");
    cluster
}

pub(crate) fn fast_heartbeats() -> GroupConfig {
    GroupConfig { consumer_heartbeat_interval: ms(30), ..GroupConfig::default() }
}

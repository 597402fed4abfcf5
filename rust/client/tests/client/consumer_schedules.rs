//! Proves, for random schedules of polls, seeks, pauses, assignments, commits, moving leaders and requests
//! that fail, are late or lost: each partition is delivered record by record from where the application
//! last positioned it, nothing stale, skipped or twice; paused partitions deliver nothing; a commit matches
//! the position. A failure prints its seed: `OTTLA_SEED=n cargo test -p ottla-client --test client
//! consumer_schedules::`.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::*;
use ottla_client::TopicPartition;
use ottla_client::consumer::{Consumer, PollOutcome};
use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

const SEEDS: u64 = 12;
const STEPS: usize = 250;
const PARTITIONS: i32 = 3;
const RECORDS: i64 = 60;

/// Error codes of a coordinator that has stored the commit already.
const LATE: [ErrorCode; 3] =
    [ErrorCode::NotCoordinator, ErrorCode::CoordinatorNotAvailable, ErrorCode::RequestTimedOut];

fn tp(partition: i32) -> TopicPartition {
    ("t".into(), partition)
}

fn fault(random: &mut fastrand::Rng) -> Fault {
    let apis = [ApiKey::Fetch, ApiKey::OffsetFetch, ApiKey::ListOffsets, ApiKey::OffsetCommit];
    let api = apis[random.usize(..apis.len())];
    let on = Match::api(api).skip(random.u64(..3));
    let then = match random.u8(..9) {
        // The commit is stored, and the coordinator reports all the same that it is not, or not yet.
        7 | 8 if api == ApiKey::OffsetCommit => {
            Reaction::ErrorAfterHandling(LATE[random.usize(..LATE.len())])
        }
        0 if api == ApiKey::Fetch => Reaction::Error(ErrorCode::NotLeaderOrFollower),
        1 if api == ApiKey::Fetch => Reaction::Error(ErrorCode::FetchSessionIdNotFound),
        0 | 1 => Reaction::Error(ErrorCode::UnknownTopicOrPartition),
        2 => Reaction::Disconnect(When::BeforeHandling),
        3 => Reaction::Disconnect(When::AfterHandling),
        _ => Reaction::Delay(ms(random.u64(1..60))),
    };
    Fault::once(on, then)
}

/// A consumer, and what its application may expect of it.
struct Model {
    consumer: Consumer,
    cluster: MockCluster,
    random: fastrand::Rng,
    /// The next offset of each assigned partition.
    next: BTreeMap<i32, i64>,
    paused: BTreeSet<i32>,
    log: Vec<String>,
}

impl Model {
    async fn new(seed: u64) -> Self {
        let cluster = cluster(PARTITIONS).await;
        for partition in 0..PARTITIONS {
            for _ in 0..RECORDS / 3 {
                cluster.append("t", partition, &[b"v", b"v", b"v"]).unwrap();
            }
        }
        // Buffered records of paused partitions are dropped for others at once, or never have to be.
        let prefetch = if seed.is_multiple_of(2) { "1000" } else { "1000000" };
        let pairs = [
            ("prefetch.max.bytes", prefetch),
            ("group.id", "g"),
            ("auto.offset.reset", "earliest"),
            ("enable.auto.commit", "false"),
            ("fetch.max.wait.ms", "20"),
            // Some responses hold only a part of the log.
            ("max.partition.fetch.bytes", "300"),
        ];
        let consumer = Consumer::new(client(&cluster, &pairs).await);
        let random = fastrand::Rng::with_seed(seed);
        let mut model = Self {
            consumer,
            cluster,
            random,
            next: BTreeMap::new(),
            paused: BTreeSet::new(),
            log: Vec::new(),
        };
        model.assign(vec![0, 1, 2]);
        model
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }

    /// The position of a partition that was not assigned before.
    fn start_offset(&self, partition: i32) -> i64 {
        self.cluster.committed("g", "t", partition).map_or(0, |committed| committed.offset)
    }

    fn assign(&mut self, partitions: Vec<i32>) {
        self.note(format!("assign {partitions:?}"));
        self.consumer.assign(partitions.iter().map(|p| tp(*p)).collect()).expect("assigned");
        let before = std::mem::take(&mut self.next);
        for partition in partitions {
            let next = before.get(&partition).copied().unwrap_or_else(|| self.start_offset(partition));
            self.next.insert(partition, next);
        }
        self.paused.retain(|partition| before.contains_key(partition) && self.next.contains_key(partition));
    }

    fn some(&mut self) -> Option<i32> {
        let all: Vec<i32> = self.next.keys().copied().collect();
        (!all.is_empty()).then(|| all[self.random.usize(..all.len())])
    }

    /// One poll; sometimes only a part of the collected records is delivered.
    async fn poll(&mut self, wait: Duration) {
        let polled = self.consumer.wait_until_ready(Instant::now() + wait).await;
        if !matches!(polled.unwrap_or_else(|error| panic!("{error}: {:?}", self.log)), PollOutcome::Ready) {
            return;
        }
        let drop_rest = self.random.u8(..6) == 0;
        for set in self.consumer.take_records(self.random.usize(1..20)) {
            if drop_rest && self.random.bool() {
                self.consumer.discard_undelivered();
                self.note("gave back".to_owned());
                return;
            }
            let partition = set.partition.1;
            assert!(!self.paused.contains(&partition), "{partition} is paused: {:?}", self.log);
            for entry in &set.entries {
                let next = self.next.get_mut(&partition).expect("assigned");
                assert_eq!(entry.offset, *next, "partition {partition}: {:?}", self.log);
                *next += 1;
            }
            self.consumer.mark_delivered(&set.partition, set.version(), set.next, set.leader_epoch);
        }
    }

    async fn step(&mut self) {
        match self.random.u8(..20) {
            0 | 1 => {
                let Some(partition) = self.some() else { return };
                let to = self.random.i64(0..RECORDS);
                self.note(format!("seek {partition} to {to}"));
                self.consumer.seek(&tp(partition), to, None).expect("assigned");
                self.next.insert(partition, to);
            }
            2 => {
                let Some(partition) = self.some() else { return };
                self.note(format!("seek {partition} to the beginning"));
                let spec = ottla_client::OffsetSpec::Earliest;
                self.consumer.seek_to(&[tp(partition)], spec).expect("assigned");
                self.next.insert(partition, 0);
            }
            3 | 4 => {
                let Some(partition) = self.some() else { return };
                let pause = !self.paused.remove(&partition);
                if pause {
                    self.paused.insert(partition);
                }
                self.note(format!("pause {partition}: {pause}"));
                self.consumer.pause(&[tp(partition)], pause).expect("assigned");
            }
            5 => {
                let keeps: Vec<i32> = (0..PARTITIONS).filter(|_| self.random.u8(..3) > 0).collect();
                self.assign(keeps);
            }
            6 => {
                let (partition, to) = (self.random.i32(0..PARTITIONS), self.random.i32(1..=3));
                self.note(format!("leader of {partition} to {to}"));
                self.cluster.move_leader("t", partition, to).expect("moved");
            }
            7 | 8 => {
                let fault = fault(&mut self.random);
                self.note(format!("{fault:?}"));
                self.cluster.inject(fault);
            }
            9 => {
                self.note("commit".to_owned());
                // Partitions without a position are left out.
                let positions = self.consumer.positions();
                within_deadline(self.consumer.commit(Some(positions.clone()), CALL_TIMEOUT))
                    .await
                    .expect("committed");
                for ((_, partition), position) in positions {
                    assert_eq!(position.offset, self.next[&partition], "{partition}: {:?}", self.log);
                    assert_eq!(self.start_offset(partition), position.offset, "{partition}: {:?}", self.log);
                }
            }
            _ => {
                let wait = ms(self.random.u64(..20));
                self.poll(wait).await;
            }
        }
    }

    /// Without further faults, every partition is delivered to its end.
    async fn finish(mut self) {
        self.cluster.clear_faults();
        let assigned: Vec<_> = self.next.keys().map(|partition| tp(*partition)).collect();
        self.consumer.pause(&assigned, false).expect("assigned");
        self.paused.clear();
        self.assign(vec![0, 1, 2]);
        within_deadline(async {
            while self.next.values().any(|next| *next < RECORDS) {
                self.poll(ms(50)).await;
            }
        })
        .await;
        within_deadline(self.consumer.commit(None, CALL_TIMEOUT)).await.expect("committed");
        assert!((0..PARTITIONS).all(|partition| self.start_offset(partition) == RECORDS));
    }
}

#[tokio::test(start_paused = true)]
async fn each_partition_is_read_record_by_record_under_any_schedule() {
    every_seed(SEEDS, async |seed| {
        let mut model = Model::new(seed).await;
        for _ in 0..STEPS {
            model.step().await;
        }
        model.finish().await;
    })
    .await;
}

//! Proves, for random schedules of members of a share group that join, leave, die and are slow, that accept,
//! release, reject and renew records, and of locks that expire, leaders and coordinators that move, brokers
//! that restart, and requests that fail or lose their responses: no record is finished twice without a reason
//! that the application can see, delivery counts do not fall, each acknowledgement has a result, and in the
//! end every record is finished. A failure prints its seed: `OTTLA_SEED=n cargo test -p ottla-client --test
//! client share_schedules::`.

use std::collections::BTreeSet;

use ottla_client::Kind;
use ottla_client::consumer::share::{AcknowledgeType, ShareConsumer};
use ottla_mock::{FaultId, MockCluster, ShareGroupConfig};
use tokio::time::{Duration, Instant};

use crate::support::share::*;
use crate::support::share_ledger::Ledger;
use crate::support::share_requests::fault;
use crate::support::*;

const SEEDS: u64 = 12;
const STEPS: usize = 150;
const MEMBERS: usize = 4;
const PARTITIONS: i32 = 3;
const LOCK: Duration = Duration::from_secs(2);

/// A member and its application.
struct Member {
    id: usize,
    consumer: ShareConsumer,
    is_explicit: bool,
    /// What the application holds, without an acknowledgement.
    held: BTreeSet<(i32, i64)>,
    /// When the consumer last had no buffered records: what it delivers now was acquired later.
    drained_at: Instant,
}

struct Model {
    cluster: MockCluster,
    random: fastrand::Rng,
    ledger: Ledger,
    members: Vec<Member>,
    next_member: usize,
    ends: Vec<i64>,
    faults: Vec<FaultId>,
    hits: u64,
    down: Option<i32>,
    /// Whether brokers and requests fail, too.
    is_stormy: bool,
}

impl Model {
    async fn new(seed: u64, is_stormy: bool) -> Self {
        let share = ShareGroupConfig {
            heartbeat_interval: ms(200),
            session_timeout: ms(1_500),
            record_lock_duration: LOCK,
            // No record is archived because it was delivered too often.
            delivery_count_limit: 1_000,
            partition_max_record_locks: 25,
            ..ShareGroupConfig::default()
        };
        let cluster = share_cluster_with(share, PARTITIONS).await;
        let mut model = Self {
            cluster,
            random: fastrand::Rng::with_seed(seed),
            ledger: Ledger::new(LOCK),
            members: Vec::new(),
            next_member: 0,
            ends: vec![0; usize::try_from(PARTITIONS).expect("a number")],
            faults: Vec::new(),
            hits: 0,
            down: None,
            is_stormy,
        };
        (0..30).for_each(|_| model.append());
        model.join().await;
        model
    }

    fn append(&mut self) {
        let (partition, count) = (self.random.i32(0..PARTITIONS), self.random.usize(1..4));
        let values = vec![b"v".as_slice(); count];
        self.cluster.append("t", partition, &values).expect("appended");
        self.ends[usize::try_from(partition).expect("a number")] += i64::try_from(count).expect("a number");
    }

    async fn join(&mut self) {
        let is_explicit = self.random.u8(..3) > 0;
        let pairs = [
            ("share.acknowledgement.mode", if is_explicit { "explicit" } else { "implicit" }),
            ("share.acquire.mode", ["batch_optimized", "record_limit"][self.random.usize(..2)]),
            ("max.poll.records", ["2", "10", "500"][self.random.usize(..3)]),
            ("fetch.max.wait.ms", "20"),
        ];
        let consumer = share_member(&self.cluster, &pairs).await;
        let (id, drained_at) = (self.next_member, Instant::now());
        self.next_member += 1;
        self.members.push(Member { id, consumer, is_explicit, held: BTreeSet::new(), drained_at });
    }

    fn take_results(&mut self, at: usize) {
        let member = &self.members[at];
        for result in member.consumer.take_results() {
            self.ledger.resolve(member.id, &result);
        }
    }

    /// Hits of faults, since the last call, may be the reason for what follows.
    fn note_hits(&mut self) {
        let hits = self.faults.iter().map(|fault| self.cluster.fault_hits(*fault)).sum();
        if hits != self.hits || self.down.is_some() {
            self.ledger.note_disturbance();
        }
        self.hits = hits;
    }

    /// The application acknowledges what it holds; some of it differently, or not at all.
    fn acknowledge(&mut self, at: usize) {
        use AcknowledgeType as A;
        let Member { id, consumer, held, .. } = &mut self.members[at];
        for record in std::mem::take(held) {
            let how =
                [A::Accept, A::Accept, A::Accept, A::Release, A::Reject, A::Renew][self.random.usize(..6)];
            consumer.acknowledge("t", record.0, record.1, how).expect("delivered");
            self.ledger.acknowledge(*id, record, how);
        }
    }

    /// What is held is accepted by the next poll or commit, in implicit mode.
    fn acknowledge_implicitly(&mut self, at: usize) {
        let member = &mut self.members[at];
        if !member.is_explicit {
            for record in std::mem::take(&mut member.held) {
                self.ledger.acknowledge(member.id, record, AcknowledgeType::Accept);
            }
        }
    }

    /// Polls; in explicit mode the application must have acknowledged everything.
    async fn poll(&mut self, at: usize, wait: Duration) {
        self.acknowledge_implicitly(at);
        let limit = if self.random.u8(..3) == 0 { self.random.usize(1..6) } else { usize::MAX };
        let polled = within_deadline(self.members[at].consumer.poll(wait, limit)).await;
        self.note_hits();
        self.take_results(at);
        let member = &mut self.members[at];
        match polled {
            Ok(records) => {
                for record in &records {
                    self.ledger.deliver(member.id, record, member.drained_at);
                    member.held.insert((record.partition.1, record.offset));
                }
                if records.len() < limit {
                    member.drained_at = Instant::now();
                }
            }
            Err(error) => {
                let is_corrupt = error.message().contains("unreadable records were released");
                assert!(self.is_stormy && is_corrupt, "{error}");
            }
        }
    }

    async fn commit(&mut self, at: usize) {
        self.acknowledge_implicitly(at);
        let committed = within_deadline(self.members[at].consumer.commit(CALL_TIMEOUT)).await.expect("open");
        self.note_hits();
        for error in committed.into_values().flatten() {
            // A broker may report a timeout of its own.
            assert!(error.code().is_some() || error.kind() != Kind::Timeout, "{error}");
        }
        self.take_results(at);
    }

    async fn leave(&mut self, at: usize) {
        if self.members[at].is_explicit && self.random.bool() {
            self.acknowledge(at);
        }
        // In implicit mode, closing releases what is held.
        let closed = within_deadline(self.members[at].consumer.close(CALL_TIMEOUT)).await;
        closed.expect("closed");
        self.note_hits();
        self.take_results(at);
        let member = self.members.swap_remove(at);
        self.ledger.remove_member(member.id, true);
    }

    async fn disturb(&mut self) {
        match self.random.u8(..8) {
            // A broker that is down cannot become the coordinator or a leader: then nothing happens.
            0 => drop(self.cluster.move_coordinator("g", self.random.i32(1..=3))),
            1 | 2 => {
                let partition = self.random.i32(0..PARTITIONS);
                drop(self.cluster.move_leader("t", partition, self.random.i32(1..=3)));
                self.ledger.note_move(partition);
            }
            3 => {
                match self.down.take() {
                    Some(broker) => self.cluster.start_broker(broker).await.expect("started"),
                    None => {
                        let broker = self.random.i32(1..=3);
                        self.cluster.stop_broker(broker).await.expect("stopped");
                        self.down = Some(broker);
                    }
                }
                (0..PARTITIONS).for_each(|partition| self.ledger.note_move(partition));
            }
            _ => {
                let fault = fault(&mut self.random, PARTITIONS);
                self.faults.push(self.cluster.inject(fault));
            }
        }
    }

    async fn step(&mut self) {
        let at = self.random.usize(..self.members.len());
        match self.random.u8(..40) {
            0 | 1 if self.members.len() < MEMBERS => self.join().await,
            2 if self.members.len() > 1 => self.leave(at).await,
            3 if self.members.len() > 1 => {
                // It dies: its connections close, and its session expires later.
                let dead = self.members.swap_remove(at);
                self.ledger.remove_member(dead.id, false);
            }
            4 => tokio::time::sleep(LOCK).await,
            5..8 => self.append(),
            8..12 => self.commit(at).await,
            12..16 if self.is_stormy => self.disturb().await,
            _ => {
                if self.members[at].is_explicit {
                    self.acknowledge(at);
                }
                let wait = ms(self.random.u64(..30));
                self.poll(at, wait).await;
            }
        }
        self.note_hits();
        (0..self.members.len()).for_each(|at| self.take_results(at));
        tokio::time::sleep(ms(self.random.u64(..15))).await;
    }

    /// Without further faults, every record is finished.
    async fn finish(mut self) -> (usize, usize) {
        self.cluster.clear_faults();
        (self.faults, self.hits) = (Vec::new(), 0);
        if let Some(broker) = self.down.take() {
            self.cluster.start_broker(broker).await.expect("started");
        }
        self.ledger.note_disturbance();
        within_deadline(async {
            while !is_finished(&self.cluster, PARTITIONS) {
                for at in 0..self.members.len() {
                    for record in std::mem::take(&mut self.members[at].held) {
                        let (consumer, id) = (&self.members[at].consumer, self.members[at].id);
                        if self.members[at].is_explicit {
                            consumer
                                .acknowledge("t", record.0, record.1, AcknowledgeType::Accept)
                                .expect("delivered");
                        }
                        self.ledger.acknowledge(id, record, AcknowledgeType::Accept);
                    }
                    self.poll(at, ms(20)).await;
                }
            }
        })
        .await;
        while !self.members.is_empty() {
            self.leave(0).await;
        }
        for (partition, end) in (0..).zip(&self.ends) {
            self.ledger.check_end(partition, *end);
        }
        self.ledger.counts()
    }
}

async fn with_every_seed(is_stormy: bool) {
    every_seed(SEEDS, async |seed| {
        let mut model = Model::new(seed, is_stormy).await;
        for _ in 0..STEPS {
            model.step().await;
        }
        let (deliveries, records) = model.finish().await;
        assert!(deliveries >= records && records > 50, "{deliveries} deliveries of {records} records");
    })
    .await;
}

/// Members come, go and are slow; locks expire; but no request fails.
#[tokio::test(start_paused = true)]
async fn members_share_records_under_any_schedule() {
    with_every_seed(false).await;
}

#[tokio::test(start_paused = true)]
async fn records_are_finished_once_whatever_fails() {
    with_every_seed(true).await;
}

//! Which partitions a fetch to each broker names now, and how long the broker may wait for new records.
//!
//! Invariants: each broker has at most one fetch in flight, because a fetch session orders its requests.
//! The bytes that a fetch may return are reserved before it is sent. No fetch waits for new records while
//! another partition of its broker is only left out because its buffer is full, or because it rests: that
//! partition would wait, too. A broker that has just returned nothing is not asked again without a pause.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::fetcher::{Asked, Done, Fetcher, Source};
use crate::config::Config;
use crate::consumer::fetch::request::{Limits, Position, fetch, min_interval};
use crate::consumer::subscription_state::Assignment;
use crate::metadata::Snapshot;
use crate::metadata::no_leader::no_leader;
use crate::tasks::panics::try_catch;

/// A fetch with less room than this is not worth a request, in bytes.
const MIN_ROOM: usize = 64 * 1024;

/// How often partitions without known new records are checked while another one's buffer is full.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// A fetch that was sent and not answered yet.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// The most bytes of records that it may return.
    pub(crate) reserved: usize,
    pub(crate) sent: Instant,
}

/// What a broker could be asked for now.
#[derive(Debug, Default)]
struct Candidates {
    /// With the number of each partition's last turn: those that waited longest go first.
    partitions: Vec<(u64, Asked)>,
    /// Whether one of them may have records now.
    may_have_more: bool,
    /// Whether a partition is left out because its buffer is full.
    left_out: bool,
    /// When the first partition that rests may be fetched.
    resumes: Option<Instant>,
}

impl Candidates {
    /// How long the broker may wait for new records; `None` if it is not worth asking now.
    fn max_wait(&self, source: &Source, configured: Duration, now: Instant) -> Option<Duration> {
        if self.partitions.is_empty() {
            return None;
        }
        if self.left_out {
            let due = self.may_have_more || source.check_at.is_none_or(|at| at <= now);
            return due.then_some(Duration::ZERO);
        }
        let resumes = self.resumes.map_or(configured, |at| at.saturating_duration_since(now));
        Some(resumes.min(configured))
    }
}

impl Source {
    /// Whether a fetch may be sent to the broker now.
    fn is_free(&self, now: Instant) -> bool {
        self.in_flight.is_none() && self.not_before.is_none_or(|due| due <= now)
    }

    /// Notes a response without records: the broker rests, unless it has waited for some.
    pub(crate) fn returned_nothing(&mut self, sent: Instant, configured: Duration) {
        self.not_before = Some(sent + min_interval(configured));
    }
}

/// How long the broker may hold back a response while partitions are checked, as the application allows.
fn check_interval(config: &Config) -> Duration {
    if config.fetch_min_bytes > 1 { config.fetch_max_wait.max(CHECK_INTERVAL) } else { CHECK_INTERVAL }
}

impl Fetcher {
    /// Sends a fetch to each broker that has none in flight and something to read.
    pub(crate) fn send_fetches(&mut self, snapshot: &Snapshot, now: Instant) {
        let shared = self.shared.clone();
        let config = shared.client.config();
        let mut assignment = shared.assignment.lock();
        let mut by_broker: Vec<(i32, Candidates, Duration)> = Vec::new();
        for (broker, candidates) in self.candidates(&mut assignment, snapshot, now) {
            let source = self.sources.entry(broker).or_default();
            if let Some(max_wait) = candidates.max_wait(source, config.fetch_max_wait, now) {
                source.check_at = candidates.left_out.then(|| now + check_interval(config));
                by_broker.push((broker, candidates, max_wait));
            }
        }
        if by_broker.is_empty() {
            return;
        }
        let Some(share) = self.share(&mut assignment, by_broker.len()) else { return };
        for (broker, mut candidates, max_wait) in by_broker {
            candidates
                .partitions
                .sort_unstable_by(|(a, x), (b, y)| (a, &x.partition).cmp(&(b, &y.partition)));
            let asked: Vec<Asked> = candidates.partitions.into_iter().map(|(_, asked)| asked).collect();
            let limits = Limits {
                max_wait,
                min_bytes: config.fetch_min_bytes,
                max_bytes: i32::try_from(share).unwrap_or(i32::MAX),
                partition_max_bytes: config.max_partition_fetch_bytes,
                read_committed: shared.read_committed(),
            };
            let mut positions = Vec::with_capacity(asked.len());
            for Asked { partition, offset, .. } in &asked {
                assignment.had_turn(partition);
                if let Some(slot) = assignment.slot(partition) {
                    slot.busy = true;
                }
                positions.push(Position::new(snapshot, partition, *offset));
            }
            let source = self.sources.entry(broker).or_default();
            source.in_flight = Some(InFlight { reserved: share, sent: now });
            let ask = source.session.ask(positions);
            let client = shared.client.clone();
            self.tasks.spawn(async move {
                let answer = try_catch("a fetch", fetch(&client, broker, &ask, limits)).await;
                Done::Fetched { broker, asked, answer }
            });
        }
    }

    /// The candidates of each broker that may be sent a fetch.
    fn candidates(
        &mut self,
        assignment: &mut Assignment,
        snapshot: &Snapshot,
        now: Instant,
    ) -> BTreeMap<i32, Candidates> {
        let config = self.shared.client.config();
        let most = usize::try_from(config.max_partition_fetch_bytes).unwrap_or(0).max(1);
        let read_committed = self.shared.read_committed();
        let mut by_broker: BTreeMap<i32, Candidates> = BTreeMap::new();
        let mut leaderless: HashMap<Arc<str>, (i32, Instant)> = HashMap::new();
        for (partition, slot) in assignment.slots() {
            if !slot.wants_records() {
                continue;
            }
            let nearer = slot.nearer(now).filter(|id| snapshot.brokers.contains_key(id));
            let leader = || snapshot.leader(&partition.0, partition.1).map(|leader| leader.id);
            let Some(broker) = nearer.or_else(leader) else {
                self.stale = true;
                let since = *slot.failing_since.get_or_insert(now);
                // One partition stands for its topic: there may be a hundred thousand.
                leaderless.entry(Arc::clone(&partition.0)).or_insert((partition.1, since));
                continue;
            };
            if !self.sources.entry(broker).or_default().is_free(now) {
                continue;
            }
            let candidates = by_broker.entry(broker).or_default();
            if let Some(due) = slot.not_before.filter(|due| *due > now) {
                candidates.resumes = Some(candidates.resumes.map_or(due, |first| first.min(due)));
            } else if slot.is_full(most) {
                candidates.left_out = true;
            } else {
                candidates.may_have_more |= slot.may_have_more(read_committed);
                let asked = Asked {
                    partition: partition.clone(),
                    version: slot.version,
                    offset: slot.fetched.offset,
                };
                candidates.partitions.push((slot.turn, asked));
            }
        }
        for (topic, (partition, since)) in leaderless {
            let error = no_leader(snapshot, &topic, partition);
            self.shared.record_failure(assignment, &(topic, partition), since, error);
        }
        by_broker
    }

    /// The bytes that each of `requests` may return; `None` if there is no room now.
    fn share(&self, assignment: &mut Assignment, requests: usize) -> Option<usize> {
        let config = self.shared.client.config();
        let in_flight = self.sources.values().filter_map(|source| source.in_flight.as_ref());
        let reserved: usize = in_flight.map(|fetch| fetch.reserved).sum();
        let most = usize::try_from(config.fetch_max_bytes).unwrap_or(0);
        let share_of = |assignment: &Assignment| {
            let room = config.prefetch_max.saturating_sub(assignment.buffered() + reserved);
            (room / requests).min(most)
        };
        let mut share = share_of(assignment);
        if share < MIN_ROOM {
            // Records of paused partitions would keep the others from being read for as long.
            assignment.drop_held_back();
            share = share_of(assignment);
        }
        // With nothing buffered and nothing in flight there is always room for one response.
        (share >= MIN_ROOM || assignment.buffered() + reserved == 0).then_some(share)
    }
}

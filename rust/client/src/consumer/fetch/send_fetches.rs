//! Chooses the partitions of each broker's next fetch, and how long the broker may wait for new records.
//!
//! Invariants: each broker has at most one fetch in flight, because a fetch session orders its requests.
//! The bytes that a fetch may return are reserved before it is sent, and leave room for other brokers: one that is asked
//! later would wait as long as the fetch. At a trickle of records, a fetch waits until the application is about to poll
//! (`poll_rhythm.rs`). No fetch waits for new records while a partition of its broker is excluded only by a full buffer
//! or a backoff: that partition would wait, too.
//! A broker that just returned nothing gets its next request after a pause.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::broker_state::{BrokerState, InFlightFetch, InFlightPartition};
use super::completed_fetches::FetchNumber;
use super::fetcher::{Fetcher, TaskResult};
use crate::config::Config;
use crate::consumer::fetch::request::{FetchRequestData, Limits, RequestedPartition, fetch, fetch_at_once};
use crate::consumer::poll_rhythm::Hold;
use crate::consumer::subscription_state::SubscriptionState;
use crate::metadata::no_leader::no_leader;
use crate::metadata::{RefreshNeed, Snapshot};
use crate::tasks::panics::try_catch;

/// A smaller budget in bytes is not worth a request.
const MIN_RESPONSE_BUDGET: usize = 64 * 1024;

/// A fetch is held back only if the last one returned less than this: more are worth a request of their own.
const FEW_BYTES: usize = 64 * 1024;

/// How often partitions without known new records are checked while another one's buffer is full.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The partitions that a broker could be asked for now.
#[derive(Debug, Default)]
struct Candidates {
    /// With the order of their last fetch: the least recently fetched goes first.
    partitions: Vec<(u64, InFlightPartition)>,
    /// Whether one of them may have records now.
    may_have_more: bool,
    /// Whether a partition is excluded because its buffer is full.
    has_full_partition: bool,
    /// When the first backoff of an excluded partition ends.
    first_retry: Option<Instant>,
}

impl Candidates {
    /// Whether the fetch only asks for what has been written since the last one.
    fn is_at_the_end(&self) -> bool {
        !self.may_have_more && !self.has_full_partition && self.first_retry.is_none()
    }

    /// How long the broker may wait for new records; `None` if no request is due.
    fn max_wait(&self, broker_state: &BrokerState, configured: Duration, now: Instant) -> Option<Duration> {
        if self.partitions.is_empty() {
            return None;
        }
        if self.has_full_partition {
            let due = self.may_have_more || broker_state.check_at.is_none_or(|at| at <= now);
            return due.then_some(Duration::ZERO);
        }
        let first_retry = self.first_retry.map_or(configured, |at| at.saturating_duration_since(now));
        Some(first_retry.min(configured))
    }
}

/// How long a broker may wait while partitions are only checked, given `fetch.min.bytes`.
fn check_interval(config: &Config) -> Duration {
    if config.fetch_min_bytes > 1 { config.fetch_max_wait.max(CHECK_INTERVAL) } else { CHECK_INTERVAL }
}

impl Fetcher {
    /// Sends a fetch to each broker that has records to read and no fetch in flight.
    pub(crate) fn send_fetches(&mut self, snapshot: &Snapshot, now: Instant) {
        let shared = self.shared.clone();
        let config = shared.client.config();
        let mut subscriptions = shared.subscriptions.lock();
        let mut by_broker: Vec<(i32, Candidates, Duration, bool)> = Vec::new();
        let (candidates, later) = self.candidates(&mut subscriptions, snapshot, now);
        for (broker, candidates) in candidates {
            let broker_state = self.brokers.entry(broker).or_default();
            // With more bytes to wait for, the broker's wait is to begin at once.
            let may_hold = config.fetch_min_bytes <= 1
                && broker_state.last_bytes < FEW_BYTES
                && candidates.is_at_the_end();
            let held_until = broker_state.held_until.take();
            let mut was_held = held_until.is_some();
            if may_hold && held_until.is_none_or(|until| until > now) {
                match shared.rhythm.lock().hold(broker_state.last_was_held, now) {
                    Hold::No => {}
                    Hold::Over => was_held = true,
                    Hold::Until(until) => {
                        broker_state.held_until = Some(until);
                        continue;
                    }
                }
            }
            if let Some(max_wait) = candidates.max_wait(broker_state, config.fetch_max_wait, now) {
                broker_state.check_at = candidates.has_full_partition.then(|| now + check_interval(config));
                by_broker.push((broker, candidates, max_wait, was_held));
            }
        }
        if by_broker.is_empty() {
            return;
        }
        let Some(budget) = self.response_budget(&mut subscriptions, by_broker.len(), later) else { return };
        let mut fetches = Vec::with_capacity(by_broker.len());
        for (broker, mut candidates, max_wait, was_held) in by_broker {
            candidates
                .partitions
                .sort_unstable_by(|(a, x), (b, y)| (a, &x.partition).cmp(&(b, &y.partition)));
            let requested: Vec<InFlightPartition> =
                candidates.partitions.into_iter().map(|(_, requested)| requested).collect();
            let limits = Limits {
                max_wait,
                min_bytes: config.fetch_min_bytes,
                max_bytes: i32::try_from(budget).unwrap_or(i32::MAX),
                partition_max_bytes: config.max_partition_fetch_bytes,
                read_committed: shared.read_committed(),
            };
            let broker_state = self.brokers.entry(broker).or_default();
            let mut partitions = Vec::with_capacity(requested.len());
            for InFlightPartition { partition, offset, .. } in &requested {
                subscriptions.move_to_end(partition);
                if let Some(state) = subscriptions.state(partition) {
                    state.in_flight = true;
                    // In its session, the broker would leave out what it has told an earlier assignment.
                    if state.lacks_watermarks() && broker_state.session.has(partition) {
                        broker_state.session.reset();
                    }
                }
                partitions.push(RequestedPartition::new(snapshot, partition, *offset));
            }
            broker_state.sent += 1;
            let number = broker_state.sent;
            if was_held {
                shared.rhythm.lock().release(now);
            }
            let fetch = InFlightFetch { reserved: budget, sent: now, number, requested, was_held };
            broker_state.in_flight = Some(fetch);
            broker_state.last_was_held = was_held;
            fetches.push(((broker, number), broker_state.session.build_request_data(partitions), limits));
        }
        // A thread that polls waits for the lock, and writing takes as long as a system call.
        drop(subscriptions);
        fetches.into_iter().for_each(|(number, data, limits)| self.send_fetch(number, data, limits));
    }

    fn send_fetch(&mut self, number: FetchNumber, data: FetchRequestData, limits: Limits) {
        if fetch_at_once(&self.shared.client, number, &data, limits, &self.completed) {
            return;
        }
        let client = self.shared.client.clone();
        self.tasks.spawn(async move {
            let response = try_catch("a fetch", fetch(&client, number.0, &data, limits)).await;
            TaskResult::Fetched { fetch: number, response }
        });
    }

    /// The candidates of each broker that may be sent a fetch, and how many other brokers have partitions that still
    /// look their position up.
    fn candidates(
        &mut self,
        subscriptions: &mut SubscriptionState,
        snapshot: &Snapshot,
        now: Instant,
    ) -> (BTreeMap<i32, Candidates>, usize) {
        let config = self.shared.client.config();
        let max_bytes = usize::try_from(config.max_partition_fetch_bytes).unwrap_or(0).max(1);
        let read_committed = self.shared.read_committed();
        let mut by_broker: BTreeMap<i32, Candidates> = BTreeMap::new();
        let mut leaderless: HashMap<Arc<str>, (i32, Instant)> = HashMap::new();
        let mut later: HashSet<i32> = HashSet::new();
        for (partition, state) in subscriptions.states() {
            let leader = || snapshot.leader(&partition.0, partition.1).map(|leader| leader.id);
            if !state.is_fetchable() {
                if state.awaits_position() {
                    later.extend(leader());
                }
                continue;
            }
            let preferred = state.preferred_replica(now).filter(|id| snapshot.brokers.contains_key(id));
            let Some(broker) = preferred.or_else(leader) else {
                self.metadata_needs.add(RefreshNeed::Missing(snapshot.generation));
                let since = *state.failing_since.get_or_insert(now);
                // One partition per topic is reported: there may be a hundred thousand.
                leaderless.entry(Arc::clone(&partition.0)).or_insert((partition.1, since));
                continue;
            };
            if !self.brokers.entry(broker).or_default().can_send(now) {
                continue;
            }
            let candidates = by_broker.entry(broker).or_default();
            if let Some(due) = state.retry_at.filter(|due| *due > now) {
                candidates.first_retry = Some(candidates.first_retry.map_or(due, |first| first.min(due)));
            } else if state.is_full(max_bytes) {
                candidates.has_full_partition = true;
            } else {
                candidates.may_have_more |= state.may_have_more(read_committed);
                let requested = InFlightPartition {
                    partition: partition.clone(),
                    version: state.version,
                    offset: state.next_fetch.offset,
                };
                candidates.partitions.push((state.fetch_order, requested));
            }
        }
        for (topic, (partition, since)) in leaderless {
            let error = no_leader(snapshot, &topic, partition);
            self.shared.record_failure(subscriptions, &(topic, partition), since, error);
        }
        later.retain(|broker| {
            let has_fetch = self.brokers.get(broker).is_some_and(|state| state.in_flight.is_some());
            !has_fetch && !by_broker.contains_key(broker)
        });
        (by_broker, later.len())
    }

    /// The bytes that each of `requests` may return, if as much is to be left for each of `later` ones and for one that
    /// nobody expects; `None` if there is no room now.
    fn response_budget(
        &self,
        subscriptions: &mut SubscriptionState,
        requests: usize,
        later: usize,
    ) -> Option<usize> {
        let config = self.shared.client.config();
        let in_flight = self.brokers.values().filter_map(|broker_state| broker_state.in_flight.as_ref());
        let reserved: usize = in_flight.map(|fetch| fetch.reserved).sum();
        let max_bytes = usize::try_from(config.fetch_max_bytes).unwrap_or(0);
        let budget_of = |subscriptions: &SubscriptionState| {
            let room = config.prefetch_max.saturating_sub(subscriptions.buffered_bytes() + reserved);
            // A small share is no reason to send nothing.
            let share = (room / (requests + later.max(1))).max(MIN_RESPONSE_BUDGET.min(room / requests));
            share.min(max_bytes)
        };
        let mut budget = budget_of(subscriptions);
        if budget < MIN_RESPONSE_BUDGET {
            // Buffered records of paused partitions would stop the others for as long as they are paused.
            subscriptions.drop_paused_data();
            budget = budget_of(subscriptions);
        }
        // With nothing buffered or in flight there is always room for one response.
        (budget >= MIN_RESPONSE_BUDGET || subscriptions.buffered_bytes() + reserved == 0).then_some(budget)
    }
}

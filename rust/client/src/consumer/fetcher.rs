//! The task behind a consumer: a fetch on its way to each broker that has something to read, and the
//! look-ups that partitions without a position need (`positions.rs`).
//!
//! It runs whether or not the application asks: answers are checked and kept, up to
//! `prefetch.max.bytes` in all, so that a slow application costs bounded memory and a fast one does
//! not wait. Invariants: one request at a time to a broker, as its fetch session wants it; bytes
//! that are asked for are reserved before; an answer counts only for partitions that are still as
//! they were when it was asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::records::AbortedTransactions;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::fetch::{Answer, Ask, Fetched, Limits, Position, fetch};
use super::fetch_session::FetchSession;
use super::positions::{self, Found};
use super::prefetched::{CORRUPT_MAX, Prefetched, too_large, usable};
use super::shared::Shared;
use super::slot::{Phase, Slot};
use crate::backoff::Backoff;
use crate::error::{Error, Kind, Result};
use crate::list_offsets::TopicPartition;
use crate::metadata::{Snapshot, Want};
use crate::recovery::{Recovery, recovery};

/// Less room than this is not worth a request.
const LEAST: usize = 64 * 1024;

/// What is known of a broker that is fetched from.
#[derive(Debug, Default)]
struct Source {
    session: FetchSession,
    /// Bytes that the request under way may bring.
    asked: Option<usize>,
    not_before: Option<Instant>,
    failures: u32,
}

/// A partition of a request, as it was when it was asked for.
#[derive(Debug)]
struct Asked {
    partition: TopicPartition,
    version: u64,
    offset: i64,
}

/// A task that has ended.
enum Done {
    Fetched { broker: i32, asked: Vec<Asked>, answer: Result<Answer> },
    Found(Found),
    Refreshed(Result<()>),
}

pub(super) struct Fetcher {
    shared: Arc<Shared>,
    sources: BTreeMap<i32, Source>,
    tasks: JoinSet<Done>,
    /// A refresh of the metadata is needed, or under way.
    stale: bool,
    refreshing: bool,
    rest: Option<Instant>,
    backoff: Backoff,
}

impl Fetcher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let config = shared.client.config();
        let backoff = Backoff { first: config.retry_backoff, max: config.retry_backoff_max };
        Self {
            shared,
            sources: BTreeMap::new(),
            tasks: JoinSet::new(),
            stale: false,
            refreshing: false,
            rest: None,
            backoff,
        }
    }

    /// Runs until it is aborted.
    pub(super) async fn run(mut self) {
        loop {
            let now = Instant::now();
            let snapshot = self.shared.client.snapshot();
            let wanted = positions::wanted(&self.shared, &snapshot, now);
            for look_up in wanted {
                let shared = Arc::clone(&self.shared);
                self.tasks.spawn(async move { Done::Found(look_up.run(&shared).await) });
            }
            self.dispatch(&snapshot, now);
            self.refresh(&snapshot, now);
            let due = self.next_due(now);
            tokio::select! {
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => match done {
                    Ok(Done::Fetched { broker, asked, answer }) => self.process(broker, asked, answer),
                    Ok(Done::Found(found)) => self.stale |= found.apply(&self.shared, self.backoff),
                    Ok(Done::Refreshed(result)) => self.refreshed(result),
                    // The runtime is shutting down.
                    Err(_) => return,
                },
                () = self.shared.news.notified() => {}
                () = sleep_until(due) => {}
            }
        }
    }

    /// When there may be something to do although nothing happens.
    fn next_due(&self, now: Instant) -> Instant {
        let brokers = self.sources.values().filter_map(|source| source.not_before).filter(|due| *due > now);
        let partitions = self.shared.assignment.lock().next_due(now);
        let due = brokers.chain(partitions).chain(self.rest.filter(|due| *due > now)).min();
        due.unwrap_or(now + Duration::from_secs(1))
    }

    /// Sends a fetch to each broker that has none under way and something to read.
    fn dispatch(&mut self, snapshot: &Snapshot, now: Instant) {
        let config = self.shared.client.config();
        let reserved: usize = self.sources.values().filter_map(|source| source.asked).sum();
        let mut assignment = self.shared.assignment.lock();
        let room = config.prefetch_max.saturating_sub(assignment.buffered() + reserved);
        // What is left is shared by those who ask.
        let share_of = |askers: usize| {
            let most = usize::try_from(config.fetch_max_bytes).unwrap_or(0);
            (room / askers.max(1)).min(most)
        };
        let partition_most = usize::try_from(config.max_partition_fetch_bytes).unwrap_or(0).max(1);
        let mut by_broker: BTreeMap<i32, Vec<Asked>> = BTreeMap::new();
        for partition in assignment.fetchable(now, partition_most) {
            let Some(slot) = assignment.slot(&partition) else { continue };
            let leader = snapshot.leader(&partition.0, partition.1).map(|leader| leader.id);
            let nearer = slot.nearer(now).filter(|id| snapshot.brokers.contains_key(id));
            let Some(broker) = nearer.or(leader) else {
                self.stale = true;
                continue;
            };
            let source = self.sources.entry(broker).or_default();
            if source.asked.is_none() && source.not_before.is_none_or(|due| due <= now) {
                let asked = Asked { partition, version: slot.version, offset: slot.fetched.offset };
                by_broker.entry(broker).or_default().push(asked);
            }
        }
        let share = share_of(by_broker.len());
        // With nothing kept and nothing on its way there is always room for one answer.
        if share < LEAST && assignment.buffered() + reserved > 0 {
            return;
        }
        let limits = Limits {
            max_wait: config.fetch_max_wait,
            min_bytes: config.fetch_min_bytes,
            max_bytes: i32::try_from(share).unwrap_or(i32::MAX),
            partition_max_bytes: config.max_partition_fetch_bytes,
            read_committed: self.shared.read_committed(),
        };
        for (broker, asked) in by_broker {
            let mut positions = Vec::with_capacity(asked.len());
            for Asked { partition, offset, .. } in &asked {
                assignment.had_turn(partition);
                if let Some(slot) = assignment.slot(partition) {
                    slot.busy = true;
                }
                positions.push(Position::new(snapshot, partition, *offset));
            }
            let source = self.sources.entry(broker).or_default();
            source.asked = Some(share);
            let ask = source.session.ask(positions);
            let client = self.shared.client.clone();
            self.tasks.spawn(async move {
                let answer = fetch(&client, broker, &ask, limits).await;
                Done::Fetched { broker, asked, answer }
            });
        }
    }

    fn process(&mut self, broker: i32, asked: Vec<Asked>, answer: Result<Answer>) {
        let now = Instant::now();
        let source = self.sources.entry(broker).or_default();
        source.asked = None;
        let shared = Arc::clone(&self.shared);
        let mut assignment = shared.assignment.lock();
        for Asked { partition, version, .. } in &asked {
            if let Some(slot) = assignment.current(partition, *version) {
                slot.busy = false;
            }
        }
        let answer = answer.and_then(|answer| {
            source.session.answered(answer.error, answer.session_id);
            answer.partitions(broker)
        });
        let mut fetched: HashMap<TopicPartition, Fetched> = match answer {
            Ok(fetched) => fetched,
            Err(error) => {
                if error.code().is_none() {
                    source.session.reset();
                }
                drop(assignment);
                self.failed(broker, &asked, error, now);
                return;
            }
        };
        source.failures = 0;
        for asked in asked {
            let Some(part) = fetched.remove(&asked.partition) else { continue };
            let Some(slot) = assignment.current(&asked.partition, asked.version) else { continue };
            if slot.phase != Phase::Fetch || slot.fetched.offset != asked.offset {
                continue;
            }
            match self.take_in(slot, broker, &asked, part, now) {
                Ok(Some(piece)) => assignment.push(piece),
                Ok(None) => {}
                Err(error) => assignment.fail(&asked.partition, error),
            }
        }
        drop(assignment);
        shared.ready.notify_waiters();
    }

    /// A request as a whole has failed.
    fn failed(&mut self, broker: i32, asked: &[Asked], error: Error, now: Instant) {
        tracing::debug!(target: "ottla.fetch", broker, %error, "fetch failed");
        let new_session = error.code().is_some_and(|code| recovery(code) == Recovery::NewSession);
        if new_session {
            // Asked for again at once, with a session of its own.
            return;
        }
        let Some(source) = self.sources.get_mut(&broker) else { return };
        source.failures += 1;
        let random = self.shared.client.inner.environment.random();
        source.not_before = Some(now + self.backoff.after(source.failures, random));
        self.stale = true;
        let mut assignment = self.shared.assignment.lock();
        for Asked { partition, version, .. } in asked {
            if let Some(slot) = assignment.current(partition, *version) {
                // Another replica may do better.
                slot.nearer = None;
                if !error.may_pass() {
                    assignment.fail(partition, error.clone());
                }
            }
        }
        drop(assignment);
        self.shared.ready.notify_waiters();
    }

    /// What a broker answered for one partition.
    fn take_in(
        &mut self,
        slot: &mut Slot,
        broker: i32,
        asked: &Asked,
        part: Fetched,
        now: Instant,
    ) -> Result<Option<Prefetched>> {
        if part.error != ErrorCode::None {
            return self.refused(slot, broker, part.error, now).map(|()| None);
        }
        (slot.high_watermark, slot.last_stable) = (part.high_watermark, part.last_stable);
        slot.failures = 0;
        if part.preferred_replica >= 0 {
            let until = now + self.shared.client.config().metadata_max_age;
            slot.nearer = Some((part.preferred_replica, until));
        }
        let usable = usable(&part.records, self.shared.client.config().check_crcs);
        let Some((next, epoch)) = usable.next.filter(|(next, _)| *next > asked.offset) else {
            return match usable.flaw {
                Some(flaw) => self.damaged(slot, asked, flaw, now),
                None if part.records.is_empty() || usable.next.is_some() => Ok(None),
                None => Err(too_large(usable.cut_off.unwrap_or(part.records.len()))),
            };
        };
        slot.damaged = 0;
        let read_committed = self.shared.read_committed();
        Ok(Some(Prefetched {
            partition: asked.partition.clone(),
            version: asked.version,
            records: usable.records,
            start: asked.offset,
            end: next,
            epoch,
            aborted: read_committed.then(|| AbortedTransactions::new(part.aborted)),
            decoded: None,
        }))
    }

    /// Records whose checksum is wrong: fetched again, and never skipped.
    fn damaged(
        &mut self,
        slot: &mut Slot,
        asked: &Asked,
        flaw: Error,
        now: Instant,
    ) -> Result<Option<Prefetched>> {
        slot.damaged += 1;
        self.rest(slot, now);
        let error = flaw.because(format_args!("records after offset {} are damaged", asked.offset));
        if slot.damaged >= CORRUPT_MAX {
            slot.damaged = 0;
            return Err(error.because(format_args!("fetched {CORRUPT_MAX} times")));
        }
        tracing::warn!(target: "ottla.fetch", %error, "fetching again");
        Ok(None)
    }

    /// A partition that a broker has refused.
    fn refused(&mut self, slot: &mut Slot, broker: i32, code: ErrorCode, now: Instant) -> Result<()> {
        self.rest(slot, now);
        let from_leader = slot.nearer.take().is_none_or(|(nearer, _)| nearer != broker);
        match recovery(code) {
            // A replica may be behind its leader.
            Recovery::ResetOffset if from_leader => {
                slot.phase = Phase::OutOfRange;
                slot.not_before = None;
            }
            Recovery::ResetOffset => {}
            Recovery::Refresh => self.stale = true,
            recovery if recovery.retries() => {}
            _ => return Err(Error::from_code(code).broker(broker)),
        }
        Ok(())
    }

    fn rest(&self, slot: &mut Slot, now: Instant) {
        slot.failures += 1;
        let random = self.shared.client.inner.environment.random();
        slot.not_before = Some(now + self.backoff.after(slot.failures, random));
    }

    /// Refreshes the metadata if it is in doubt: one at a time, and not without a rest.
    fn refresh(&mut self, snapshot: &Snapshot, now: Instant) {
        if !self.stale || self.refreshing || self.rest.is_some_and(|due| due > now) {
            return;
        }
        (self.stale, self.refreshing) = (false, true);
        let (client, generation) = (self.shared.client.clone(), snapshot.generation);
        let mut topics: Vec<Arc<str>> = Vec::new();
        for (topic, _) in self.shared.assignment.lock().partitions() {
            if !topics.contains(topic) {
                topics.push(Arc::clone(topic));
            }
        }
        self.tasks.spawn(async move {
            Done::Refreshed(client.refresh(generation, Want::Topics(&topics)).await.map(drop))
        });
    }

    fn refreshed(&mut self, result: Result<()>) {
        self.refreshing = false;
        self.rest = Some(Instant::now() + self.backoff.first);
        if let Err(error) = result {
            tracing::debug!(target: "ottla.fetch", %error, "metadata cannot be refreshed");
            self.stale = true;
            if matches!(error.kind(), Kind::Authentication | Kind::Config | Kind::Closed) {
                self.shared.fail(error);
            }
        }
    }
}

/// Ends the sessions, so that brokers need not remember them; nobody waits for the answers.
impl Drop for Fetcher {
    fn drop(&mut self) {
        for (broker, source) in &mut self.sources {
            let Some(ask) = source.session.end() else { continue };
            end_session(&self.shared, *broker, ask);
        }
    }
}

fn end_session(shared: &Shared, broker: i32, ask: Ask) {
    let client = shared.client.clone();
    let limits = Limits {
        max_wait: Duration::ZERO,
        min_bytes: 0,
        max_bytes: 0,
        partition_max_bytes: 0,
        read_committed: false,
    };
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            // The broker would forget it by itself.
            let _ = fetch(&client, broker, &ask, limits).await;
        });
    }
}

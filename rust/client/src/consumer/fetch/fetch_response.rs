//! What brokers answer to fetches: records to keep, refusals, damage.
//!
//! Invariants: an answer counts only for partitions that are as they were when it was asked for. A bad
//! CRC is fetched again and never skipped; after three times it is an error that names partition and
//! offset.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::records::AbortedTransactions;
use tokio::time::Instant;

use super::fetcher::{Asked, Fetcher};
use crate::consumer::completed_fetch::{CORRUPT_MAX, Prefetched, too_large, usable};
use crate::consumer::fetch::request::{Answer, Fetched};
use crate::consumer::partition_state::{Phase, Slot};
use crate::error::{Error, Result};
use crate::retry::recovery::{Recovery, recovery};
use crate::topic_partition::TopicPartition;

impl Fetcher {
    pub(crate) fn process(&mut self, broker: i32, asked: Vec<Asked>, answer: Result<Answer>) {
        let now = Instant::now();
        let source = self.sources.entry(broker).or_default();
        let sent = source.in_flight.take().map_or(now, |fetch| fetch.sent);
        let shared = Arc::clone(&self.shared);
        let mut assignment = shared.assignment.lock();
        for Asked { partition, version, .. } in &asked {
            if let Some(slot) = assignment.current(partition, *version) {
                slot.busy = false;
            }
        }
        match &answer {
            Ok(answer) => source.session.answered(answer.error, answer.session_id),
            // Sent or not, whatever the error: the broker did not say that it knows what it was told.
            Err(_) => source.session.reset(),
        }
        let answer = answer.and_then(|answer| answer.partitions(broker));
        let mut fetched: HashMap<TopicPartition, Fetched> = match answer {
            Ok(fetched) => fetched,
            Err(error) => {
                drop(assignment);
                self.failed(broker, &asked, error, now);
                return;
            }
        };
        (source.failures, source.failing_since) = (0, None);
        if fetched.values().all(Fetched::is_empty) {
            source.returned_nothing(sent, shared.client.config().fetch_max_wait);
        }
        // What of the answer stays in memory with each of its pieces.
        let frame: usize = fetched.values().map(|part| part.records.len()).sum();
        for asked in asked {
            let Some(part) = fetched.remove(&asked.partition) else { continue };
            let Some(slot) = assignment.current(&asked.partition, asked.version) else { continue };
            if slot.phase != Phase::Fetch || slot.fetched.offset != asked.offset {
                continue;
            }
            match self.take_in(slot, broker, &asked, part, frame, now) {
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
        let Some(source) = self.sources.get_mut(&broker) else { return };
        source.failures += 1;
        let since = *source.failing_since.get_or_insert(now);
        if new_session {
            // The partitions are fetched again in a new session: at once, unless that failed, too.
            if source.failures > 1 {
                source.not_before = Some(now + self.shared.client.backoff(source.failures - 1));
            }
            return;
        }
        source.not_before = Some(now + self.shared.client.backoff(source.failures));
        self.stale = true;
        self.shared.client.record_failure(format_args!("fetching from broker {broker}"), &error, since);
        let mut assignment = self.shared.assignment.lock();
        for Asked { partition, version, .. } in asked {
            if let Some(slot) = assignment.current(partition, *version) {
                // Another replica may do better.
                slot.nearer = None;
                if !error.is_transient() {
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
        frame: usize,
        now: Instant,
    ) -> Result<Option<Prefetched>> {
        if part.error != ErrorCode::None {
            return self.refused(slot, broker, asked, part.error, now).map(|()| None);
        }
        (slot.high_watermark, slot.last_stable) = (part.high_watermark, part.last_stable);
        match part.preferred_replica {
            ..0 => slot.succeeded(),
            replica => self.go_nearer(slot, replica, now),
        }
        let usable = usable(&part.records, self.shared.client.config().check_crcs);
        let Some((next, epoch)) = usable.next.filter(|(next, _)| *next > asked.offset) else {
            return match usable.flaw {
                Some(flaw) => self.damaged(slot, asked, flaw, now),
                None if part.records.is_empty() => Ok(None),
                None if usable.next.is_some() => {
                    // Records before the position: the broker has not found it, and would do so again.
                    self.shared.rest(slot, now);
                    Ok(None)
                }
                None => Err(too_large(usable.cut_off.unwrap_or(part.records.len()))),
            };
        };
        slot.damaged = 0;
        let read_committed = self.shared.read_committed();
        Ok(Some(Prefetched {
            partition: asked.partition.clone(),
            version: asked.version,
            records: usable.records,
            frame,
            start: asked.offset,
            end: next,
            epoch,
            aborted: read_committed.then(|| AbortedTransactions::new(part.aborted)),
            decoded: None,
        }))
    }

    /// The leader names a replica that is nearer, and sends nothing itself for as long as there is one.
    fn go_nearer(&mut self, slot: &mut Slot, replica: i32, now: Instant) {
        if self.shared.client.snapshot().brokers.contains_key(&replica) {
            slot.succeeded();
            slot.nearer = Some((replica, now + self.shared.client.config().metadata_max_age));
        } else {
            // It has just come back, and nobody here knows where it is: the leader, asked again at once,
            // would say the same.
            slot.nearer = None;
            self.stale = true;
            self.shared.rest(slot, now);
        }
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
        self.shared.rest(slot, now);
        let error = flaw.prefixed(format_args!("records after offset {} are damaged", asked.offset));
        if slot.damaged >= CORRUPT_MAX {
            slot.damaged = 0;
            return Err(error.prefixed(format_args!("fetched {CORRUPT_MAX} times")));
        }
        tracing::warn!(target: "ottla.fetch", %error, "fetching again");
        Ok(None)
    }

    /// A partition that a broker has refused.
    fn refused(
        &mut self,
        slot: &mut Slot,
        broker: i32,
        asked: &Asked,
        code: ErrorCode,
        now: Instant,
    ) -> Result<()> {
        self.shared.rest(slot, now);
        let (topic, partition) = &asked.partition;
        let error = Error::from_code(code).at(topic, *partition).broker(broker);
        let since = slot.failing_since.unwrap_or(now);
        self.shared.client.record_failure(format_args!("reading {topic}"), &error, since);
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
            _ => return Err(error),
        }
        Ok(())
    }
}

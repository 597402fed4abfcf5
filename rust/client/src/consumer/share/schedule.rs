//! Chooses the next request to each leader: ShareFetch, with the acknowledgements of what it returned before,
//! or ShareAcknowledge where no fetch is due. No I/O.
//!
//! Invariants: the request that opens a session carries no acknowledgements, which brokers refuse there. A
//! partition that is not assigned any more is forgotten only once its acknowledgements were sent, and a leader
//! without assigned partitions gets its last ones before its session is closed.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, ShareAcknowledgeRequest,
};
use ottla_protocol::messages::share_fetch::{FetchPartition, FetchTopic, ForgottenTopic, ShareFetchRequest};
use ottla_protocol::wire::Uuid;
use tokio::time::{Duration, Instant};

use super::acknowledgements::PartitionAcknowledgements;
use super::leader_state::{Acknowledgements, FINAL_EPOCH, INITIAL_EPOCH, InFlight, LeaderState};
use super::state::{ShareSettings, ShareState};
use crate::config::ShareAcquireMode;
use crate::consumer::group::TopicIdPartition;
use crate::error::Error;
use crate::metadata::Snapshot;
use crate::metadata::no_leader::no_leader;
use crate::topic_partition::TopicPartition;

/// How long acknowledgements wait for the next fetch from their leader, while records of it are buffered.
const MAX_ACKNOWLEDGEMENT_DELAY: Duration = Duration::from_millis(100);

/// A request to a leader.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LeaderRequest {
    Fetch(ShareFetchRequest),
    Acknowledge(ShareAcknowledgeRequest),
}

/// The requests that are due, and the partitions that cannot be read for lack of a leader.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pub(super) requests: Vec<(i32, LeaderRequest)>,
    pub(super) leaderless: Vec<(TopicPartition, Error)>,
    /// Whether acknowledgements have failed, which a commit may wait for.
    pub(super) has_failed_acknowledgements: bool,
    /// When to look again, unless something happens before.
    pub(super) next_due: Option<Instant>,
}

/// The assigned partitions that a leader has.
#[derive(Debug, Default)]
struct Assigned {
    /// Those that may be read now.
    ready: BTreeMap<TopicIdPartition, TopicPartition>,
    /// Whether others may be read later, after a backoff.
    is_backing_off: bool,
}

/// The next action for a leader.
enum Next {
    Nothing,
    Fetch,
    Acknowledge {
        closes: bool,
    },
    /// Acknowledgements of a session that was lost: there is no request that can carry them.
    Fail,
}

impl ShareState {
    /// The requests that are due now; they count as sent.
    pub(super) fn schedule(&mut self, snapshot: &Snapshot, now: Instant) -> Schedule {
        if self.is_settled() {
            // A commit that nothing waits for ends here.
            self.is_flushing = false;
        }
        let mut schedule =
            Schedule { has_failed_acknowledgements: self.fail_late_renewals(now), ..Schedule::default() };
        let mut assigned = self.assigned_by_leader(snapshot, now, &mut schedule);
        let held = self.leaders_of_held_records();
        let leaders: BTreeSet<i32> = self.leaders.keys().chain(assigned.keys()).copied().collect();
        for id in leaders {
            let Assigned { ready: partitions, is_backing_off } = assigned.remove(&id).unwrap_or_default();
            let is_held = held.contains(&id);
            let is_new = !self.leaders.contains_key(&id);
            let leader = self.leaders.entry(id).or_default();
            leader.is_wanted |= is_new;
            if leader.in_flight.is_some() {
                continue;
            }
            if let Some(not_before) = leader.not_before.filter(|not_before| *not_before > now) {
                schedule.wake_at(not_before);
                continue;
            }
            let flags = Flags {
                polls: self.is_polling || leader.is_wanted,
                flushes: self.is_flushing || self.is_closing,
                closes: self.is_closing,
                is_held,
                is_unassigned: partitions.is_empty() && !is_backing_off,
            };
            match next(leader, &partitions, flags, now, &mut schedule) {
                Next::Nothing => {
                    if leader.epoch == INITIAL_EPOCH && flags.is_unassigned && !is_held {
                        self.leaders.remove(&id);
                    }
                }
                Next::Fetch => {
                    let request = build_fetch(leader, &self.settings, &self.member_id, partitions, now);
                    schedule.requests.push((id, LeaderRequest::Fetch(request)));
                }
                Next::Acknowledge { closes } => {
                    let request = build_acknowledge(leader, &self.settings, &self.member_id, closes, now);
                    schedule.requests.push((id, LeaderRequest::Acknowledge(request)));
                }
                Next::Fail => {
                    let lost = [leader.take_pending(), leader.take_pending()];
                    let message =
                        "the share session was lost before the broker confirmed the acknowledgements";
                    let error =
                        Error::with_code(ErrorCode::ShareSessionNotFound, message).broker(id).maybe_done();
                    self.fail_acknowledgements(id, lost.iter().flat_map(BTreeMap::values), &error, now);
                    schedule.has_failed_acknowledgements = true;
                }
            }
        }
        schedule
    }

    /// Fails acknowledgements for `leader`.
    pub(super) fn fail_acknowledgements<'a>(
        &mut self,
        leader: i32,
        lost: impl Iterator<Item = &'a PartitionAcknowledgements>,
        error: &Error,
        now: Instant,
    ) {
        for lost in lost {
            self.end_renewals(leader, lost, false, now);
            self.complete(lost, Some(error.clone()));
        }
    }

    /// The assigned partitions of each leader that may be read now.
    fn assigned_by_leader(
        &self,
        snapshot: &Snapshot,
        now: Instant,
        schedule: &mut Schedule,
    ) -> BTreeMap<i32, Assigned> {
        let mut by_leader: BTreeMap<i32, Assigned> = BTreeMap::new();
        for partition in &self.assignment {
            let id = snapshot.topic(&partition.0).map(|topic| topic.id).filter(|id| !id.is_zero());
            match (id, snapshot.leader(&partition.0, partition.1)) {
                (Some(id), Some(leader)) => {
                    let id = (id, partition.1);
                    let assigned = by_leader.entry(leader.id).or_default();
                    match self.failing.get(&id).map(|failures| failures.retry_at).filter(|at| *at > now) {
                        Some(retry_at) => {
                            assigned.is_backing_off = true;
                            schedule.wake_at(retry_at);
                        }
                        None => drop(assigned.ready.insert(id, partition.clone())),
                    }
                }
                _ => {
                    let error = no_leader(snapshot, &partition.0, partition.1);
                    schedule.leaderless.push((partition.clone(), error));
                }
            }
        }
        by_leader
    }
}

impl Schedule {
    fn wake_at(&mut self, due: Instant) {
        self.next_due = Some(self.next_due.map_or(due, |next| next.min(due)));
    }
}

#[derive(Clone, Copy)]
struct Flags {
    polls: bool,
    flushes: bool,
    closes: bool,
    is_held: bool,
    is_unassigned: bool,
}

fn next(
    leader: &LeaderState,
    partitions: &BTreeMap<TopicIdPartition, TopicPartition>,
    flags: Flags,
    now: Instant,
    schedule: &mut Schedule,
) -> Next {
    let is_open = leader.epoch != INITIAL_EPOCH;
    let has_pending = leader.has_pending();
    let may_fetch = flags.polls && !flags.is_held && !flags.closes && !partitions.is_empty();
    if flags.closes {
        return match (is_open, has_pending) {
            (true, _) => Next::Acknowledge { closes: !leader.needs_two_requests() },
            (false, true) => Next::Fail,
            (false, false) => Next::Nothing,
        };
    }
    if has_pending {
        if !is_open {
            // Renewed records are not fetched before the renewal ends.
            let may_wait = flags.is_held && !flags.flushes && !has_renewals(leader);
            return match may_fetch {
                true => Next::Fetch,
                false if may_wait => Next::Nothing,
                false => Next::Fail,
            };
        }
        let needs_own_request = leader
            .waiting()
            .any(|(id, acknowledgements)| !partitions.contains_key(id) || acknowledgements.has_renewals());
        if may_fetch && !needs_own_request {
            return Next::Fetch;
        }
        let due = leader.pending_since.unwrap_or(now) + MAX_ACKNOWLEDGEMENT_DELAY;
        if !needs_own_request && !flags.flushes && due > now {
            schedule.wake_at(due);
            return Next::Nothing;
        }
        return Next::Acknowledge { closes: false };
    }
    if may_fetch {
        return Next::Fetch;
    }
    if is_open && flags.is_unassigned && !flags.is_held {
        return Next::Acknowledge { closes: true };
    }
    Next::Nothing
}

fn has_renewals(leader: &LeaderState) -> bool {
    leader.waiting().any(|(_, acknowledgements)| acknowledgements.has_renewals())
}

/// Builds a ShareFetch, after which the broker fetches exactly `partitions`.
fn build_fetch(
    leader: &mut LeaderState,
    settings: &ShareSettings,
    member_id: &str,
    partitions: BTreeMap<TopicIdPartition, TopicPartition>,
    now: Instant,
) -> ShareFetchRequest {
    let acknowledgements =
        if leader.epoch == INITIAL_EPOCH { Acknowledgements::new() } else { leader.take_pending() };
    let wanted: BTreeSet<TopicIdPartition> = partitions.keys().copied().collect();
    let added = wanted.difference(&leader.session).copied();
    let listed: BTreeSet<TopicIdPartition> = added.chain(acknowledgements.keys().copied()).collect();
    let partition = |id: &TopicIdPartition| FetchPartition {
        partition_index: id.1,
        acknowledgement_batches: acknowledgements
            .get(id)
            .map(PartitionAcknowledgements::fetch_batches)
            .unwrap_or_default(),
        ..Default::default()
    };
    let topics = by_topic(&listed, partition);
    let forgotten: BTreeSet<TopicIdPartition> = leader.session.difference(&wanted).copied().collect();
    let forgotten = by_topic(&forgotten, |id| id.1);
    let request = ShareFetchRequest {
        group_id: Some(settings.group_id.to_string()),
        member_id: Some(member_id.to_owned()),
        share_session_epoch: leader.epoch,
        max_wait_ms: i32::try_from(settings.max_wait.as_millis()).unwrap_or(i32::MAX),
        min_bytes: settings.min_bytes,
        max_bytes: settings.max_bytes,
        max_records: settings.max_records,
        batch_size: settings.max_records,
        share_acquire_mode: i8::from(settings.acquire_mode == ShareAcquireMode::RecordLimit),
        topics: topics.map(|(topic_id, partitions)| FetchTopic { topic_id, partitions }).collect(),
        forgotten_topics_data: forgotten
            .map(|(topic_id, partitions)| ForgottenTopic { topic_id, partitions })
            .collect(),
        ..Default::default()
    };
    leader.session = wanted;
    leader.is_wanted = false;
    leader.in_flight = Some(InFlight {
        acknowledgements,
        fetched: partitions,
        is_fetch: true,
        epoch: leader.epoch,
        sent: Some(now),
    });
    request
}

/// Builds a ShareAcknowledge with all acknowledgements that are pending.
fn build_acknowledge(
    leader: &mut LeaderState,
    settings: &ShareSettings,
    member_id: &str,
    closes: bool,
    now: Instant,
) -> ShareAcknowledgeRequest {
    let acknowledgements = leader.take_pending();
    let listed: BTreeSet<TopicIdPartition> = acknowledgements.keys().copied().collect();
    let partition = |id: &TopicIdPartition| AcknowledgePartition {
        partition_index: id.1,
        acknowledgement_batches: acknowledgements
            .get(id)
            .map(PartitionAcknowledgements::acknowledge_batches)
            .unwrap_or_default(),
    };
    let epoch = if closes { FINAL_EPOCH } else { leader.epoch };
    let request = ShareAcknowledgeRequest {
        group_id: Some(settings.group_id.to_string()),
        member_id: Some(member_id.to_owned()),
        share_session_epoch: epoch,
        is_renew_ack: acknowledgements.values().any(PartitionAcknowledgements::has_renewals),
        topics: by_topic(&listed, partition)
            .map(|(topic_id, partitions)| AcknowledgeTopic { topic_id, partitions })
            .collect(),
    };
    leader.in_flight = Some(InFlight { acknowledgements, epoch, sent: Some(now), ..InFlight::default() });
    request
}

/// Groups partitions by topic.
fn by_topic<T>(
    partitions: &BTreeSet<TopicIdPartition>,
    convert: impl Fn(&TopicIdPartition) -> T,
) -> impl Iterator<Item = (Uuid, Vec<T>)> {
    let mut topics: BTreeMap<Uuid, Vec<T>> = BTreeMap::new();
    for id in partitions {
        topics.entry(id.0).or_default().push(convert(id));
    }
    topics.into_iter()
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]
mod tests;

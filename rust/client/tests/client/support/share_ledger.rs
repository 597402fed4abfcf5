//! What the members of a share group were told about each record, and whether it fits together.
//!
//! Invariants: a record that was accepted or rejected is not acquired again; a second acquisition has a reason
//! (a release, an expired lock, a lost member, a failed acknowledgement or a disturbance), and a higher count,
//! unless the leader has moved.

use std::collections::BTreeMap;

use ottla_client::consumer::share::{AcknowledgeType, AcknowledgementResult, ShareRecord};
use tokio::time::{Duration, Instant};

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// With the application.
    Held,
    /// Acknowledged; the result is not known.
    Sent(AcknowledgeType),
    /// The broker has confirmed the acknowledgement.
    Confirmed(AcknowledgeType),
    /// The lock was renewed, and the member has got the record again.
    Continued,
    /// The broker has refused it, or may have.
    Failed,
    /// The member has left, or died, without an acknowledgement or a result.
    Gone,
}

/// One delivery of a record.
#[derive(Debug, Clone)]
struct Delivery {
    member: usize,
    /// The broker has acquired the record after this time.
    acquired_after: Instant,
    delivered_at: Instant,
    count: i16,
    fate: Fate,
}

/// All deliveries of a record.
#[derive(Debug, Default)]
struct RecordHistory {
    deliveries: Vec<Delivery>,
    /// When the broker first confirmed that the record is finished.
    finished_at: Option<Instant>,
}

/// All deliveries of a group.
#[derive(Debug)]
pub(crate) struct Ledger {
    records: BTreeMap<(i32, i64), RecordHistory>,
    lock: Duration,
    /// When a partition's leader was last changed.
    moved: BTreeMap<i32, Instant>,
    /// When something last happened that may break a connection or fail a request.
    disturbed: Option<Instant>,
}

fn finishes(how: AcknowledgeType) -> bool {
    matches!(how, AcknowledgeType::Accept | AcknowledgeType::Reject)
}

impl Ledger {
    pub(crate) fn new(lock: Duration) -> Self {
        Self { records: BTreeMap::new(), lock, moved: BTreeMap::new(), disturbed: None }
    }

    pub(crate) fn note_move(&mut self, partition: i32) {
        self.moved.insert(partition, Instant::now());
        self.note_disturbance();
    }

    pub(crate) fn note_disturbance(&mut self) {
        self.disturbed = Some(Instant::now());
    }

    /// A member delivers a record that was acquired after `acquired_after`.
    pub(crate) fn deliver(&mut self, member: usize, record: &ShareRecord, acquired_after: Instant) {
        let (partition, offset) = (record.partition.1, record.offset);
        let new = Delivery {
            member,
            acquired_after,
            delivered_at: Instant::now(),
            count: record.delivery_count,
            fate: Fate::Held,
        };
        let history = self.records.entry((partition, offset)).or_default();
        // A renewal is no acquisition: the earlier delivery goes on.
        let renews = Fate::Confirmed(AcknowledgeType::Renew);
        let renewed = |it: &&mut Delivery| it.member == member && it.fate == renews && it.count == new.count;
        let renewed = history.deliveries.iter_mut().rfind(renewed);
        let is_renewed = renewed.map(|earlier| earlier.fate = Fate::Continued).is_some();
        let what = |why: &str| format!("{partition}/{offset}: {why}: {new:?} after {history:?}");
        if let Some(finished) = history.finished_at {
            assert!(acquired_after <= finished, "{}", what("delivered after it was finished"));
        }
        assert!(new.count >= 1, "{}", what("not counted"));
        let moved = self.moved.get(&partition).copied();
        let earlier = history.deliveries.iter().filter(|it| it.fate != Fate::Continued);
        for earlier in earlier.filter(|it| !is_renewed && it.delivered_at < acquired_after) {
            let is_recounted = moved.is_some_and(|moved| moved >= earlier.acquired_after);
            assert!(is_recounted || new.count > earlier.count, "{}", what("the count has not risen"));
            let is_given_up = match earlier.fate {
                Fate::Failed | Fate::Gone => true,
                Fate::Sent(how) | Fate::Confirmed(how) => how == AcknowledgeType::Release,
                Fate::Held | Fate::Continued => false,
            };
            let has_expired = new.delivered_at >= earlier.acquired_after + self.lock;
            let is_disturbed = self.disturbed.is_some_and(|at| at >= earlier.acquired_after);
            assert!(is_given_up || has_expired || is_disturbed, "{}", what("again without a reason"));
        }
        history.deliveries.push(new);
    }

    /// A member acknowledges what it holds of a record.
    pub(crate) fn acknowledge(&mut self, member: usize, record: (i32, i64), how: AcknowledgeType) {
        let history = self.records.get_mut(&record).expect("delivered");
        let held = |it: &&mut Delivery| it.member == member && it.fate == Fate::Held;
        history.deliveries.iter_mut().filter(held).for_each(|delivery| delivery.fate = Fate::Sent(how));
    }

    /// A member learns the result of acknowledgements.
    pub(crate) fn resolve(&mut self, member: usize, result: &AcknowledgementResult) {
        let now = Instant::now();
        let partition = result.partition.1;
        for offset in result.offsets.iter().flat_map(|(first, last)| *first..=*last) {
            let history = self.records.get_mut(&(partition, offset)).expect("delivered");
            let what = format!("{partition}/{offset}: {result:?} for {member} after {history:?}");
            let mut sent: Vec<&mut Delivery> = history
                .deliveries
                .iter_mut()
                .filter(|it| it.member == member && matches!(it.fate, Fate::Sent(_)))
                .collect();
            assert!(!sent.is_empty(), "nothing was acknowledged: {what}");
            // Of two leaders that have delivered it, either may be the one.
            let is_certain = sent.iter().all(|it| it.fate == sent[0].fate);
            let first = &mut sent[0];
            let Fate::Sent(how) = first.fate else { unreachable!() };
            if result.error.is_none() && is_certain {
                first.fate = Fate::Confirmed(how);
                if finishes(how) {
                    history.finished_at.get_or_insert(now);
                }
                continue;
            }
            let has_expired = now >= first.acquired_after + self.lock;
            let is_disturbed = self.disturbed.is_some_and(|at| at >= first.acquired_after);
            assert!(has_expired || is_disturbed, "refused without a reason: {what}");
            first.fate = Fate::Failed;
        }
    }

    /// A member is gone. If it has closed, it has got all results.
    pub(crate) fn remove_member(&mut self, member: usize, has_closed: bool) {
        for ((partition, offset), history) in &mut self.records {
            for delivery in history.deliveries.iter_mut().filter(|it| it.member == member) {
                let is_open = matches!(delivery.fate, Fate::Sent(_));
                assert!(!(has_closed && is_open), "{partition}/{offset}: {delivery:?} has no result");
                // Or renewed, and not delivered again.
                let renewed = Fate::Confirmed(AcknowledgeType::Renew);
                if is_open || delivery.fate == Fate::Held || delivery.fate == renewed {
                    delivery.fate = Fate::Gone;
                }
            }
        }
    }

    /// Each of the first records of a partition was delivered; none that was finished twice lacks a reason.
    pub(crate) fn check_end(&self, partition: i32, records: i64) {
        for offset in 0..records {
            let history = self.records.get(&(partition, offset));
            let history = history.unwrap_or_else(|| panic!("{partition}/{offset} was never delivered"));
            let finished = |it: &&Delivery| matches!(it.fate, Fate::Confirmed(how) if finishes(how));
            let mut finished = history.deliveries.iter().filter(finished);
            let (first, second) = (finished.next(), finished.next());
            if let (Some(first), Some(second)) = (first, second) {
                let has_expired = second.delivered_at >= first.acquired_after + self.lock;
                let is_disturbed = self.disturbed.is_some_and(|at| at >= first.acquired_after);
                assert!(has_expired || is_disturbed, "{partition}/{offset} twice: {history:?}");
            }
        }
    }

    /// The number of deliveries, and of records.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.records.values().map(|history| history.deliveries.len()).sum(), self.records.len())
    }
}

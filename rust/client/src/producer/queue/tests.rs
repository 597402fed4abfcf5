//! Tests one partition's queue: the order in which batches may be sent; and, over random schedules of
//! responses, lost responses and expired batches, that a broker which checks sequence numbers has
//! each acknowledged batch once and in order, and no batch that was reported as not written.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::records::BatchBuilder;
use tokio::time::Duration;

use super::*;
use crate::error::Kind;
use ottla_protocol::records::ProducerState;

pub(super) const PRODUCER: Option<ProducerIdAndEpoch> = Some(ProducerIdAndEpoch { id: 7, epoch: 0 });
pub(super) const MAX_IN_FLIGHT: usize = 5;

fn partition() -> TopicPartition {
    ("t".into(), 0)
}

fn batch(id: u64, count: usize, now: Instant) -> Batch {
    let mut builder = BatchBuilder::new(64);
    for _ in 0..count {
        builder.append(0, None, Some(b"v"), &[]).unwrap_or_else(|error| unreachable!("{error}"));
    }
    Batch::new(id, partition(), Arc::default(), builder, now)
}

/// A queue with these batches ready, of one record each.
pub(super) fn queue_with(
    ids: impl IntoIterator<Item = u64>,
    idempotent: bool,
    now: Instant,
) -> PartitionQueue {
    let queue = PartitionQueue::new(partition(), (0, Arc::default()), 16_384, idempotent);
    queue.state.lock().ready.extend(ids.into_iter().map(|id| batch(id, 1, now)));
    queue
}

/// Takes the batch that may be sent next.
pub(super) fn take(state: &mut QueueState, now: Instant) -> Option<Batch> {
    match state.next(PRODUCER, MAX_IN_FLIGHT, now) {
        NextBatch::Ready(at) => state.take(at, now + Duration::from_secs(60), 1),
        _ => None,
    }
}

fn id_of(batch: Option<&Batch>) -> Option<u64> {
    batch.map(|batch| batch.key().0)
}

/// The second and third batch, in flight together after the first was acknowledged.
pub(super) fn two_after_the_first(state: &mut QueueState, now: Instant) -> (Batch, Batch) {
    let first = take(state, now).expect("taken");
    written(state, &first);
    (take(state, now).expect("taken"), take(state, now).expect("taken"))
}

/// The batch comes back and was written.
pub(super) fn written(state: &mut QueueState, batch: &Batch) -> Vec<u64> {
    state.remove_in_flight(batch);
    state.acknowledge(batch).iter().map(|other| other.key().0).collect()
}

pub(super) fn rejected(state: &mut QueueState, mut batch: Batch, out_of_order: bool) {
    batch.out_of_order = out_of_order;
    state.remove_in_flight(&batch);
    state.put_back(batch);
}

#[test]
fn the_first_batch_is_sent_alone_and_then_five_at_once() {
    let now = Instant::now();
    let queue = queue_with(0..8, true, now);
    let mut state = queue.state.lock();
    assert_eq!(state.next(None, MAX_IN_FLIGHT, now), NextBatch::NeedsProducerId);
    let first = take(&mut state, now);
    assert_eq!(id_of(first.as_ref()), Some(0));
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Wait);
    assert!(written(&mut state, &first.expect("taken")).is_empty());
    let five: Vec<Batch> = (0..5).map_while(|_| take(&mut state, now)).collect();
    assert_eq!(five.iter().map(|batch| batch.key().0).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Wait);
}

#[test]
fn without_idempotence_only_max_in_flight_limits() {
    let now = Instant::now();
    let queue = queue_with(0..8, false, now);
    let mut state = queue.state.lock();
    let taken: Vec<Batch> = (0..8).map_while(|_| take(&mut state, now)).collect();
    assert_eq!(taken.len(), MAX_IN_FLIGHT);
    assert!(taken.iter().all(|batch| batch.sequence.is_none()));
}

#[test]
fn a_failed_batch_is_sent_again_before_later_ones() {
    let now = Instant::now();
    let queue = queue_with(0..4, true, now);
    let mut state = queue.state.lock();
    let (second, third) = two_after_the_first(&mut state, now);
    let sequence = second.sequence;
    // The third one comes back first, and must not overtake the second.
    rejected(&mut state, third, false);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Wait);
    rejected(&mut state, second, false);
    let again = take(&mut state, now).expect("taken");
    assert_eq!((again.key().0, again.sequence), (1, sequence), "with the same sequence numbers");
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Wait, "alone, until one is acknowledged");
    written(&mut state, &again);
    assert_eq!(id_of(take(&mut state, now).as_ref()), Some(2));
}

#[test]
fn a_retry_waits_for_its_backoff() {
    let now = Instant::now();
    let queue = queue_with([0], true, now);
    let mut state = queue.state.lock();
    let mut first = take(&mut state, now).expect("taken");
    let later = now + Duration::from_secs(1);
    first.not_before = Some(later);
    rejected(&mut state, first, false);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::NotBefore(later));
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, later), NextBatch::Ready(0));
}

#[test]
fn batches_that_are_all_out_of_order_get_new_sequence_numbers() {
    let now = Instant::now();
    let queue = queue_with(0..3, true, now);
    let mut state = queue.state.lock();
    let (second, third) = two_after_the_first(&mut state, now);
    rejected(&mut state, second, true);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Wait, "one is in flight");
    rejected(&mut state, third, true);
    let again = take(&mut state, now).expect("taken");
    let ProducerState { producer_epoch, base_sequence, .. } =
        again.sequence.expect("a sequence number").stamp();
    assert_eq!((again.key().0, producer_epoch, base_sequence), (1, 1, 0));
}

#[test]
fn a_written_batch_acknowledges_earlier_ones() {
    let now = Instant::now();
    let queue = queue_with(0..3, true, now);
    let mut state = queue.state.lock();
    let (mut second, third) = two_after_the_first(&mut state, now);
    // Its response was lost, and another broker does not know of it.
    assert!(second.begin_attempt());
    rejected(&mut state, second, true);
    assert_eq!(written(&mut state, &third), [1]);
    assert!(state.ready.is_empty());
}

/// Regression: a batch was sent again after the one behind it was acknowledged, to a leader that knew
/// only of that one. The leader rejected it, and it was written twice under new sequence numbers.
#[test]
fn a_rejected_batch_before_a_written_one_was_written() {
    let now = Instant::now();
    let queue = queue_with(0..3, true, now);
    let mut state = queue.state.lock();
    let (second, third) = two_after_the_first(&mut state, now);
    rejected(&mut state, second, false);
    assert!(written(&mut state, &third).is_empty(), "it is sent again, to learn its offset");
    let again = take(&mut state, now).expect("taken");
    assert!(state.is_acknowledged(&again));
    state.remove_in_flight(&again);
    state.abandon(&again);
    state.ready.push_back(batch(3, 1, now));
    let next = take(&mut state, now).expect("taken").sequence.expect("a sequence number").stamp();
    assert_eq!((next.producer_epoch, next.base_sequence), (0, 3), "no gap");
}

#[test]
fn batches_without_sequence_numbers_can_be_taken() {
    let now = Instant::now();
    let queue = queue_with(0..3, true, now);
    let mut state = queue.state.lock();
    let first = take(&mut state, now).expect("taken");
    rejected(&mut state, first, false);
    assert!(state.take_without_sequence(PRODUCER).is_empty(), "the partition has a producer id");
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Ready(0));
    // Its producer id is rejected, and it is the last batch with sequence numbers.
    let first = take(&mut state, now).expect("taken");
    state.invalidate_producer_id(&first);
    rejected(&mut state, first, true);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::NeedsProducerId);
    let others: Vec<u64> = state.take_without_sequence(PRODUCER).iter().map(|batch| batch.key().0).collect();
    assert_eq!(others, [0, 1, 2]);
}

/// The producer state that a broker keeps for one partition: it accepts the next sequence number,
/// recognizes its last five batches, and rejects everything else.
#[derive(Default)]
struct Broker {
    log: Vec<u64>,
    /// By producer id: the epoch, and start and end of the last five batches.
    producers: BTreeMap<i64, (i16, Vec<(i32, i32)>)>,
}

#[derive(Debug, PartialEq)]
enum Response {
    Written,
    OutOfOrder,
}

impl Broker {
    fn append(&mut self, batch: &Batch) -> Response {
        let stamp = batch.sequence.expect("a batch in flight has sequence numbers").stamp();
        let (first, end) = (stamp.base_sequence, stamp.base_sequence + batch.count() as i32);
        let known = self.producers.get(&stamp.producer_id);
        let expected = match known {
            None => first,
            Some((epoch, _)) if *epoch < stamp.producer_epoch => 0,
            Some((epoch, _)) if *epoch > stamp.producer_epoch => return Response::OutOfOrder,
            Some((_, last)) if last.contains(&(first, end)) => return Response::Written,
            Some((_, last)) => last.last().map_or(0, |(_, end)| *end),
        };
        if first != expected {
            return Response::OutOfOrder;
        }
        let (epoch, last) = self.producers.entry(stamp.producer_id).or_default();
        if *epoch != stamp.producer_epoch {
            (*epoch, *last) = (stamp.producer_epoch, Vec::new());
        }
        last.push((first, end));
        if last.len() > 5 {
            last.remove(0);
        }
        self.log.push(batch.key().0);
        Response::Written
    }
}

/// One partition, the connection to its leader, and the results of its batches.
struct Simulation {
    random: fastrand::Rng,
    queue: PartitionQueue,
    current: Option<ProducerIdAndEpoch>,
    now: Instant,
    next_id: u64,
    wire: VecDeque<Batch>,
    broker: Broker,
    acknowledged: BTreeSet<u64>,
    /// Whether each failed batch was reported as possibly written.
    failed: BTreeMap<u64, bool>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            queue: PartitionQueue::new(partition(), (0, Arc::default()), 16_384, true),
            current: None,
            now: Instant::now(),
            next_id: 0,
            wire: VecDeque::new(),
            broker: Broker::default(),
            acknowledged: BTreeSet::new(),
            failed: BTreeMap::new(),
        }
    }

    fn add_batch(&mut self) {
        let new = batch(self.next_id, self.random.usize(1..4), self.now);
        self.next_id += 1;
        self.queue.state.lock().ready.push_back(new);
    }

    fn send(&mut self) {
        let mut state = self.queue.state.lock();
        match state.next(self.current, MAX_IN_FLIGHT, self.now) {
            NextBatch::Ready(at) => {
                if let Some(mut batch) = state.take(at, self.now + Duration::from_secs(60), 1) {
                    assert!(batch.begin_attempt());
                    self.wire.push_back(batch);
                }
            }
            // Sometimes an id whose epochs will soon be used up.
            NextBatch::NeedsProducerId => {
                let id = self.current.map_or(1, |current| current.id + 1);
                let epoch = if self.random.bool() { 0 } else { i16::MAX - 2 };
                self.current = Some(ProducerIdAndEpoch { id, epoch });
            }
            NextBatch::NotBefore(_) | NextBatch::Wait | NextBatch::Rejected => {}
        }
    }

    /// The broker processes the oldest request on the wire, and its response arrives.
    fn respond(&mut self) {
        let Some(mut batch) = self.wire.pop_front() else { return };
        let response = self.broker.append(&batch);
        let mut state = self.queue.state.lock();
        state.remove_in_flight(&batch);
        if response == Response::Written {
            let implied: Vec<u64> = state.acknowledge(&batch).iter().map(|other| other.key().0).collect();
            self.acknowledged.extend(implied.into_iter().chain([batch.key().0]));
        } else {
            batch.attempt_rejected();
            batch.out_of_order = true;
            state.put_back(batch);
        }
    }

    /// The broker responds that it no longer leads the partition.
    fn lose_leadership(&mut self) {
        let Some(mut batch) = self.wire.pop_front() else { return };
        batch.attempt_rejected();
        let mut state = self.queue.state.lock();
        state.remove_in_flight(&batch);
        state.put_back(batch);
    }

    /// The connection closes after some of its requests have arrived.
    fn disconnect(&mut self) {
        let arrived = self.random.usize(0..=self.wire.len());
        let mut state = self.queue.state.lock();
        for (at, batch) in std::mem::take(&mut self.wire).into_iter().enumerate() {
            if at < arrived {
                self.broker.append(&batch);
            }
            state.remove_in_flight(&batch);
            state.put_back(batch);
        }
    }

    /// The oldest ready batch expires.
    fn expire(&mut self) {
        let mut state = self.queue.state.lock();
        let Some(batch) = state.ready.pop_front() else { return };
        state.abandon(&batch);
        let maybe = batch.maybe_written();
        batch.complete(Err(Error::new(Kind::Timeout, "expired")));
        self.failed.insert(batch.key().0, maybe);
    }

    fn check(&self, seed: u64) {
        let log = &self.broker.log;
        let distinct: BTreeSet<_> = log.iter().copied().collect();
        assert_eq!(distinct.len(), log.len(), "seed {seed}: written twice: {log:?}");
        assert!(log.is_sorted(), "seed {seed}: out of order: {log:?}");
        let lost: Vec<_> = self.acknowledged.difference(&distinct).collect();
        assert!(lost.is_empty(), "seed {seed}: acknowledged but not written: {lost:?}");
        let misreported = self.failed.iter().filter(|(id, maybe)| !**maybe && distinct.contains(id)).count();
        assert_eq!(misreported, 0, "seed {seed}: reported as not written but written: {:?}", self.failed);
    }
}

#[test]
fn random_schedules_lose_nothing_and_write_nothing_twice() {
    let mut written = 0;
    let mut failed = 0;
    for seed in 0..3000 {
        let mut simulation = Simulation::new(seed);
        for _ in 0..simulation.random.usize(20..200) {
            match simulation.random.u8(0..20) {
                0..5 => simulation.add_batch(),
                5..11 => simulation.send(),
                11..16 => simulation.respond(),
                16 => simulation.lose_leadership(),
                17 => simulation.disconnect(),
                18 => simulation.expire(),
                _ => {
                    simulation.add_batch();
                    simulation.send();
                }
            }
        }
        // From here on nothing fails, and everything that is left is written.
        for _ in 0..10 * simulation.next_id + 10 {
            simulation.send();
            simulation.respond();
        }
        assert!(simulation.queue.state.lock().ready.is_empty(), "seed {seed}: stuck");
        assert_eq!(
            (simulation.acknowledged.len() + simulation.failed.len()) as u64,
            simulation.next_id,
            "seed {seed}"
        );
        simulation.check(seed);
        written += simulation.broker.log.len();
        failed += simulation.failed.len();
    }
    // The schedules must reach enough states.
    assert!(written > 30_000 && failed > 3000, "{written} written, {failed} failed");
}

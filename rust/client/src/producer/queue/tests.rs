//! Proves of a partition's batches alone: the order in which they may leave, and, over random
//! schedules of answers, lost answers and batches given up, that a broker which checks the numbers has
//! each acknowledged batch once and in order, and none of which it was said that it is not written.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::records::BatchBuilder;
use tokio::time::Duration;

use super::*;
use crate::error::Kind;
use ottla_protocol::records::Stamp;

const PRODUCER: Option<ProducerIdAndEpoch> = Some(ProducerIdAndEpoch { id: 7, epoch: 0 });
const MAX_IN_FLIGHT: usize = 5;

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

/// A queue in which these batches of one record wait.
fn waiting(ids: impl IntoIterator<Item = u64>, idempotent: bool, now: Instant) -> PartitionQueue {
    let queue = PartitionQueue::new(partition(), (0, Arc::default()), 16_384, idempotent);
    queue.state.lock().ready.extend(ids.into_iter().map(|id| batch(id, 1, now)));
    queue
}

/// Takes out what may leave next.
fn take(state: &mut QueueState, now: Instant) -> Option<Batch> {
    match state.next(PRODUCER, MAX_IN_FLIGHT, now) {
        NextBatch::Ready(at) => state.take(at, now + Duration::from_secs(60), 1),
        NextBatch::NotBefore(_) | NextBatch::Wait | NextBatch::NeedsProducerId => None,
    }
}

fn id_of(batch: Option<&Batch>) -> Option<u64> {
    batch.map(|batch| batch.key().0)
}

/// The second and the third batch, on their way together since the first is in the log.
fn two_after_the_first(state: &mut QueueState, now: Instant) -> (Batch, Batch) {
    let first = take(state, now).expect("taken");
    written(state, &first);
    (take(state, now).expect("taken"), take(state, now).expect("taken"))
}

/// The batch is back, and in the log.
fn written(state: &mut QueueState, batch: &Batch) -> Vec<u64> {
    state.remove_in_flight(batch);
    state.acknowledge(batch).iter().map(|other| other.key().0).collect()
}

fn refused(state: &mut QueueState, mut batch: Batch, out_of_order: bool) {
    batch.out_of_order = out_of_order;
    state.remove_in_flight(&batch);
    state.put_back(batch);
}

#[test]
fn one_leaves_alone_and_then_five_at_once() {
    let now = Instant::now();
    let queue = waiting(0..8, true, now);
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
fn without_numbers_the_limit_alone_counts() {
    let now = Instant::now();
    let queue = waiting(0..8, false, now);
    let mut state = queue.state.lock();
    let taken: Vec<Batch> = (0..8).map_while(|_| take(&mut state, now)).collect();
    assert_eq!(taken.len(), MAX_IN_FLIGHT);
    assert!(taken.iter().all(|batch| batch.sequence.is_none()));
}

#[test]
fn what_comes_back_goes_again_before_what_is_after_it() {
    let now = Instant::now();
    let queue = waiting(0..4, true, now);
    let mut state = queue.state.lock();
    let (second, third) = two_after_the_first(&mut state, now);
    let number = second.sequence;
    // The third is back first, and must not overtake the second.
    refused(&mut state, third, false);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Wait);
    refused(&mut state, second, false);
    let again = take(&mut state, now).expect("taken");
    assert_eq!((again.key().0, again.sequence), (1, number), "under the same numbers");
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Wait, "alone, until one is acknowledged");
    written(&mut state, &again);
    assert_eq!(id_of(take(&mut state, now).as_ref()), Some(2));
}

#[test]
fn a_pause_is_kept() {
    let now = Instant::now();
    let queue = waiting([0], true, now);
    let mut state = queue.state.lock();
    let mut first = take(&mut state, now).expect("taken");
    let later = now + Duration::from_secs(1);
    first.not_before = Some(later);
    refused(&mut state, first, false);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::NotBefore(later));
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, later), NextBatch::Ready(0));
}

#[test]
fn batches_that_are_all_denied_get_other_numbers() {
    let now = Instant::now();
    let queue = waiting(0..3, true, now);
    let mut state = queue.state.lock();
    let (second, third) = two_after_the_first(&mut state, now);
    refused(&mut state, second, true);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Wait, "one is on its way");
    refused(&mut state, third, true);
    let again = take(&mut state, now).expect("taken");
    let Stamp { producer_epoch, base_sequence, .. } = again.sequence.expect("sequenced").stamp();
    assert_eq!((again.key().0, producer_epoch, base_sequence), (1, 1, 0));
}

#[test]
fn a_later_batch_in_the_log_proves_those_before_it() {
    let now = Instant::now();
    let queue = waiting(0..3, true, now);
    let mut state = queue.state.lock();
    let (mut second, third) = two_after_the_first(&mut state, now);
    // Its answer was lost, and another broker does not know of it.
    assert!(second.begin_attempt());
    refused(&mut state, second, true);
    assert_eq!(written(&mut state, &third), [1]);
    assert!(state.ready.is_empty());
}

/// Regression: it went again after the one behind it was acknowledged, to a leader that knew of that one
/// alone, was refused, got other numbers, and was in the log twice.
#[test]
fn a_batch_before_one_in_the_log_is_there_although_it_is_refused() {
    let now = Instant::now();
    let queue = waiting(0..3, true, now);
    let mut state = queue.state.lock();
    let (second, third) = two_after_the_first(&mut state, now);
    refused(&mut state, second, false);
    assert!(written(&mut state, &third).is_empty(), "it goes again, to learn its offset");
    let again = take(&mut state, now).expect("taken");
    assert!(state.is_acknowledged(&again));
    state.remove_in_flight(&again);
    state.abandon(&again);
    state.ready.push_back(batch(3, 1, now));
    let next = take(&mut state, now).expect("taken").sequence.expect("sequenced").stamp();
    assert_eq!((next.producer_epoch, next.base_sequence), (0, 3), "no number is lost");
}

#[test]
fn what_has_no_numbers_can_be_taken_out() {
    let now = Instant::now();
    let queue = waiting(0..3, true, now);
    let mut state = queue.state.lock();
    let first = take(&mut state, now).expect("taken");
    refused(&mut state, first, false);
    assert!(state.take_without_sequence(PRODUCER).is_empty(), "the partition has its id");
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::Ready(0));
    // Its id is refused, and its numbers end with the batch that has some.
    let first = take(&mut state, now).expect("taken");
    state.invalidate_producer_id(&first);
    refused(&mut state, first, true);
    assert_eq!(state.next(PRODUCER, MAX_IN_FLIGHT, now), NextBatch::NeedsProducerId);
    let others: Vec<u64> = state.take_without_sequence(PRODUCER).iter().map(|batch| batch.key().0).collect();
    assert_eq!(others, [0, 1, 2]);
}

/// What a broker keeps of the producers of one partition: it takes what follows, recognises its last
/// five batches, and refuses everything else.
#[derive(Default)]
struct Broker {
    log: Vec<u64>,
    /// By id: the epoch, and first and end of the last five batches.
    producers: BTreeMap<i64, (i16, Vec<(i32, i32)>)>,
}

#[derive(Debug, PartialEq)]
enum Answer {
    AppendInfo,
    OutOfOrder,
}

impl Broker {
    fn append(&mut self, batch: &Batch) -> Answer {
        let stamp = batch.sequence.expect("a batch that is sent has numbers").stamp();
        let (first, end) = (stamp.base_sequence, stamp.base_sequence + batch.count() as i32);
        let known = self.producers.get(&stamp.producer_id);
        let expected = match known {
            None => first,
            Some((epoch, _)) if *epoch < stamp.producer_epoch => 0,
            Some((epoch, _)) if *epoch > stamp.producer_epoch => return Answer::OutOfOrder,
            Some((_, last)) if last.contains(&(first, end)) => return Answer::AppendInfo,
            Some((_, last)) => last.last().map_or(0, |(_, end)| *end),
        };
        if first != expected {
            return Answer::OutOfOrder;
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
        Answer::AppendInfo
    }
}

/// One partition, the connection to its leader, and what was told of each batch.
struct World {
    random: fastrand::Rng,
    queue: PartitionQueue,
    current: Option<ProducerIdAndEpoch>,
    now: Instant,
    next_id: u64,
    wire: VecDeque<Batch>,
    broker: Broker,
    acknowledged: BTreeSet<u64>,
    /// Whether each may be in the log.
    failed: BTreeMap<u64, bool>,
}

impl World {
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

    fn fill(&mut self) {
        let made = batch(self.next_id, self.random.usize(1..4), self.now);
        self.next_id += 1;
        self.queue.state.lock().ready.push_back(made);
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
            NextBatch::NotBefore(_) | NextBatch::Wait => {}
        }
    }

    /// The oldest on the wire is written, or refused, and answered.
    fn answer(&mut self) {
        let Some(mut batch) = self.wire.pop_front() else { return };
        let answer = self.broker.append(&batch);
        let mut state = self.queue.state.lock();
        state.remove_in_flight(&batch);
        if answer == Answer::AppendInfo {
            let proved: Vec<u64> = state.acknowledge(&batch).iter().map(|other| other.key().0).collect();
            self.acknowledged.extend(proved.into_iter().chain([batch.key().0]));
        } else {
            batch.attempt_rejected();
            batch.out_of_order = true;
            state.put_back(batch);
        }
    }

    /// The broker does not lead the partition any more, and says so.
    fn turn_away(&mut self) {
        let Some(mut batch) = self.wire.pop_front() else { return };
        batch.attempt_rejected();
        let mut state = self.queue.state.lock();
        state.remove_in_flight(&batch);
        state.put_back(batch);
    }

    /// The connection ends; some of what was on it has arrived.
    fn cut(&mut self) {
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

    /// The time of the oldest that waits is over.
    fn expire(&mut self) {
        let mut state = self.queue.state.lock();
        let Some(batch) = state.ready.pop_front() else { return };
        state.abandon(&batch);
        let maybe = batch.maybe_written();
        batch.complete(Err(Error::new(Kind::Timeout, "its time is over")));
        self.failed.insert(batch.key().0, maybe);
    }

    fn check(&self, seed: u64) {
        let log = &self.broker.log;
        let distinct: BTreeSet<_> = log.iter().copied().collect();
        assert_eq!(distinct.len(), log.len(), "seed {seed}: written twice: {log:?}");
        assert!(log.is_sorted(), "seed {seed}: out of order: {log:?}");
        let lost: Vec<_> = self.acknowledged.difference(&distinct).collect();
        assert!(lost.is_empty(), "seed {seed}: acknowledged and not written: {lost:?}");
        let lied = self.failed.iter().filter(|(id, maybe)| !**maybe && distinct.contains(id)).count();
        assert_eq!(lied, 0, "seed {seed}: said not to be written: {:?}", self.failed);
    }
}

#[test]
fn random_schedules_lose_nothing_and_write_nothing_twice() {
    let mut written = 0;
    let mut failed = 0;
    for seed in 0..3000 {
        let mut world = World::new(seed);
        for _ in 0..world.random.usize(20..200) {
            match world.random.u8(0..20) {
                0..5 => world.fill(),
                5..11 => world.send(),
                11..16 => world.answer(),
                16 => world.turn_away(),
                17 => world.cut(),
                18 => world.expire(),
                _ => {
                    world.fill();
                    world.send();
                }
            }
        }
        // From here on nothing goes wrong, and all that is left gets through.
        for _ in 0..10 * world.next_id + 10 {
            world.send();
            world.answer();
        }
        assert!(world.queue.state.lock().ready.is_empty(), "seed {seed}: stuck");
        assert_eq!((world.acknowledged.len() + world.failed.len()) as u64, world.next_id, "seed {seed}");
        world.check(seed);
        written += world.broker.log.len();
        failed += world.failed.len();
    }
    // The schedules are worth something.
    assert!(written > 30_000 && failed > 3000, "{written} written, {failed} failed");
}

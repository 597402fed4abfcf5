//! Sequence numbers in transactions: only the coordinator assigns epochs.

use super::tests::{MAX_IN_FLIGHT, queue_with, rejected, take, two_after_the_first, written};
use super::*;

const FIRST: ProducerIdAndEpoch = ProducerIdAndEpoch { id: 9, epoch: 4 };

fn begun(ids: impl IntoIterator<Item = u64>, now: Instant) -> PartitionQueue {
    let queue = queue_with(ids, true, now);
    queue.state.lock().begin_transaction(PartitionTransaction::default(), FIRST);
    queue
}

fn stamp(batch: &Batch) -> (i16, i32, bool) {
    let stamp = batch.sequence.expect("sequence numbers").stamp();
    (stamp.producer_epoch, stamp.base_sequence, stamp.transactional)
}

#[test]
fn sequence_numbers_continue_in_the_next_transaction_unless_the_epoch_is_new() {
    let now = Instant::now();
    let queue = begun(0..3, now);
    let mut state = queue.state.lock();
    let first = take(&mut state, now).expect("taken");
    assert_eq!(stamp(&first), (4, 0, true));
    written(&mut state, &first);
    state.begin_transaction(PartitionTransaction::default(), FIRST);
    let second = take(&mut state, now).expect("taken");
    assert_eq!(stamp(&second), (4, 1, true));
    written(&mut state, &second);
    state.begin_transaction(PartitionTransaction::default(), ProducerIdAndEpoch { epoch: 5, ..FIRST });
    assert_eq!(stamp(&take(&mut state, now).expect("taken")), (5, 0, true));
}

#[test]
fn batches_that_are_out_of_order_are_not_renumbered() {
    let now = Instant::now();
    let queue = begun(0..3, now);
    let mut state = queue.state.lock();
    let (second, third) = two_after_the_first(&mut state, now);
    rejected(&mut state, third, true);
    assert_eq!(state.next(None, MAX_IN_FLIGHT, now), NextBatch::Wait, "the second may still be written");
    rejected(&mut state, second, true);
    assert_eq!(state.next(None, MAX_IN_FLIGHT, now), NextBatch::Rejected);
}

#[test]
fn nothing_is_sent_after_a_gap() {
    let now = Instant::now();
    let queue = begun(0..3, now);
    let mut state = queue.state.lock();
    let mut first = take(&mut state, now).expect("taken");
    assert!(first.begin_attempt());
    state.remove_in_flight(&first);
    state.abandon(&first);
    assert_eq!(state.next(None, MAX_IN_FLIGHT, now), NextBatch::Wait);
}

#[test]
fn batches_of_a_transaction_are_in_flight_together_from_the_first_on() {
    let now = Instant::now();
    let queue = begun(0..3, now);
    let mut state = queue.state.lock();
    let stamps: Vec<_> = (0..3).map_while(|_| take(&mut state, now)).map(|batch| stamp(&batch)).collect();
    assert_eq!(stamps, [(4, 0, true), (4, 1, true), (4, 2, true)]);
}

#[test]
fn a_batch_that_another_one_overtook_is_not_taken_for_written() {
    let now = Instant::now();
    let queue = begun(0..3, now);
    let mut state = queue.state.lock();
    let mut batches: Vec<_> = (0..3).map_while(|_| take(&mut state, now)).collect();
    let third = batches.pop().expect("three");
    // The broker did not know the producer: it began with the third batch, and refuses the others.
    assert!(written(&mut state, &third).is_empty());
    for overtaken in batches {
        assert!(!state.is_acknowledged(&overtaken));
        rejected(&mut state, overtaken, true);
    }
    assert_eq!(state.next(None, MAX_IN_FLIGHT, now), NextBatch::Rejected);
}

#[test]
fn a_batch_between_two_that_were_acknowledged_is_written() {
    let now = Instant::now();
    let queue = begun(0..3, now);
    let mut state = queue.state.lock();
    let batches: Vec<_> = (0..3).map_while(|_| take(&mut state, now)).collect();
    assert!(written(&mut state, &batches[2]).is_empty());
    assert!(written(&mut state, &batches[0]).is_empty());
    assert!(state.is_acknowledged(&batches[1]), "the broker would have refused the third one");
}

//! Tests sequence numbers: they are consecutive and wrap where the protocol's do; one is reused only
//! if no broker can have written it; the epoch is bumped only with nothing in flight.

use super::*;

const PRODUCER: ProducerIdAndEpoch = ProducerIdAndEpoch { id: 7, epoch: 0 };

fn next_batch(
    sequences: &mut SequenceState,
    current: Option<ProducerIdAndEpoch>,
    count: usize,
) -> BatchSequence {
    assert_eq!(sequences.prepare(current, 0), SequenceAvailability::Available);
    sequences.assign(count).unwrap_or_else(|| unreachable!("the sequence state is prepared"))
}

/// Id, epoch and first sequence number.
fn fields(sequence: BatchSequence) -> (i64, i16, i32) {
    let stamp = sequence.stamp();
    (stamp.producer_id, stamp.producer_epoch, stamp.base_sequence)
}

#[test]
fn sequence_numbers_are_consecutive() {
    let mut sequences = SequenceState::default();
    assert_eq!(sequences.prepare(None, 0), SequenceAvailability::NeedsProducerId);
    assert_eq!(fields(next_batch(&mut sequences, Some(PRODUCER), 3)), (7, 0, 0));
    let second = next_batch(&mut sequences, Some(PRODUCER), 5);
    assert_eq!(fields(second), (7, 0, 3));
    assert_eq!(fields(second.skip(2)), (7, 0, 5));
    assert_eq!(fields(next_batch(&mut sequences, Some(PRODUCER), 1)), (7, 0, 8));
}

#[test]
fn sequence_numbers_wrap_after_31_bits() {
    let mut sequences = SequenceState::default();
    let first = next_batch(&mut sequences, Some(PRODUCER), i32::MAX as usize);
    assert_eq!(fields(first), (7, 0, 0));
    let last = next_batch(&mut sequences, Some(PRODUCER), 4);
    assert_eq!(fields(last), (7, 0, i32::MAX));
    assert_eq!(fields(last.skip(1)), (7, 0, 0));
    assert_eq!(fields(next_batch(&mut sequences, Some(PRODUCER), 1)), (7, 0, 3));
}

#[test]
fn only_one_batch_is_in_flight_until_one_is_acknowledged() {
    let mut sequences = SequenceState::default();
    let first = next_batch(&mut sequences, Some(PRODUCER), 2);
    assert_eq!(sequences.prepare(Some(PRODUCER), 1), SequenceAvailability::WaitForInFlight);
    sequences.acknowledge(first, 2);
    assert_eq!(sequences.prepare(Some(PRODUCER), 1), SequenceAvailability::Available);
    sequences.retry();
    assert_eq!(sequences.prepare(Some(PRODUCER), 1), SequenceAvailability::WaitForInFlight);
}

#[test]
fn the_last_sequence_number_is_reused_if_it_cannot_be_written() {
    let mut sequences = SequenceState::default();
    next_batch(&mut sequences, Some(PRODUCER), 4);
    let failed = next_batch(&mut sequences, Some(PRODUCER), 2);
    sequences.abandon(failed, 2, true, false);
    assert_eq!(fields(next_batch(&mut sequences, Some(PRODUCER), 1)), (7, 0, 4));
}

#[test]
fn a_gap_bumps_the_epoch_once_nothing_is_in_flight() {
    for (last, maybe) in [(true, true), (false, false), (false, true)] {
        let mut sequences = SequenceState::default();
        let first = next_batch(&mut sequences, Some(PRODUCER), 1);
        sequences.acknowledge(first, 1);
        let failed = next_batch(&mut sequences, Some(PRODUCER), 2);
        let after = next_batch(&mut sequences, Some(PRODUCER), 1);
        sequences.abandon(failed, 2, last, maybe);
        assert_eq!(
            sequences.prepare(Some(PRODUCER), 1),
            SequenceAvailability::WaitForInFlight,
            "one is in flight"
        );
        assert_eq!(fields(next_batch(&mut sequences, Some(PRODUCER), 1)), (7, 1, 0));
        // An acknowledgement of an old epoch changes nothing.
        sequences.acknowledge(after, 1);
        assert_eq!(sequences.prepare(Some(PRODUCER), 1), SequenceAvailability::WaitForInFlight);
    }
}

#[test]
fn a_later_acknowledgement_closes_the_gap() {
    let mut sequences = SequenceState::default();
    let first = next_batch(&mut sequences, Some(PRODUCER), 1);
    sequences.acknowledge(first, 1);
    let lost = next_batch(&mut sequences, Some(PRODUCER), 2);
    let after = next_batch(&mut sequences, Some(PRODUCER), 3);
    sequences.abandon(lost, 2, false, true);
    // A broker that knows the producer accepts only consecutive numbers: the lost batch is in its log too.
    sequences.acknowledge(after, 3);
    assert_eq!(fields(next_batch(&mut sequences, Some(PRODUCER), 1)), (7, 0, 6));
}

#[test]
fn an_acknowledgement_says_nothing_about_what_came_before_the_first_one() {
    let mut sequences = SequenceState::default();
    let lost = next_batch(&mut sequences, Some(PRODUCER), 2);
    let after = next_batch(&mut sequences, Some(PRODUCER), 3);
    sequences.abandon(lost, 2, false, true);
    // A broker that does not know the producer accepts any number.
    sequences.acknowledge(after, 3);
    assert!(!sequences.is_acknowledged(lost));
    assert_eq!(fields(next_batch(&mut sequences, Some(PRODUCER), 1)), (7, 1, 0), "the gap is still there");
}

#[test]
fn an_id_without_further_epochs_is_not_used_again() {
    let last = ProducerIdAndEpoch { id: 7, epoch: i16::MAX };
    let mut sequences = SequenceState::default();
    let lost = next_batch(&mut sequences, Some(last), 1);
    sequences.abandon(lost, 1, true, true);
    assert_eq!(sequences.prepare(Some(last), 0), SequenceAvailability::NeedsProducerId);
    assert!(sequences.needs_producer_id(Some(last)));
    let other = ProducerIdAndEpoch { id: 8, epoch: 0 };
    assert!(!sequences.needs_producer_id(Some(other)));
    assert_eq!(fields(next_batch(&mut sequences, Some(other), 1)), (8, 0, 0));
}

#[test]
fn an_id_that_a_broker_rejects_is_replaced() {
    let mut sequences = SequenceState::default();
    let rejected = next_batch(&mut sequences, Some(PRODUCER), 1);
    sequences.invalidate_producer_id(rejected);
    sequences.bump_epoch();
    assert_eq!(sequences.prepare(Some(PRODUCER), 0), SequenceAvailability::NeedsProducerId);
    let other = ProducerIdAndEpoch { id: 9, epoch: 4 };
    assert_eq!(fields(next_batch(&mut sequences, Some(other), 1)), (9, 4, 0));
}

//! Proves of the sequences alone: they follow each other and wrap where the protocol does; a number is
//! used again only if nobody can have written it; an epoch is raised only with nothing on its way.

use super::*;

const PRODUCER: ProducerIdAndEpoch = ProducerIdAndEpoch { id: 7, epoch: 0 };

fn numbered(
    sequences: &mut SequenceState,
    current: Option<ProducerIdAndEpoch>,
    count: usize,
) -> BatchSequence {
    assert_eq!(sequences.prepare(current, 0), SequenceAvailability::Available);
    sequences.assign(count).unwrap_or_else(|| unreachable!("it may have sequences"))
}

/// Id, epoch and first number.
fn fields(sequence: BatchSequence) -> (i64, i16, i32) {
    let stamp = sequence.stamp();
    (stamp.producer_id, stamp.producer_epoch, stamp.base_sequence)
}

#[test]
fn numbers_follow_each_other() {
    let mut sequences = SequenceState::default();
    assert_eq!(sequences.prepare(None, 0), SequenceAvailability::NeedsProducerId);
    assert_eq!(fields(numbered(&mut sequences, Some(PRODUCER), 3)), (7, 0, 0));
    let second = numbered(&mut sequences, Some(PRODUCER), 5);
    assert_eq!(fields(second), (7, 0, 3));
    assert_eq!(fields(second.skip(2)), (7, 0, 5));
    assert_eq!(fields(numbered(&mut sequences, Some(PRODUCER), 1)), (7, 0, 8));
}

#[test]
fn they_wrap_after_31_bits() {
    let mut sequences = SequenceState::default();
    let first = numbered(&mut sequences, Some(PRODUCER), i32::MAX as usize);
    assert_eq!(fields(first), (7, 0, 0));
    let last = numbered(&mut sequences, Some(PRODUCER), 4);
    assert_eq!(fields(last), (7, 0, i32::MAX));
    assert_eq!(fields(last.skip(1)), (7, 0, 0));
    assert_eq!(fields(numbered(&mut sequences, Some(PRODUCER), 1)), (7, 0, 3));
}

#[test]
fn more_than_one_is_on_its_way_only_after_one_was_acknowledged() {
    let mut sequences = SequenceState::default();
    let first = numbered(&mut sequences, Some(PRODUCER), 2);
    assert_eq!(sequences.prepare(Some(PRODUCER), 1), SequenceAvailability::WaitForInFlight);
    sequences.acknowledge(first, 2);
    assert_eq!(sequences.prepare(Some(PRODUCER), 1), SequenceAvailability::Available);
    sequences.retry();
    assert_eq!(sequences.prepare(Some(PRODUCER), 1), SequenceAvailability::WaitForInFlight);
}

#[test]
fn the_last_number_is_used_again_if_nobody_can_have_written_it() {
    let mut sequences = SequenceState::default();
    numbered(&mut sequences, Some(PRODUCER), 4);
    let given_up = numbered(&mut sequences, Some(PRODUCER), 2);
    sequences.abandon(given_up, 2, true, false);
    assert_eq!(fields(numbered(&mut sequences, Some(PRODUCER), 1)), (7, 0, 4));
}

#[test]
fn a_gap_raises_the_epoch_when_nothing_is_on_its_way() {
    for (last, maybe) in [(true, true), (false, false), (false, true)] {
        let mut sequences = SequenceState::default();
        let first = numbered(&mut sequences, Some(PRODUCER), 1);
        sequences.acknowledge(first, 1);
        let given_up = numbered(&mut sequences, Some(PRODUCER), 2);
        let after = numbered(&mut sequences, Some(PRODUCER), 1);
        sequences.abandon(given_up, 2, last, maybe);
        assert_eq!(
            sequences.prepare(Some(PRODUCER), 1),
            SequenceAvailability::WaitForInFlight,
            "one is on its way"
        );
        assert_eq!(fields(numbered(&mut sequences, Some(PRODUCER), 1)), (7, 1, 0));
        // What is told of an epoch that is over changes nothing.
        sequences.acknowledge(after, 1);
        assert_eq!(sequences.prepare(Some(PRODUCER), 1), SequenceAvailability::WaitForInFlight);
    }
}

#[test]
fn a_later_acknowledgement_closes_the_gap() {
    let mut sequences = SequenceState::default();
    let lost = numbered(&mut sequences, Some(PRODUCER), 2);
    let after = numbered(&mut sequences, Some(PRODUCER), 3);
    sequences.abandon(lost, 2, false, true);
    // A broker takes what follows only: the first is in its log, too.
    sequences.acknowledge(after, 3);
    assert_eq!(fields(numbered(&mut sequences, Some(PRODUCER), 1)), (7, 0, 5));
}

#[test]
fn an_id_whose_epochs_are_used_up_is_not_taken_again() {
    let last = ProducerIdAndEpoch { id: 7, epoch: i16::MAX };
    let mut sequences = SequenceState::default();
    let lost = numbered(&mut sequences, Some(last), 1);
    sequences.abandon(lost, 1, true, true);
    assert_eq!(sequences.prepare(Some(last), 0), SequenceAvailability::NeedsProducerId);
    assert!(sequences.needs_producer_id(Some(last)));
    let other = ProducerIdAndEpoch { id: 8, epoch: 0 };
    assert!(!sequences.needs_producer_id(Some(other)));
    assert_eq!(fields(numbered(&mut sequences, Some(other), 1)), (8, 0, 0));
}

#[test]
fn an_id_that_a_broker_refuses_is_given_up() {
    let mut sequences = SequenceState::default();
    let refused = numbered(&mut sequences, Some(PRODUCER), 1);
    sequences.invalidate_producer_id(refused);
    sequences.bump_epoch();
    assert_eq!(sequences.prepare(Some(PRODUCER), 0), SequenceAvailability::NeedsProducerId);
    let other = ProducerIdAndEpoch { id: 9, epoch: 4 };
    assert_eq!(fields(numbered(&mut sequences, Some(other), 1)), (9, 4, 0));
}

//! Proves of the numbers alone: they follow each other and wrap where the protocol does; a number is
//! used again only if nobody can have written it; an epoch is raised only with nothing on its way.

use super::*;

const ME: ProducerId = ProducerId { id: 7, epoch: 0 };

fn numbered(numbers: &mut Numbers, current: Option<ProducerId>, count: usize) -> Sequence {
    assert_eq!(numbers.may_number(current, 0), May::Number);
    numbers.number(count).unwrap_or_else(|| unreachable!("it may have numbers"))
}

/// Id, epoch and first number.
fn told(sequence: Sequence) -> (i64, i16, i32) {
    let stamp = sequence.stamp();
    (stamp.producer_id, stamp.producer_epoch, stamp.base_sequence)
}

#[test]
fn numbers_follow_each_other() {
    let mut numbers = Numbers::default();
    assert_eq!(numbers.may_number(None, 0), May::Identify);
    assert_eq!(told(numbered(&mut numbers, Some(ME), 3)), (7, 0, 0));
    let second = numbered(&mut numbers, Some(ME), 5);
    assert_eq!(told(second), (7, 0, 3));
    assert_eq!(told(second.skip(2)), (7, 0, 5));
    assert_eq!(told(numbered(&mut numbers, Some(ME), 1)), (7, 0, 8));
}

#[test]
fn they_wrap_after_31_bits() {
    let mut numbers = Numbers::default();
    let first = numbered(&mut numbers, Some(ME), i32::MAX as usize);
    assert_eq!(told(first), (7, 0, 0));
    let last = numbered(&mut numbers, Some(ME), 4);
    assert_eq!(told(last), (7, 0, i32::MAX));
    assert_eq!(told(last.skip(1)), (7, 0, 0));
    assert_eq!(told(numbered(&mut numbers, Some(ME), 1)), (7, 0, 3));
}

#[test]
fn more_than_one_is_on_its_way_only_after_one_was_acknowledged() {
    let mut numbers = Numbers::default();
    let first = numbered(&mut numbers, Some(ME), 2);
    assert_eq!(numbers.may_number(Some(ME), 1), May::Wait);
    numbers.written(first, 2);
    assert_eq!(numbers.may_number(Some(ME), 1), May::Number);
    numbers.failed();
    assert_eq!(numbers.may_number(Some(ME), 1), May::Wait);
}

#[test]
fn the_last_number_is_used_again_if_nobody_can_have_written_it() {
    let mut numbers = Numbers::default();
    numbered(&mut numbers, Some(ME), 4);
    let given_up = numbered(&mut numbers, Some(ME), 2);
    numbers.given_up(given_up, 2, true, false);
    assert_eq!(told(numbered(&mut numbers, Some(ME), 1)), (7, 0, 4));
}

#[test]
fn a_gap_raises_the_epoch_when_nothing_is_on_its_way() {
    for (last, maybe) in [(true, true), (false, false), (false, true)] {
        let mut numbers = Numbers::default();
        let first = numbered(&mut numbers, Some(ME), 1);
        numbers.written(first, 1);
        let given_up = numbered(&mut numbers, Some(ME), 2);
        let after = numbered(&mut numbers, Some(ME), 1);
        numbers.given_up(given_up, 2, last, maybe);
        assert_eq!(numbers.may_number(Some(ME), 1), May::Wait, "one is on its way");
        assert_eq!(told(numbered(&mut numbers, Some(ME), 1)), (7, 1, 0));
        // What is told of an epoch that is over changes nothing.
        numbers.written(after, 1);
        assert_eq!(numbers.may_number(Some(ME), 1), May::Wait);
    }
}

#[test]
fn a_later_acknowledgement_closes_the_gap() {
    let mut numbers = Numbers::default();
    let lost = numbered(&mut numbers, Some(ME), 2);
    let after = numbered(&mut numbers, Some(ME), 3);
    numbers.given_up(lost, 2, false, true);
    // A broker takes what follows only: the first is in its log, too.
    numbers.written(after, 3);
    assert_eq!(told(numbered(&mut numbers, Some(ME), 1)), (7, 0, 5));
}

#[test]
fn an_id_whose_epochs_are_used_up_is_not_taken_again() {
    let last = ProducerId { id: 7, epoch: i16::MAX };
    let mut numbers = Numbers::default();
    let lost = numbered(&mut numbers, Some(last), 1);
    numbers.given_up(lost, 1, true, true);
    assert_eq!(numbers.may_number(Some(last), 0), May::Identify);
    assert!(numbers.needs_id(Some(last)));
    let other = ProducerId { id: 8, epoch: 0 };
    assert!(!numbers.needs_id(Some(other)));
    assert_eq!(told(numbered(&mut numbers, Some(other), 1)), (8, 0, 0));
}

#[test]
fn an_id_that_a_broker_refuses_is_given_up() {
    let mut numbers = Numbers::default();
    let refused = numbered(&mut numbers, Some(ME), 1);
    numbers.spend(refused);
    numbers.start_over();
    assert_eq!(numbers.may_number(Some(ME), 0), May::Identify);
    let other = ProducerId { id: 9, epoch: 4 };
    assert_eq!(told(numbered(&mut numbers, Some(other), 1)), (9, 4, 0));
}

//! How a position moves over what was handed out and over what holds nothing.

use super::*;

fn at(offset: i64) -> Standing {
    Standing { offset, epoch: 1 }
}

/// A slot that stands at 0.
fn slot() -> Slot {
    let mut slot = Slot::new(1, Phase::Fetch);
    slot.stand_at(at(0));
    slot
}

#[test]
fn what_holds_nothing_is_passed_only_behind_what_was_handed_out() {
    let mut slot = slot();
    // Rows to 10, nothing to 20, rows to 30, nothing to 40.
    slot.pass(10, at(20));
    slot.pass(30, at(40));
    assert_eq!(slot.position, at(0));
    slot.handed_out(at(5));
    assert_eq!(slot.position, at(5));
    slot.handed_out(at(10));
    assert_eq!(slot.position, at(20));
    slot.handed_out(at(25));
    assert_eq!(slot.position, at(25));
    slot.handed_out(at(30));
    assert_eq!(slot.position, at(40));
}

#[test]
fn what_holds_nothing_and_comes_first_is_passed_at_once() {
    let mut slot = slot();
    slot.pass(0, at(7));
    assert_eq!(slot.position, at(7));
    slot.pass(7, at(9));
    assert_eq!(slot.position, at(9));
}

#[test]
fn starting_over_forgets_what_was_to_be_passed() {
    let mut slot = slot();
    slot.pass(10, at(20));
    slot.restart(2, Phase::Fetch, at(3));
    slot.handed_out(at(10));
    assert_eq!(slot.position, at(10));
}

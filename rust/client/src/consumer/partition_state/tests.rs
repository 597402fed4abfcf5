//! How a position moves over what was handed out and over what holds nothing.

use std::sync::Arc;

use bytes::Bytes;

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

/// A piece of 10 bytes that came in an answer of `frame`, as which `held` counts.
fn piece(start: i64, frame: usize, held: &Arc<()>) -> Prefetched {
    struct Answer(Vec<u8>, #[allow(dead_code, reason = "counted")] Arc<()>);
    impl AsRef<[u8]> for Answer {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let answer = Bytes::from_owner(Answer(vec![7; frame], Arc::clone(held)));
    Prefetched {
        partition: ("t".into(), 0),
        version: 1,
        records: answer.slice(..10),
        frame,
        start,
        end: start + 1,
        epoch: 1,
        aborted: None,
        decoded: None,
    }
}

/// Regression: a record of a paused partition kept the whole answer that it came in, with what others had
/// long been handed of it, and only the record's own bytes were counted.
#[test]
fn what_is_kept_of_a_paused_partition_keeps_no_answer_of_others() {
    let held = Arc::new(());
    let mut slot = slot();
    slot.push(piece(0, 1000, &held));
    slot.push(piece(1, 15, &held));
    slot.pause(true);
    slot.push(piece(2, 1000, &held));
    // The one that most of its answer is the partition's own.
    assert_eq!(Arc::strong_count(&held), 2);
    slot.pause(false);
    slot.push(piece(3, 1000, &held));
    assert_eq!(Arc::strong_count(&held), 3);
    for offset in 0..4 {
        let taken = slot.pop().map(|piece| (piece.start, piece.records));
        assert_eq!(taken, Some((offset, Bytes::from_static(&[7; 10]))));
    }
}

/// Regression: what was held back took the room of others (`consumer_stalls.rs`).
#[test]
fn what_is_held_back_is_dropped_and_begun_again_at_the_position() {
    let held = Arc::new(());
    let mut slot = slot();
    slot.push(piece(0, 15, &held));
    slot.phase = Phase::OutOfRange;
    assert!(!slot.is_held_back());
    slot.pause(true);
    assert!(slot.is_held_back());
    assert_eq!(slot.drain(), 10);
    slot.rewind();
    assert!(!slot.is_held_back());
    assert_eq!((slot.fetched, slot.phase), (at(0), Phase::Fetch));
}

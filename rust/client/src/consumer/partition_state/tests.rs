//! How a position moves over delivered records and empty ranges.

use std::sync::Arc;

use bytes::Bytes;

use super::*;

fn at(offset: i64) -> FetchPosition {
    FetchPosition { offset, epoch: 1 }
}

/// A partition at position 0.
fn state() -> PartitionState {
    let mut state = PartitionState::new(1, FetchState::Fetching);
    state.set_position(at(0));
    state
}

#[test]
fn an_empty_range_is_skipped_after_the_records_before_it() {
    let mut state = state();
    // Records to 10, nothing to 20, records to 30, nothing to 40.
    state.mark_empty(10, at(20));
    state.mark_empty(30, at(40));
    assert_eq!(state.position, at(0));
    state.mark_delivered(at(5));
    assert_eq!(state.position, at(5));
    state.mark_delivered(at(10));
    assert_eq!(state.position, at(20));
    state.mark_delivered(at(25));
    assert_eq!(state.position, at(25));
    state.mark_delivered(at(30));
    assert_eq!(state.position, at(40));
}

#[test]
fn a_leading_empty_range_is_skipped_at_once() {
    let mut state = state();
    state.mark_empty(0, at(7));
    assert_eq!(state.position, at(7));
    state.mark_empty(7, at(9));
    assert_eq!(state.position, at(9));
}

#[test]
fn a_reset_forgets_empty_ranges() {
    let mut state = state();
    state.mark_empty(10, at(20));
    state.reset(2, FetchState::Fetching, at(3));
    state.mark_delivered(at(10));
    assert_eq!(state.position, at(10));
}

/// A fetch of 10 bytes from a response of `response_bytes`, which `retained` counts.
fn fetch(start: i64, response_bytes: usize, retained: &Arc<()>) -> CompletedFetch {
    struct Response(Vec<u8>, #[allow(dead_code, reason = "counted")] Arc<()>);
    impl AsRef<[u8]> for Response {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let response = Bytes::from_owner(Response(vec![7; response_bytes], Arc::clone(retained)));
    CompletedFetch {
        partition: ("t".into(), 0),
        version: 1,
        records: response.slice(..10),
        response_bytes,
        start,
        end: start + 1,
        epoch: 1,
        aborted: None,
        remaining: None,
    }
}

/// Regression: a record of a paused partition retained its whole response, including records of other
/// partitions that had long been delivered, and only the record's own bytes were counted.
#[test]
fn buffered_records_of_a_paused_partition_do_not_retain_their_response() {
    let retained = Arc::new(());
    let mut state = state();
    state.push(fetch(0, 1000, &retained));
    state.push(fetch(1, 15, &retained));
    state.set_paused(true);
    state.push(fetch(2, 1000, &retained));
    // The fetch that makes up most of its response.
    assert_eq!(Arc::strong_count(&retained), 2);
    state.set_paused(false);
    state.push(fetch(3, 1000, &retained));
    assert_eq!(Arc::strong_count(&retained), 3);
    for offset in 0..4 {
        let popped = state.pop().map(|fetch| (fetch.start, fetch.records));
        assert_eq!(popped, Some((offset, Bytes::from_static(&[7; 10]))));
    }
}

/// Regression: buffered records of paused partitions took the room of others (`consumer_stalls.rs`).
#[test]
fn paused_records_are_dropped_and_fetched_again_from_the_position() {
    let retained = Arc::new(());
    let mut state = state();
    state.push(fetch(0, 15, &retained));
    state.fetch_state = FetchState::OutOfRange;
    assert!(!state.has_paused_data());
    state.set_paused(true);
    assert!(state.has_paused_data());
    assert_eq!(state.drop_buffered(), 10);
    state.rewind();
    assert!(!state.has_paused_data());
    assert_eq!((state.next_fetch, state.fetch_state), (at(0), FetchState::Fetching));
}

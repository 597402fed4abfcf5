//! The transitions of a transactional producer.

use super::*;

const FIRST: ProducerIdAndEpoch = ProducerIdAndEpoch { id: 7, epoch: 0 };

fn ready() -> TransactionState {
    let mut state = TransactionState::new();
    state.begin_init().expect("uninitialized");
    state.initialized(FIRST);
    state
}

fn in_transaction() -> TransactionState {
    let mut state = ready();
    state.begin(TransactionProtocol::V2).expect("ready");
    state
}

fn lost_record() -> Error {
    Error::new(Kind::Timeout, "not acknowledged")
}

fn fenced() -> Error {
    Error::new(Kind::Fenced, "fenced")
}

#[test]
fn each_call_in_a_wrong_order_is_a_state_error_that_says_what_to_call() {
    let mut new = TransactionState::new();
    let error = new.begin(TransactionProtocol::V1).expect_err("not initialized");
    assert_eq!(
        (error.kind(), error.message()),
        (Kind::State, "begin_transaction: call init_transactions first")
    );
    let mut ready = ready();
    for error in [
        ready.begin_end(TransactionResult::Commit).expect_err("no transaction"),
        ready.begin_end(TransactionResult::Abort).expect_err("no transaction"),
        ready.open("send").expect_err("no transaction"),
    ] {
        assert_eq!(error.kind(), Kind::State);
        assert!(error.message().ends_with("no transaction is open: call begin_transaction first"), "{error}");
    }
    assert!(ready.begin_init().expect_err("initialized").message().contains("once per producer"));
    let mut open = in_transaction();
    let error = open.begin(TransactionProtocol::V1).expect_err("open");
    assert!(error.message().ends_with("a transaction is open: commit or abort it first"), "{error}");
}

#[test]
fn a_transaction_with_a_failed_record_can_only_be_aborted_and_the_next_one_works() {
    let mut state = in_transaction();
    state.fail(&lost_record());
    let error = state.begin_end(TransactionResult::Commit).expect_err("a record failed");
    assert_eq!(error.kind(), Kind::TransactionAbortable);
    assert!(error.message().contains("not acknowledged"), "{error}");
    assert!(state.open("send").is_err());
    state.begin_end(TransactionResult::Abort).expect("abortable");
    state.ended(None);
    assert_eq!(state.begin(TransactionProtocol::V2).expect("ready"), 2);
}

#[test]
fn a_record_that_fails_during_the_commit_stops_it() {
    let mut state = in_transaction();
    state.begin_end(TransactionResult::Commit).expect("open");
    state.fail(&lost_record());
    assert!(!state.is_ending(TransactionResult::Commit));
    assert_eq!(state.failure().map(|error| error.kind()), Some(Kind::TransactionAbortable));
}

#[test]
fn a_fatal_error_is_final() {
    let mut state = in_transaction();
    state.fail_fatally(&fenced());
    state.fail(&lost_record());
    state.initialized(FIRST);
    state.ended(None);
    for error in [
        state.begin_init().expect_err("fatal"),
        state.begin(TransactionProtocol::V1).expect_err("fatal"),
        state.begin_end(TransactionResult::Abort).expect_err("fatal"),
        state.open("send").expect_err("fatal"),
    ] {
        assert_eq!((error.kind(), error.is_fatal()), (Kind::Fenced, true));
    }
}

#[test]
fn a_fatal_error_of_another_kind_keeps_its_kind_and_says_to_close() {
    let cause = Error::new(Kind::Authorization, "not authorized");
    let mut state = in_transaction();
    state.fail_fatally(&cause);
    let error = state.failure().expect("fatal");
    assert_eq!((error.kind(), error.is_fatal()), (Kind::Authorization, true));
    assert!(error.message().contains("close this producer"), "{error}");
}

#[test]
fn an_unknown_outcome_requires_a_new_epoch_before_the_next_transaction() {
    let mut state = in_transaction();
    state.start();
    state.begin_end(TransactionResult::Commit).expect("open");
    state.require_new_epoch();
    let next = ProducerIdAndEpoch { id: 7, epoch: 1 };
    state.ended(Some(next));
    assert!(state.is_ending(TransactionResult::Commit), "the next transaction must not begin yet");
    assert!(!state.is_started());
    let newer = ProducerIdAndEpoch { id: 7, epoch: 2 };
    state.initialized(newer);
    assert!(!state.needs_new_epoch());
    state.begin(TransactionProtocol::V2).expect("ready");
    assert_eq!(state.producer(), Some(newer));
}

#[test]
fn records_that_fail_while_the_transaction_is_aborted_change_nothing() {
    let mut state = in_transaction();
    state.begin_end(TransactionResult::Abort).expect("open");
    state.fail(&lost_record());
    assert!(state.is_ending(TransactionResult::Abort));
    assert_eq!(state.abort_reason().map(|error| error.kind()), Some(Kind::TransactionAborted));
}

#[test]
fn protocol_2_waits_for_an_epoch_that_protocol_1_has_not_used() {
    let mut state = ready();
    for _ in 0..2 {
        state.begin(TransactionProtocol::V1).expect("ready");
        state.begin_end(TransactionResult::Commit).expect("open");
        state.ended(None);
        assert!(state.has_epoch_of_v1());
    }
    state.begin(TransactionProtocol::V2).expect("ready");
    assert_eq!(state.protocol(), TransactionProtocol::V1);
    state.begin_end(TransactionResult::Commit).expect("open");
    state.ended(None);
    state.initialized(ProducerIdAndEpoch { id: 7, epoch: 1 });
    state.begin(TransactionProtocol::V2).expect("ready");
    assert_eq!(state.protocol(), TransactionProtocol::V2);
}

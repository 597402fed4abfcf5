//! Proves: error codes, times and records are found where each API has them; a response keeps its length.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::time::Instant;

use ottla_client::Endpoint;
use ottla_faults::{Fault, FaultId, Match, Reaction};
use ottla_protocol::messages::add_partitions_to_txn::AddPartitionsToTxnResponse;
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::messages::heartbeat::HeartbeatResponse;
use ottla_protocol::messages::join_group::JoinGroupResponse;
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use ottla_protocol::wire::{Reader, Uuid};
use ottla_protocol::{ApiKey, ErrorCode, Message, header};

use super::{Faults, ResponseFault};
use crate::events::Events;
use crate::rewrite::AddressBook;
use crate::stream::{InFlight, Output, PendingResponse, ResponseStream, Source};

/// The response after the fault, and whether the fault has hit.
fn changed<M: Message>(api: ApiKey, version: i16, response: &M, on: Match, then: Reaction) -> (M, bool) {
    let faults = Arc::new(Faults::new());
    let id = faults.inject(Fault::once(on.clone(), then.clone()), &Events::default()).unwrap();
    faults.registry.lock().count_hit(id);
    let mut fault = ResponseFault::new(&faults);
    match then {
        Reaction::Throttle(ms) => fault.throttle = Some((id, ms)),
        Reaction::ErrorAfterHandling(code) => fault.errors.push((id, on, code)),
        _ => fault.corrupt = Some((id, on)),
    }
    let mut frame = header::response_frame(api, version, 7, response).unwrap().to_bytes().to_vec();
    let length = frame.len();
    fault.change(api, version, &mut frame);
    assert_eq!(frame.len(), length);
    let mut r = Reader::new(frame.split_off(4).into());
    header::decode_response_header(&mut r, api.response_header_version(version)).unwrap();
    (M::decode(&mut r, version).unwrap(), faults.hits(id) == 1)
}

fn error(code: ErrorCode) -> Reaction {
    Reaction::ErrorAfterHandling(code)
}

#[test]
fn the_code_of_a_response_that_has_one() {
    let (found, has_hit) = changed(
        ApiKey::JoinGroup,
        9,
        &JoinGroupResponse::default(),
        Match::any(),
        error(ErrorCode::RebalanceInProgress),
    );
    assert_eq!((found.error_code.into(), has_hit), (ErrorCode::RebalanceInProgress, true));
}

#[test]
fn the_codes_of_groups_or_of_the_partitions_of_a_condition() {
    let partition = |partition_index| OffsetFetchResponsePartitions { partition_index, ..Default::default() };
    let topic = OffsetFetchResponseTopics {
        name: "t".to_owned(),
        partitions: vec![partition(0), partition(1)],
        ..Default::default()
    };
    let group =
        OffsetFetchResponseGroup { group_id: "g".to_owned(), topics: vec![topic], ..Default::default() };
    let response = OffsetFetchResponse { groups: vec![group], ..Default::default() };
    let codes = |on, code| {
        let (found, has_hit) = changed(ApiKey::OffsetFetch, 8, &response, on, error(code));
        assert!(has_hit);
        let group = &found.groups[0];
        let partitions = &group.topics[0].partitions;
        [group.error_code, partitions[0].error_code, partitions[1].error_code]
    };
    assert_eq!(codes(Match::any(), ErrorCode::NotCoordinator), [ErrorCode::NotCoordinator.code(), 0, 0]);
    let one = Match::any().topic("t").partition(1);
    assert_eq!(codes(one, ErrorCode::UnstableOffsetCommit), [0, 0, ErrorCode::UnstableOffsetCommit.code()]);
}

#[test]
fn a_fault_that_finds_nothing_has_not_hit() {
    let response = AddPartitionsToTxnResponse::default();
    let (_, has_hit) =
        changed(ApiKey::AddPartitionsToTxn, 5, &response, Match::any(), Reaction::CorruptRecords);
    assert!(!has_hit);
    // The oldest version has no throttle time.
    let (_, has_hit) =
        changed(ApiKey::Heartbeat, 0, &HeartbeatResponse::default(), Match::any(), Reaction::Throttle(5));
    assert!(!has_hit);
}

#[test]
fn bytes_that_are_no_response_are_left_alone() {
    let faults = Arc::new(Faults::new());
    let mut fault = ResponseFault::new(&faults);
    fault.throttle = Some((FaultId(0), 5));
    fault.learns = true;
    for length in 0..64 {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            for api in ApiKey::ALL {
                fault.change(*api, api.versions().1, &mut vec![byte; length]);
            }
        }
    }
    assert_eq!(faults.names.get(Uuid([0x7f; 16])), None);
}

struct Book;

impl AddressBook for Book {
    fn translate(&mut self, _: i32, _: &str, _: i32) -> Option<Endpoint> {
        None
    }
}

fn pending(api: ApiKey, version: i16, source: Source, fault: Option<ResponseFault>) -> PendingResponse {
    let pending = PendingResponse::new(api, version, 7, Instant::now(), source);
    PendingResponse { fault: fault.map(Box::new), ..pending }
}

#[test]
fn half_of_a_response_is_half_of_that_one_and_nothing_follows() {
    let faults = Arc::new(Faults::new());
    let mut fault = ResponseFault::new(&faults);
    fault.truncate = Some(FaultId(0));
    let mut in_flight = InFlight::new(10);
    in_flight.push(pending(ApiKey::Heartbeat, 4, Source::Broker, Some(fault)));
    in_flight.push(pending(ApiKey::Heartbeat, 4, Source::Gateway(vec![1; 1000].into()), None));
    let frame = header::response_frame(ApiKey::Heartbeat, 4, 7, &HeartbeatResponse::default()).unwrap();
    let frame = frame.to_bytes();
    let (mut output, mut answered) = (Output::default(), 0);
    let mut count = |_: &PendingResponse, _: &[u8]| answered += 1;
    let mut stream = ResponseStream::new();
    stream.advance(&frame, &mut output, &mut in_flight, &mut Book, &mut count).unwrap();
    assert_eq!(output.to_bytes(&frame), frame[..frame.len() / 2]);
    assert!(output.closes());
    assert_eq!(answered, 1);
}

#[test]
fn a_fault_that_makes_a_response_unreadable_closes_the_connection() {
    let faults = Arc::new(Faults::new());
    let mut fault = ResponseFault::new(&faults);
    fault.errors.push((FaultId(0), Match::any(), ErrorCode::UnsupportedVersion));
    let mut in_flight = InFlight::new(10);
    in_flight.push(pending(ApiKey::ApiVersions, 3, Source::Broker, Some(fault)));
    let response = ApiVersionsResponse { api_keys: vec![ApiVersion::default(); 3], ..Default::default() };
    let frame = header::response_frame(ApiKey::ApiVersions, 3, 7, &response).unwrap().to_bytes();
    let mut output = Output::default();
    let mut stream = ResponseStream::new();
    stream.advance(&frame, &mut output, &mut in_flight, &mut Book, &mut |_, _| {}).unwrap();
    assert!(output.closes());
    assert_eq!(output.length(), 0);
}

//! Proves: responses reach the client with the gateway's addresses and otherwise unchanged; long ones keep their length
//! and lose their endpoints; what no broker sends is a violation.

use std::time::Instant;

use bytes::Bytes;
use ottla_client::Endpoint;
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::messages::describe_cluster::{DescribeClusterBroker, DescribeClusterResponse};
use ottla_protocol::messages::describe_quorum::{self, DescribeQuorumResponse};
use ottla_protocol::messages::fetch::{self, FetchResponse};
use ottla_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorResponse};
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::messages::produce::{self, ProduceResponse};
use ottla_protocol::messages::share_acknowledge::{self, ShareAcknowledgeResponse};
use ottla_protocol::messages::share_fetch::{self, ShareFetchResponse};
use ottla_protocol::wire::{Reader, Uuid};
use ottla_protocol::{ApiKey, Message, Request, header};

use crate::rewrite::{AddressBook, supported_versions};
use crate::stream::*;

const CORRELATION_ID: i32 = 7;

/// Broker n is at `gw:10000 + n`; brokers above 99 have no address.
struct Book;

impl AddressBook for Book {
    fn translate(&mut self, broker: i32, _: &str, _: i32) -> Option<Endpoint> {
        let port = 10_000 + u16::try_from(broker).ok()?;
        (broker < 100).then(|| Endpoint { host: "gw".to_owned(), port })
    }
}

fn host(id: i32) -> String {
    format!("kafka-{id}.internal.example.com")
}

/// Sends `frames` through a stream in pieces of the given length, and returns the output.
fn through(frames: &[u8], piece: usize, pending: &[(ApiKey, i16)]) -> Result<Vec<u8>, Violation> {
    let mut in_flight = InFlight::new(1000);
    for (api, version) in pending {
        let (since, source) = (Instant::now(), Source::Broker);
        in_flight.push(PendingResponse::new(*api, *version, CORRELATION_ID, since, source));
    }
    let (mut stream, mut input, mut sent) = (ResponseStream::new(), Vec::new(), Vec::new());
    let (mut wanted, mut answered) = (1, 0);
    for piece in frames.chunks(piece) {
        input.extend_from_slice(piece);
        if input.len() < wanted {
            continue;
        }
        let mut output = Output::default();
        let mut count = |_: &PendingResponse, body: &[u8]| {
            answered += 1;
            // All of a short response is there to be looked at; the frames are equal.
            let length = frames.len() / pending.len();
            assert!(body.len() == length - 8 || length > 64 * 1024, "{} of {length} bytes", body.len());
        };
        let progress = stream.advance(&input, &mut output, &mut in_flight, &mut Book, &mut count)?;
        for segment in output.segments() {
            match segment {
                Segment::Input(range) => sent.extend_from_slice(&input[range.clone()]),
                Segment::Owned(bytes) => sent.extend_from_slice(bytes),
            }
        }
        input.drain(..progress.consumed);
        wanted = progress.wanted;
    }
    assert!(input.is_empty() && in_flight.is_empty() && stream.is_between_responses());
    assert_eq!(answered, pending.len());
    Ok(sent)
}

/// Sends `before` through a stream and checks that `after` arrives, for pieces of several lengths; twice in a row.
fn assert_becomes<R: Request>(version: i16, before: &R::Response, after: &R::Response)
where
    R::Response: PartialEq + std::fmt::Debug,
{
    let frame = header::response_frame(R::API, version, CORRELATION_ID, before).unwrap().to_bytes();
    let twice = [&frame[..], &frame[..]].concat();
    for piece in [1, 2, 3, 7, 1000, 64 * 1024, usize::MAX] {
        if piece < 1000 && frame.len() > 10_000 {
            continue;
        }
        let sent = through(&twice, piece, &[(R::API, version); 2]).unwrap();
        let half = sent.len() / 2;
        assert_eq!(sent[..half], sent[half..], "{} {version} {piece}", R::API.name());
        let length = i32::from_be_bytes(*sent.first_chunk().unwrap());
        assert_eq!(usize::try_from(length).unwrap(), half - 4);
        let mut r = Reader::new(Bytes::copy_from_slice(&sent[4..half]));
        let header = R::API.response_header_version(version);
        assert_eq!(header::decode_response_header(&mut r, header).unwrap(), CORRELATION_ID);
        let received = R::Response::decode(&mut r, version).unwrap();
        assert_eq!(&received, after, "{} {version} {piece}", R::API.name());
        assert_eq!(r.remaining(), 0);
    }
}

fn versions<R: Request>() -> std::ops::RangeInclusive<i16> {
    <R::Response as Message>::MIN_VERSION..=<R::Response as Message>::MAX_VERSION
}

#[test]
fn brokers_in_metadata_have_the_gateways_addresses() {
    use ottla_protocol::messages::metadata::MetadataRequest;
    for version in versions::<MetadataRequest>() {
        let rack = |id: i32| (version >= 1 && id == 1).then(|| "rack".to_owned());
        let broker = |id, host, port| MetadataResponseBroker { node_id: id, host, port, rack: rack(id) };
        let partition =
            MetadataResponsePartition { leader_id: 1, replica_nodes: vec![1, 2, 100], ..Default::default() };
        let topic = |n: i32| MetadataResponseTopic {
            name: Some(format!("topic-{n}")),
            partitions: vec![partition.clone(); 3],
            ..Default::default()
        };
        for topics in [0, 1, 3000] {
            let before = MetadataResponse {
                brokers: [1, 2, 100].map(|id| broker(id, host(id), 9092)).to_vec(),
                topics: (0..topics).map(topic).collect(),
                ..Default::default()
            };
            let mut after = before.clone();
            after.brokers = [1, 2].map(|id| broker(id, "gw".to_owned(), 10_000 + id)).to_vec();
            assert_becomes::<MetadataRequest>(version, &before, &after);
        }
    }
}

macro_rules! endpoints {
    ($module:ident, $ids:expr) => {
        $ids.iter()
            .map(|id: &i32| $module::NodeEndpoint { node_id: *id, host: host(*id), port: 9092, rack: None })
            .collect()
    };
    (gateway $module:ident, $ids:expr) => {
        $ids.iter()
            .map(|id: &i32| $module::NodeEndpoint {
                node_id: *id,
                host: "gw".to_owned(),
                port: 10_000 + id,
                rack: None,
            })
            .collect()
    };
}

/// Checks a response without endpoints, and one with endpoints that are rewritten or left out.
macro_rules! check_endpoints {
    ($module:ident, $request:ident, $first:expr, $is_long:expr, $before:expr) => {{
        use ottla_protocol::messages::$module::$request;
        for version in versions::<$request>() {
            let before: &dyn Fn(i16) -> <$request as Request>::Response = &$before;
            let mut before = before(version);
            assert_becomes::<$request>(version, &before, &before);
            if version >= $first {
                let mut after = before.clone();
                before.node_endpoints = endpoints!($module, [1, 2, 100]);
                after.node_endpoints = if $is_long { Vec::new() } else { endpoints!(gateway $module, [1, 2]) };
                assert_becomes::<$request>(version, &before, &after);
            }
        }
    }};
}

#[test]
fn endpoints_after_records_have_the_gateways_addresses_or_are_left_out() {
    for (records, is_long) in [(0, false), (100, false), (200_000, true)] {
        check_endpoints!(fetch, FetchRequest, 16, is_long, |version| FetchResponse {
            responses: vec![fetch::FetchableTopicResponse {
                topic: if version < 13 { "topic".to_owned() } else { String::new() },
                topic_id: if version >= 13 { Uuid([3; 16]) } else { Uuid::default() },
                partitions: vec![
                    fetch::PartitionData {
                        current_leader: fetch::LeaderIdAndEpoch {
                            leader_id: if version >= 12 { 2 } else { -1 },
                            leader_epoch: if version >= 12 { 9 } else { -1 },
                        },
                        aborted_transactions: Some(vec![fetch::AbortedTransaction::default(); 3]),
                        records: Some(Bytes::from(vec![0xff; records])),
                        ..Default::default()
                    };
                    2
                ],
            }],
            ..Default::default()
        });
        check_endpoints!(share_fetch, ShareFetchRequest, 0, is_long, |_| ShareFetchResponse {
            error_message: Some("message".to_owned()),
            responses: vec![share_fetch::ShareFetchableTopicResponse {
                topic_id: Uuid([3; 16]),
                partitions: vec![
                    share_fetch::PartitionData {
                        acknowledge_error_message: Some("no".to_owned()),
                        records: Some(Bytes::from(vec![0xff; records])),
                        acquired_records: vec![share_fetch::AcquiredRecords::default(); 2],
                        ..Default::default()
                    };
                    2
                ],
            }],
            ..Default::default()
        });
    }
}

#[test]
fn endpoints_after_many_partitions_have_the_gateways_addresses_or_are_left_out() {
    for (partitions, is_long) in [(0, false), (3, false), (6000, true)] {
        check_endpoints!(produce, ProduceRequest, 10, is_long, |version| ProduceResponse {
            responses: vec![produce::TopicProduceResponse {
                name: if version < 13 { "topic".to_owned() } else { String::new() },
                topic_id: if version >= 13 { Uuid([3; 16]) } else { Uuid::default() },
                partition_responses: vec![
                    produce::PartitionProduceResponse {
                        error_message: (version >= 8).then(|| "message".to_owned()),
                        record_errors: match version {
                            8.. => vec![produce::BatchIndexAndErrorMessage::default(); 2],
                            _ => Vec::new(),
                        },
                        ..Default::default()
                    };
                    partitions
                ],
            }],
            throttle_time_ms: 5,
            ..Default::default()
        });
        check_endpoints!(share_acknowledge, ShareAcknowledgeRequest, 0, is_long, |_| {
            ShareAcknowledgeResponse {
                error_message: Some("message".to_owned()),
                responses: vec![share_acknowledge::ShareAcknowledgeTopicResponse {
                    topic_id: Uuid([3; 16]),
                    partitions: vec![
                        share_acknowledge::PartitionData {
                            error_message: Some("message".to_owned()),
                            ..Default::default()
                        };
                        partitions
                    ],
                }],
                ..Default::default()
            }
        });
    }
}

/// The padding of left out endpoints has a number and a length of its own: each total must be reached.
#[test]
fn endpoints_of_any_length_can_be_left_out() {
    use ottla_protocol::messages::fetch::FetchRequest;
    let records = Some(Bytes::from(vec![0; 100_000]));
    let partitions = vec![fetch::PartitionData { records, ..Default::default() }];
    let responses = vec![fetch::FetchableTopicResponse { partitions, ..Default::default() }];
    let after = FetchResponse { responses, ..Default::default() };
    for length in (0..300).chain([16_370, 16_371, 16_372, 16_373, 16_374, 16_375]) {
        let mut before = after.clone();
        before.node_endpoints =
            vec![fetch::NodeEndpoint { node_id: 1, host: "h".repeat(length), port: 1, rack: None }];
        let frame = header::response_frame(ApiKey::Fetch, 18, CORRELATION_ID, &before).unwrap().to_bytes();
        let sent = through(&frame, usize::MAX, &[(ApiKey::Fetch, 18)]).unwrap();
        assert_eq!(sent.len(), frame.len(), "{length}");
        let found = sent.windows(3).filter(|window| window == b"hhh").count();
        assert_eq!(found, 0, "{length}");
        if length % 50 == 0 {
            assert_becomes::<FetchRequest>(18, &before, &after);
        }
    }
}

#[test]
fn short_responses_have_the_gateways_addresses() {
    use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
    use ottla_protocol::messages::describe_quorum::DescribeQuorumRequest;
    use ottla_protocol::messages::find_coordinator::FindCoordinatorRequest;
    for version in versions::<FindCoordinatorRequest>() {
        let one = |code, id, host: &str, port| match version {
            ..4 => FindCoordinatorResponse {
                error_code: code,
                node_id: id,
                host: host.to_owned(),
                port,
                ..Default::default()
            },
            _ => FindCoordinatorResponse {
                coordinators: vec![
                    Coordinator {
                        key: "group".to_owned(),
                        error_code: code,
                        node_id: id,
                        host: host.to_owned(),
                        port,
                        ..Default::default()
                    };
                    2
                ],
                ..Default::default()
            },
        };
        let check = |before, after| assert_becomes::<FindCoordinatorRequest>(version, &before, &after);
        check(one(0, 1, &host(1), 9092), one(0, 1, "gw", 10_001));
        check(one(0, 100, &host(100), 9092), one(15, -1, "", -1));
        check(one(15, -1, "", -1), one(15, -1, "", -1));
    }
    for version in versions::<DescribeClusterRequest>() {
        let broker = |id, host: String, port| DescribeClusterBroker {
            broker_id: id,
            host,
            port,
            ..Default::default()
        };
        let before = DescribeClusterResponse {
            cluster_id: "id".to_owned(),
            brokers: [1, 100].map(|id| broker(id, host(id), 9092)).to_vec(),
            ..Default::default()
        };
        let after =
            DescribeClusterResponse { brokers: vec![broker(1, "gw".to_owned(), 10_001)], ..before.clone() };
        assert_becomes::<DescribeClusterRequest>(version, &before, &after);
    }
    for version in versions::<DescribeQuorumRequest>() {
        let listener = describe_quorum::Listener { name: "C".to_owned(), host: host(1), port: 9093 };
        let node = |listeners| describe_quorum::Node { node_id: 1, listeners };
        let nodes = |listeners| if version >= 2 { vec![node(listeners)] } else { Vec::new() };
        let of = |listeners| DescribeQuorumResponse { nodes: nodes(listeners), ..Default::default() };
        assert_becomes::<DescribeQuorumRequest>(version, &of(vec![listener]), &of(Vec::new()));
    }
}

#[test]
fn versions_are_limited_to_those_that_the_gateway_supports() {
    use ottla_protocol::messages::api_versions::ApiVersionsRequest;
    let range = |api_key, min_version, max_version| ApiVersion { api_key, min_version, max_version };
    let newest = |api: ApiKey| supported_versions(api).1;
    for version in versions::<ApiVersionsRequest>() {
        let of = |api_keys| ApiVersionsResponse { api_keys, ..Default::default() };
        let mut before =
            of(vec![range(1, 4, 999), range(3, 0, 3), range(0, 0, 2), range(999, 0, 5), range(60, 99, 100)]);
        // Another gateway that takes this one for ottla; versions before have no tagged fields.
        if version >= 3 {
            before.ottla_gateway = "0.1.0".to_owned();
        }
        let after = of(vec![range(1, 4, newest(ApiKey::Fetch)), range(3, 0, 3), range(0, 0, 2)]);
        assert_becomes::<ApiVersionsRequest>(version, &before, &after);
    }
    // A broker that does not support the version responds in version 0.
    let refusal =
        ApiVersionsResponse { error_code: 35, api_keys: vec![range(18, 0, 2)], ..Default::default() };
    let frame = header::response_frame(ApiKey::ApiVersions, 0, CORRELATION_ID, &refusal).unwrap().to_bytes();
    assert_eq!(through(&frame, 1, &[(ApiKey::ApiVersions, 3)]).unwrap(), frame);
}

#[test]
fn responses_that_no_broker_sends_are_violations() {
    let frame = |correlation_id, message: &MetadataResponse| {
        header::response_frame(ApiKey::Metadata, 12, correlation_id, message).unwrap().to_bytes()
    };
    let metadata = [(ApiKey::Metadata, 12)];
    let error = |bytes: &[u8], pending: &[(ApiKey, i16)]| through(bytes, usize::MAX, pending).unwrap_err();
    let empty = frame(CORRELATION_ID, &MetadataResponse::default());
    assert!(matches!(error(&empty, &[]), Violation::UnexpectedResponse(CORRELATION_ID)));
    let other = frame(8, &MetadataResponse::default());
    assert!(matches!(error(&other, &metadata), Violation::CorrelationId { found: 8, .. }));
    assert!(matches!(error(&[0xff; 8], &metadata), Violation::FrameLength { length: -1, .. }));
    assert!(matches!(error(&[0; 8], &metadata), Violation::FrameLength { length: 0, .. }));
    // Cut short, with the length of what is there.
    let cut = [&[0, 0, 0, 6, 0, 0, 0, 7][..], &[0, 0]].concat();
    for (api, version) in
        [(ApiKey::Metadata, 12), (ApiKey::Fetch, 18), (ApiKey::FindCoordinator, 4), (ApiKey::Produce, 10)]
    {
        assert!(matches!(error(&cut, &[(api, version)]), Violation::Rewrite(_)), "{}", api.name());
    }
    let long = [&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 7][..], &[0; 100]].concat();
    assert!(matches!(error(&long, &[(ApiKey::FindCoordinator, 4)]), Violation::TooLongToRewrite { .. }));
}

//! Named cases of hostile bytes: those that broke other clients, or could break this one (B1, B2).

use crate::support::generate::{Shape, encoding};
use crate::support::memory;
use crate::support::message_types::messages_and_versions;
use bytes::Bytes;
use ottla_protocol::header::{RequestHeader, frame_length};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use ottla_protocol::messages::fetch::FetchRequest;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use ottla_protocol::wire::Reader;
use ottla_protocol::{Message, WireError};

fn read<M: Message>(bytes: &[u8], version: i16) -> Result<M, WireError> {
    let bytes = Bytes::copy_from_slice(bytes);
    let (result, used) = memory::peak(|| M::from_bytes(bytes, version));
    assert!(used < 1024, "{used} bytes were allocated");
    result
}

/// A response that made another client allocate 206 GB.
#[test]
fn nine_bytes_of_metadata_announce_a_huge_array() {
    for version in MetadataResponse::MIN_VERSION..=MetadataResponse::MAX_VERSION {
        // The throttle time from version 3 on, then the number of brokers, compact from version 9 on.
        let bytes: [u8; 9] = match version {
            0..3 => [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0],
            3..9 => [0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0],
            _ => [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f],
        };
        let error = read::<MetadataResponse>(&bytes, version).unwrap_err();
        assert!(matches!(error, WireError::Short { what: "array", .. }), "version {version}: {error}");
    }
}

#[test]
fn lengths_below_null_are_errors() {
    for length in [-2_i32, i32::MIN] {
        let error = read::<MetadataRequest>(&length.to_be_bytes(), 1).unwrap_err();
        assert_eq!(error, WireError::Length { what: "array", length: length.into() });
    }
    let error = read::<HeartbeatRequest>(&[0xff, 0xfe, 0, 0, 0, 0, 0, 0], 0).unwrap_err();
    assert_eq!(error, WireError::Length { what: "string", length: -2 });
}

#[test]
fn null_is_an_error_where_the_version_does_not_allow_it() {
    let topics = |version| WireError::Null { field: "MetadataRequest.topics", version };
    assert_eq!(read::<MetadataRequest>(&[0xff; 4], 0).unwrap_err(), topics(0));
    assert!(read::<MetadataRequest>(&[0xff; 4], 1).unwrap().topics.is_none());
    let error = read::<HeartbeatRequest>(&[0xff, 0xff], 0).unwrap_err();
    assert_eq!(error, WireError::Null { field: "HeartbeatRequest.group_id", version: 0 });
    let error = read::<HeartbeatRequest>(&[0], 4).unwrap_err();
    assert_eq!(error, WireError::Null { field: "HeartbeatRequest.group_id", version: 4 });
}

#[test]
fn strings_that_are_not_utf8_are_errors() {
    for text in [&[0xff][..], &[0xc3], &[0xed, 0xa0, 0x80], &[0xc0, 0x80]] {
        let length = u8::try_from(text.len()).unwrap();
        assert_eq!(read::<HeartbeatRequest>(&[&[0, length], text].concat(), 0), Err(WireError::Utf8));
        assert_eq!(read::<HeartbeatRequest>(&[&[length + 1], text].concat(), 4), Err(WireError::Utf8));
    }
}

#[test]
fn compact_strings_have_the_16_bit_limit_too() {
    // 0x8000 letters are one too many. The compact length is one more than that.
    let long = [&[0x81, 0x80, 0x02][..], &[b'a'; 0x8000]].concat();
    let error = HeartbeatRequest::from_bytes(long.into(), 4).unwrap_err();
    assert_eq!(error, WireError::Length { what: "string", length: 0x8000 });
    let message = HeartbeatRequest { group_id: "a".repeat(0x8000), ..HeartbeatRequest::default() };
    assert!(matches!(message.to_frame(4), Err(WireError::TooLong { what: "string", length: 0x8000 })));
    let message = HeartbeatRequest { group_id: "a".repeat(0x7fff), ..HeartbeatRequest::default() };
    let bytes = message.to_frame(4).unwrap().to_bytes();
    assert_eq!(HeartbeatRequest::from_bytes(bytes, 4), Ok(message));
}

#[test]
fn variable_length_integers_end_within_five_bytes() {
    let uvarint = |bytes: &'static [u8]| Reader::new(Bytes::from_static(bytes)).uvarint();
    assert_eq!(uvarint(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX));
    assert_eq!(uvarint(&[0xff, 0xff, 0xff, 0xff, 0x1f]), Err(WireError::Varint));
    assert_eq!(uvarint(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]), Err(WireError::Varint));
    assert_eq!(uvarint(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]), Err(WireError::Varint));
    assert!(matches!(uvarint(&[0x80, 0x80]), Err(WireError::Short { .. })));
    // Also as the length of a string in a message.
    let error = read::<HeartbeatRequest>(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0], 4).unwrap_err();
    assert_eq!(error, WireError::Varint);
}

#[test]
fn tagged_fields_must_fit() {
    // The message's two booleans, then the tagged fields.
    let read = |tagged: &[u8]| read::<DescribeClusterRequest>(&[&[0][..], tagged].concat(), 0);
    assert!(read(&[0]).is_ok());
    // Unknown tags are skipped, in any order and more than once.
    assert!(read(&[3, 9, 2, 1, 2, 9, 0, 5, 1, 7]).is_ok());
    // A section that announces four billion fields, and a field that is longer than the message.
    assert!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f, 9, 0]).is_err());
    assert!(read(&[1, 9, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
}

/// A known tagged field must fill exactly the bytes it announces: otherwise the bytes after it would be
/// lost or misread.
#[test]
fn a_known_tagged_field_must_fill_its_size() {
    // Tag 0 of Fetch 12 is the cluster id.
    let plain = FetchRequest::default().to_frame(12).unwrap().to_bytes();
    let body = &plain[..plain.len() - 1];
    let with = |tagged: &[u8]| FetchRequest::from_bytes(Bytes::from([body, tagged].concat()), 12);
    assert_eq!(with(&[1, 0, 2, 2, b'a']).unwrap().cluster_id.as_deref(), Some("a"));
    assert_eq!(
        with(&[1, 0, 3, 2, b'a', b'b']),
        Err(WireError::Trailing { message: "a tagged field", left: 1 })
    );
    assert!(matches!(with(&[1, 0, 1, 2, b'a']), Err(WireError::Short { .. })));
}

/// The largest messages for their encoded size stay within the memory limit, and the budget refuses none
/// of them: a valid message is read, however large.
#[test]
fn large_arrays_stay_within_the_memory_limit() {
    let count = 5_000;
    for (message_type, version) in messages_and_versions() {
        for depth in 0..4 {
            for shape in [Shape::Wide { depth, count }, Shape::WideEmpty { depth, count }] {
                let bytes = Bytes::from(encoding(&message_type.schema, version, shape, 1));
                memory::probe(&message_type, version, bytes)
                    .unwrap_or_else(|e| panic!("{} v{version} {shape:?}: {e}", message_type.name));
            }
        }
    }
}

/// If items would take far more memory than bytes, the count is refused.
#[test]
fn counts_are_charged_before_memory_is_allocated() {
    let frame = 1 << 20;
    let count = |item_size| {
        let bytes = [&0x8_0000_u32.to_be_bytes()[..], &vec![0; frame - 4]].concat();
        Reader::new(bytes.into()).count(false, item_size)
    };
    assert_eq!(count(64), Ok(Some(0x8_0000)));
    assert_eq!(count(65), Err(WireError::Budget { frame }));
    // The arrays of one frame share its budget.
    let mut r = Reader::new(Bytes::from([&[0, 0, 0, 1][..], &[0, 0, 0, 1], &[0; 56]].concat()));
    assert_eq!(r.count(false, 60 * 1024), Ok(Some(1)));
    assert_eq!(r.count(false, 60 * 1024), Err(WireError::Budget { frame: 64 }));
}

#[test]
fn frame_lengths_are_bounded() {
    let max = 1 << 20;
    for (length, ok) in
        [(0, false), (3, false), (4, true), (1 << 20, true), ((1 << 20) + 1, false), (-1, false)]
    {
        let result = frame_length(i32::to_be_bytes(length), max);
        assert_eq!(result.is_ok(), ok, "{length}");
    }
    // The first bytes of servers that are not Kafka: "HTTP", and a TLS alert.
    assert!(frame_length(*b"HTTP", 100 << 20).is_err());
    assert!(frame_length([0x15, 3, 3, 0], 100 << 20).is_err());
}

/// A broker must be able to respond to ApiVersions in an unknown version.
#[test]
fn headers_of_unknown_apis_and_versions_are_read() {
    let request = |key: i16, version: i16, rest: &[u8]| {
        Bytes::from(
            [&key.to_be_bytes()[..], &version.to_be_bytes(), &[0, 0, 0, 7, 0, 1, b'c'], rest].concat(),
        )
    };
    for (key, version) in [(18, 99), (18, i16::MAX), (18, -1), (999, 0), (-1, 3), (3, 0)] {
        let (header, _) = RequestHeader::decode_any(&request(key, version, &[])).unwrap();
        assert_eq!((header.api_key, header.api_version, header.correlation_id), (key, version, 7));
        assert_eq!(header.client_id.as_deref(), Some("c"));
    }
    let message = ApiVersionsRequest::default().to_frame(3).unwrap().to_bytes();
    let (header, r) = RequestHeader::decode_any(&request(18, 3, &[&[0][..], &message].concat())).unwrap();
    assert_eq!((header.api_version, r.rest()), (3, &message));
    assert!(RequestHeader::decode_any(&Bytes::from_static(&[0, 3, 0])).is_err());
}

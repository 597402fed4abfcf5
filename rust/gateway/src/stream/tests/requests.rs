//! Proves: requests are passed on or discarded whole; what no client sends is a violation.

use bytes::Bytes;
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_protocol::{ApiKey, Message, header};

use crate::stream::*;

fn request_frame(version: i16, acks: i16, transactional_id: Option<String>) -> Bytes {
    let header = header::RequestHeader {
        api_key: 0,
        api_version: version,
        correlation_id: 1,
        client_id: Some("client".to_owned()),
    };
    let request = ProduceRequest { acks, transactional_id, ..Default::default() };
    header::request_frame(&header, ApiKey::Produce.request_header_version(version), &request)
        .unwrap()
        .to_bytes()
}

#[test]
fn requests_are_passed_on_or_discarded_whatever_pieces_they_arrive_in() {
    for version in ProduceRequest::MIN_VERSION..=ProduceRequest::MAX_VERSION {
        let frames: Vec<Bytes> = [0, 1, -1, 0]
            .iter()
            .enumerate()
            .map(|(n, acks)| request_frame(version, *acks, (n > 1).then(|| "t".repeat(3000))))
            .collect();
        let kept = [&frames[0][..], &frames[2][..]].concat();
        let all = frames.concat();
        for piece in [1, 5, 100, usize::MAX] {
            let (mut stream, mut input, mut sent, mut heads) =
                (RequestStream::new(1 << 20), Vec::new(), Vec::new(), Vec::new());
            let mut wanted = 1;
            for piece in all.chunks(piece) {
                input.extend_from_slice(piece);
                if input.len() < wanted {
                    continue;
                }
                let mut output = Output::default();
                let progress = stream
                    .advance(&input, &mut output, |head| {
                        assert_eq!((head.client_id, head.correlation_id), (Some(&b"client"[..]), 1));
                        heads.push(head.expects_response);
                        Ok(if heads.len() % 2 == 1 { Verdict::Pass } else { Verdict::Discard })
                    })
                    .unwrap();
                for segment in output.segments() {
                    let Segment::Input(range) = segment else { panic!("{segment:?}") };
                    sent.extend_from_slice(&input[range.clone()]);
                }
                input.drain(..progress.consumed);
                wanted = progress.wanted;
            }
            assert_eq!(heads, [false, true, true, false], "{version} {piece}");
            assert!(sent == kept && input.is_empty() && stream.is_between_requests(), "{version} {piece}");
        }
    }
}

#[test]
fn requests_that_no_client_sends_are_violations() {
    let error = |bytes: &[u8]| {
        let pass = |_: &RequestHead<'_>| Ok(Verdict::Pass);
        RequestStream::new(1000).advance(bytes, &mut Output::default(), pass).unwrap_err()
    };
    assert!(matches!(error(&[0xff; 14]), Violation::FrameLength { length: -1, .. }));
    assert!(matches!(error(&[0, 0, 4, 0]), Violation::FrameLength { length: 1024, .. }));
    assert!(matches!(error(&[0, 0, 0, 9]), Violation::FrameLength { length: 9, .. }));
    let frame = |key: i16, version: i16, rest: &[u8]| {
        let length = i32::try_from(8 + rest.len()).unwrap().to_be_bytes();
        [&length[..], &key.to_be_bytes(), &version.to_be_bytes(), &[0, 0, 0, 1], rest].concat()
    };
    let unsupported = |api_key, version| {
        let found = error(&frame(api_key, version, &[0, 0]));
        assert!(matches!(found, Violation::UnsupportedRequest { .. }), "{api_key} {version}: {found}");
    };
    for (api_key, version) in [(999, 0), (-1, 0), (3, 99), (3, -1), (1, 19), (18, -1), (52, 0), (17, 2)] {
        unsupported(api_key, version);
    }
    // A client id longer than the frame.
    assert!(matches!(error(&frame(3, 0, &[0x7f, 0xff])), Violation::RequestHeader));
    assert!(matches!(error(&frame(0, 9, &[0, 0, 0xff, 0xff])), Violation::RequestHeader));
    let text = Violation::UnsupportedRequest { api_key: 52, version: 0 }.to_string();
    assert!(text.contains("API key 52 in version 0"), "{text}");
}

//! Frames as a server and a client read them: length, header, message.

use bytes::Bytes;
use ottla_protocol::ApiKey;
use ottla_protocol::header::{LENGTH_PREFIX, RequestHeader, decode_response_header, frame_length};
use ottla_protocol::wire::{Reader, Writer};

use super::messages::check_api;

const MAX: usize = 1 << 20;

/// Reads a stream of frames, each as a request and as a response.
pub fn frames(data: &[u8]) {
    let mut stream = Bytes::copy_from_slice(data);
    while let Some(prefix) = stream.first_chunk::<LENGTH_PREFIX>() {
        let Ok(length) = frame_length(*prefix, MAX) else { return };
        assert!((4..=MAX).contains(&length));
        let _ = stream.split_to(LENGTH_PREFIX);
        let frame = stream.split_to(length.min(stream.len()));
        request(&frame);
        response(&frame);
    }
}

fn request(frame: &Bytes) {
    let Ok((header, r)) = RequestHeader::decode_any(frame) else { return };
    for header_version in 1..3 {
        let mut w = Writer::new();
        header.encode(&mut w, header_version).expect("a header that was read can be written");
        let written = w.finish().to_bytes();
        assert_eq!(RequestHeader::decode(&mut Reader::new(written), header_version), Ok(header.clone()));
    }
    check_api(header.api_key, false, r.rest().clone(), header.api_version);
    if let Ok(api) = ApiKey::try_from(header.api_key) {
        negotiate(api, header.api_version, header.correlation_id as i16);
    }
}

fn response(frame: &Bytes) {
    for header_version in 0..2 {
        let mut r = Reader::new(frame.clone());
        if decode_response_header(&mut r, header_version).is_ok() {
            assert!(r.remaining() <= frame.len() - 4);
        }
    }
}

/// Checks that a negotiated version is supported by both sides.
fn negotiate(api: ApiKey, min: i16, max: i16) {
    if let Some(version) = api.negotiate(min, max) {
        let (lowest, highest) = api.versions();
        assert!((lowest..=highest).contains(&version) && (min..=max).contains(&version));
    }
}

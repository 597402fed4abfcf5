//! Java's encodings of random documents of every message and version: each is decoded, compared with the
//! document value by value, encoded again, and compared byte by byte.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::message_types::{self, RoundTrip};
use crate::support::oracle;
use bytes::Bytes;
use ottla_protocol::header::{RequestHeader, decode_response_header, response_frame};
use ottla_protocol::messages::heartbeat::HeartbeatResponse;
use ottla_protocol::wire::{Reader, Writer};
use ottla_protocol::{ApiKey, Message};
use serde_json::Value as Json;

/// Java's encoding of a document.
pub(crate) struct Vector {
    pub(crate) message: String,
    pub(crate) version: i16,
    pub(crate) bytes: Bytes,
    json: Json,
}

/// All of Java's encodings.
pub(crate) fn vectors() -> impl Iterator<Item = Vector> {
    let lines: Vec<_> = oracle::read("vectors.jsonl").lines().map(str::to_owned).collect();
    lines.into_iter().map(|line| {
        let json: Json = serde_json::from_str(&line).unwrap();
        Vector {
            message: json["message"].as_str().unwrap().to_owned(),
            version: json["version"].as_i64().unwrap().try_into().unwrap(),
            bytes: oracle::unhex(json["hex"].as_str().unwrap()).into(),
            json: json["json"].clone(),
        }
    })
}

#[test]
fn messages_are_read_and_written_like_java() {
    let messages: BTreeMap<_, _> = message_types::messages().into_iter().map(|m| (m.name, m)).collect();
    let mut unseen: BTreeSet<_> =
        messages.values().flat_map(|m| m.versions.clone().map(|version| (m.name, version))).collect();
    let (versions, mut checked, mut failures) = (unseen.len(), 0, Vec::new());
    for v in vectors().filter(|v| !v.message.ends_with("Header")) {
        let Some(message) = messages.get(v.message.as_str()) else {
            failures.push(format!("{} is unknown", v.message));
            continue;
        };
        unseen.remove(&(message.name, v.version));
        checked += 1;
        let problem = match (message.read)(v.bytes.clone(), v.version) {
            Err(e) => Some(e.to_string()),
            Ok(RoundTrip { value, written, .. }) => {
                oracle::difference(&message.schema, &value, &v.json).or(match written {
                    Err(e) => Some(e.to_string()),
                    Ok(bytes) if bytes != v.bytes => {
                        Some(format!("written as {bytes:02x?}, Java has {:02x?}", v.bytes))
                    }
                    Ok(_) => None,
                })
            }
        };
        failures.extend(problem.map(|problem| format!("{} v{}: {problem}", v.message, v.version)));
    }
    println!("{checked} vectors, {} messages, {versions} versions of them", messages.len());
    failures.extend(unseen.iter().map(|(name, version)| format!("{name} v{version} has no vector")));
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn request_headers_are_read_and_written_like_java() {
    let mut seen = BTreeSet::new();
    for v in vectors().filter(|v| v.message == "RequestHeader") {
        seen.insert(v.version);
        let mut r = Reader::new(v.bytes.clone());
        let header = RequestHeader::decode(&mut r, v.version).unwrap();
        assert_eq!(r.remaining(), 0);
        assert_eq!(
            serde_json::json!({
                "requestApiKey": header.api_key,
                "requestApiVersion": header.api_version,
                "correlationId": header.correlation_id,
                "clientId": header.client_id,
            }),
            v.json
        );
        let mut w = Writer::new();
        header.encode(&mut w, v.version).unwrap();
        assert_eq!(w.finish().to_bytes(), v.bytes);
    }
    assert_eq!(seen, BTreeSet::from([1, 2]), "versions of the request header");
}

#[test]
fn response_headers_are_read_and_written_like_java() {
    let mut seen = BTreeSet::new();
    for v in vectors().filter(|v| v.message == "ResponseHeader") {
        seen.insert(v.version);
        let mut r = Reader::new(v.bytes.clone());
        let id = decode_response_header(&mut r, v.version).unwrap();
        assert_eq!(r.remaining(), 0);
        assert_eq!(serde_json::json!({ "correlationId": id }), v.json);

        // Heartbeat has both versions of the header.
        let (low, high) = ApiKey::Heartbeat.versions();
        let version = if v.version == 0 { low } else { high };
        assert_eq!(ApiKey::Heartbeat.response_header_version(version), v.version);
        let message = HeartbeatResponse::default();
        let frame = response_frame(ApiKey::Heartbeat, version, id, &message).unwrap().to_bytes();
        let body = message.to_frame(version).unwrap().to_bytes();
        assert_eq!(frame[4..], [v.bytes, body].concat());
    }
    assert_eq!(seen, BTreeSet::from([0, 1]), "versions of the response header");
}

//! Proves: for each API and version, each topic, partition, group and transaction that a request names is asked for its
//! code, and the response can be decoded and has no error code that says that all is well.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::header::{LENGTH_PREFIX, decode_response_header};
use ottla_protocol::schema::{FieldSchema, MessageSchema};
use ottla_protocol::value::{FromValue, ToValue, Value};
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ErrorCode, Message};

use super::*;

/// The first and the last version of a range such as `3+` or `0-12 ignorable`.
fn range(text: &str) -> (i16, i16) {
    let text = text.replace("ignorable", "").replace(' ', "");
    match text.split_once(['-', '+']) {
        Some((first, "")) => (first.parse().unwrap(), i16::MAX),
        Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
        None => (text.parse().unwrap(), text.parse().unwrap()),
    }
}

fn has(field: &FieldSchema, version: i16) -> bool {
    let (first, last) = range(field.versions);
    (first..=last).contains(&version)
}

/// A value of a type, in which each string is the path of its field.
fn sample(schema: &MessageSchema, ty: &str, version: i16, path: &str) -> Value {
    let inner = |prefix: &str| ty.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
    if let Some(item) = inner("Option<") {
        return sample(schema, item, version, path);
    }
    if let Some(item) = inner("Vec<") {
        return Value::Array(vec![sample(schema, item, version, path)]);
    }
    match ty {
        "String" => Value::Str(path.to_owned()),
        "bool" => Value::Bool(true),
        "f64" => Value::Float(1.0),
        "Uuid" => Value::Uuid(Uuid([7; 16])),
        "Bytes" | "Records" | "SecretBytes" => Value::Bytes(Bytes::new()),
        "i8" | "i16" | "u16" | "i32" | "u32" | "i64" => Value::Int(1),
        _ => {
            let fields = schema.structs.iter().find(|(name, _)| *name == ty).unwrap().1;
            let fields = fields.iter().filter(|field| has(field, version)).map(|field| {
                let path = format!("{path}/{}", field.name);
                (field.name.into(), Some(sample(schema, field.ty, version, &path)))
            });
            Value::Object(fields.collect())
        }
    }
}

/// A request in which every field has a value, without its header, and the paths of its strings.
fn sample_request<M: Message + FromValue>(version: i16) -> (Bytes, BTreeSet<String>) {
    let schema = M::SCHEMA;
    let value = sample(&schema, schema.structs[0].0, version, "");
    let mut strings = BTreeSet::new();
    visit(&value, "", &mut |path, value| {
        if matches!(value, Value::Str(_)) {
            strings.insert(path.to_owned());
        }
    });
    let frame = M::from_value(value).unwrap().to_frame(version).unwrap();
    (frame.to_bytes(), strings)
}

/// The tree of a response.
fn tree<M: Message + ToValue>(frame: &Bytes, api: ApiKey, version: i16) -> Value {
    let mut reader = Reader::new(frame.slice(LENGTH_PREFIX..));
    assert_eq!(decode_response_header(&mut reader, api.response_header_version(version)).unwrap(), 7);
    let response = M::decode(&mut reader, version).unwrap();
    assert_eq!(reader.remaining(), 0);
    response.to_value(version)
}

type Sample = fn(i16) -> (Bytes, BTreeSet<String>);
type Tree = fn(&Bytes, ApiKey, i16) -> Value;

/// Samples of requests, and decoders of responses, by the names of the messages.
fn messages() -> (BTreeMap<&'static str, Sample>, BTreeMap<&'static str, Tree>) {
    let (mut samples, mut trees) = (BTreeMap::new(), BTreeMap::new());
    macro_rules! collect {
        ($message:ty) => {
            samples.insert(<$message as Message>::NAME, sample_request::<$message> as Sample);
            trees.insert(<$message as Message>::NAME, tree::<$message> as Tree);
        };
    }
    ottla_protocol::for_each_message!(collect);
    (samples, trees)
}

/// Calls `visit` with each field of a tree.
fn visit(value: &Value, path: &str, found: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| visit(item, path, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(value) = value {
                    visit(value, &format!("{path}/{name}"), found);
                }
            }
        }
        value => found(path, value),
    }
}

/// Fields of requests that give no access to what they name: patterns, of which the broker gives only what other requests
/// then name; what is no longer fetched; what is only shown; and the transaction of records, which another request began.
const NO_ACCESS: [&str; 8] = [
    "ConsumerGroupHeartbeat/subscribed_topic_regex",
    "DescribeQuorum/topics/topic_name",
    "DescribeTopicPartitions/cursor/topic_name",
    "Fetch/forgotten_topics_data/topic",
    "ListTransactions/transactional_id_pattern",
    "Produce/transactional_id",
    "StreamsGroupHeartbeat/topology/subtopologies/source_topic_regex",
    "StreamsGroupTopologyDescriptionUpdate/topology_description",
];

/// Whether a field of a request has the name of a topic, a group or a transaction.
fn is_name(path: &str) -> bool {
    let words = ["topic", "topics", "group", "groups", "transactional", "transactions"];
    let field = path.rsplit('/').next().unwrap();
    let parent = path.rsplit('/').nth(1).unwrap();
    if path.ends_with("instance_id") {
        return false;
    }
    let names = |text: &str| text.split('_').any(|word| words.contains(&word));
    names(field) || (field == "name" && names(parent))
}

#[test]
fn every_name_in_a_request_is_asked_for_and_refused() {
    let (samples, trees) = messages();
    let mut missing = BTreeSet::new();
    for api in ApiKey::ALL.iter().copied().filter(|api| is_known(*api)) {
        let (first, last) = api.versions();
        for version in first..=last {
            let (request, strings) = samples[format!("{}Request", api.name()).as_str()](version);
            let asked = RefCell::new(BTreeSet::new());
            let of = |named: Named<'_>| {
                match named {
                    Named::Topic(name, _)
                    | Named::CreatedTopic(name)
                    | Named::Group(name)
                    | Named::TransactionalId(name) => {
                        asked.borrow_mut().insert(name.to_owned());
                    }
                    Named::AllTopics | Named::TopicId(..) | Named::Cluster | Named::Token => {}
                }
                None
            };
            let codes = Codes::new(&of, "no");
            let frame = refuse(api, version, 7, request, &codes).unwrap();
            let frame = frame.unwrap_or_else(|error| panic!("{api:?} {version}: {error}")).to_bytes();
            assert!(!codes.any());
            let mut problems = Vec::new();
            let tree = trees[format!("{}Response", api.name()).as_str()](&frame, api, version);
            let mut has_error = false;
            visit(&tree, "", &mut |path, value| {
                if path.ends_with("error_code") && *value != Value::Int(0) {
                    has_error = true;
                    let nothing_done = [ErrorCode::OperationNotAttempted, ErrorCode::NotLeaderOrFollower];
                    if !nothing_done.iter().any(|code| *value == Value::Int(i64::from(code.code()))) {
                        problems.push(format!("{path}: {value:?}"));
                    }
                }
            });
            // Before version 3 Kafka responds with no directory.
            let has_none = api == ApiKey::DescribeLogDirs && version < 3;
            assert!(has_error || has_none, "{api:?} {version}: {tree:?}");
            assert_eq!(problems, [""; 0], "{api:?} {version}");
            let asked = asked.into_inner();
            let names = strings.into_iter().filter(|path| is_name(path) && !asked.contains(path));
            missing.extend(names.map(|path| format!("{}{path}", api.name())));
        }
    }
    let is_explained = |path: &String| NO_ACCESS.iter().any(|explained| path.starts_with(explained));
    let (explained, unexplained): (BTreeSet<_>, BTreeSet<_>) = missing.into_iter().partition(is_explained);
    assert_eq!(unexplained, BTreeSet::new());
    for path in NO_ACCESS {
        assert!(explained.iter().any(|found| found.starts_with(path)), "{path} is asked for");
    }
}

/// The codes of a response, with the names in front of them.
#[test]
fn what_is_refused_has_its_code_and_the_rest_was_not_attempted() {
    use ottla_protocol::messages::create_topics::{
        CreatableTopic, CreateTopicsRequest, CreateTopicsResponse,
    };
    let topic = |name: &str| CreatableTopic { name: name.to_owned(), ..Default::default() };
    let request = CreateTopicsRequest { topics: vec![topic("a"), topic("b")], ..Default::default() };
    let body = request.to_frame(7).unwrap().to_bytes();
    let of =
        |named: Named<'_>| (named == Named::Topic("a", None)).then_some(ErrorCode::TopicAuthorizationFailed);
    let codes = Codes::new(&of, "it is not allowed");
    let frame = refuse(ApiKey::CreateTopics, 7, 7, body, &codes).unwrap().unwrap().to_bytes();
    assert!(codes.any());
    let mut reader = Reader::new(frame.slice(LENGTH_PREFIX..));
    decode_response_header(&mut reader, 1).unwrap();
    let response = CreateTopicsResponse::decode(&mut reader, 7).unwrap();
    let found: Vec<_> = response.topics.iter().map(|t| (t.name.as_str(), t.error_code)).collect();
    let refused = ErrorCode::TopicAuthorizationFailed.code();
    assert_eq!(found, [("a", refused), ("b", ErrorCode::OperationNotAttempted.code())]);
    assert_eq!(response.topics[0].error_message.as_deref(), Some("it is not allowed"));
}

#[test]
fn bytes_that_are_no_request_are_an_error() {
    let codes = Codes::new(&|_| None, "");
    let found = refuse(ApiKey::CreateTopics, 7, 7, Bytes::from_static(&[0xff; 9]), &codes);
    assert!(found.is_some_and(|found| found.is_err()));
    assert!(refuse(ApiKey::Metadata, 12, 7, Bytes::new(), &codes).is_none());
}

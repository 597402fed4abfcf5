//! Layouts: the numbers in Java's encodings of all responses, and in their beginnings.

use std::collections::BTreeMap;

use crate::oracle_vectors::vectors;
use crate::support::message_types;
use ottla_protocol::ApiKey;
use ottla_protocol::numbers::{Number, Stop, visit_numbers};
use ottla_protocol::value::Value;

/// Java's responses: API, version and the bytes after the correlation id.
fn responses() -> impl Iterator<Item = (ApiKey, i16, Vec<u8>)> {
    let apis: BTreeMap<String, ApiKey> =
        ApiKey::ALL.iter().map(|api| (format!("{}Response", api.name()), *api)).collect();
    vectors().filter_map(move |vector| {
        let api = *apis.get(&vector.message)?;
        let header: &[u8] = if api.response_header_version(vector.version) >= 1 { &[0] } else { &[] };
        Some((api, vector.version, [header, &vector.bytes].concat()))
    })
}

fn numbers(api: ApiKey, version: i16, body: &[u8]) -> (Vec<Number>, Result<usize, Stop>) {
    let mut found = Vec::new();
    let end = visit_numbers(api, version, body, &mut |number| found.push(number));
    (found, end)
}

/// The error codes in a tree.
fn error_codes(value: &Value, found: &mut Vec<i32>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| error_codes(item, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Some(Value::Int(code)) if name == "error_code" => {
                        found.push(i32::try_from(*code).unwrap())
                    }
                    Some(field) => error_codes(field, found),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

#[test]
fn the_numbers_of_javas_responses() {
    let messages: BTreeMap<_, _> = message_types::messages().into_iter().map(|m| (m.name, m)).collect();
    let mut checked = 0;
    for (api, version, body) in responses() {
        let (found, end) = numbers(api, version, &body);
        assert_eq!(end, Ok(body.len()), "{} v{version}", api.name());
        let start = body.len() - usize::from(api.response_header_version(version) >= 1);
        let message = body[body.len() - start..].to_vec();
        let read = (messages[format!("{}Response", api.name()).as_str()].read)(message.into(), version);
        let (mut expected, mut codes) = (Vec::new(), Vec::new());
        error_codes(&read.unwrap().value, &mut expected);
        for number in found {
            let bytes = &body[number.at..number.at + number.length];
            let value = bytes.iter().fold(0_i64, |value, byte| value << 8 | i64::from(*byte));
            let mask = (1_i64 << (8 * number.length)) - 1;
            assert_eq!(value, i64::from(number.value) & mask, "{} v{version} {number:?}", api.name());
            if number.field == "error_code" {
                codes.push(number.value);
            }
        }
        // The order on the wire is that of the schema, but for tagged fields.
        codes.sort_unstable();
        expected.sort_unstable();
        assert_eq!(codes, expected, "{} v{version}", api.name());
        checked += 1;
    }
    assert!(checked > 400, "{checked}");
}

#[test]
fn the_beginning_of_a_response_has_the_first_numbers() {
    for (api, version, body) in responses() {
        let (all, _) = numbers(api, version, &body);
        for length in 0..body.len().min(200) {
            let (found, end) = numbers(api, version, &body[..length]);
            assert_eq!(end, Err(Stop::Short), "{} v{version} at {length}", api.name());
            assert!(all.starts_with(&found), "{} v{version} at {length}", api.name());
        }
    }
}

#[test]
fn announced_counts_and_lengths_take_no_time() {
    for api in ApiKey::ALL {
        let (low, high) = api.versions();
        for version in low..=high {
            for byte in [0x7f, 0xff, 0x80, 0x01] {
                let mut visited = 0_usize;
                let _ = visit_numbers(*api, version, &[byte; 4096], &mut |_| visited += 1);
                assert!(visited <= 4096, "{} v{version}", api.name());
            }
        }
    }
}

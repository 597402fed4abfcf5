//! Proves: hostile payloads and schemas are errors that cost little time and memory.

use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::support::*;

/// Far more than any of these needs, far less than their counts would take.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn counts_and_lengths_beyond_the_payload_are_errors() {
    let began = Instant::now();
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "list", "type": {"type": "array", "items": "int"}},
        {"name": "map", "type": {"type": "map", "values": "long"}},
        {"name": "text", "type": "string"}]}"#;
    let slim = r#"{"type": "record", "name": "R", "fields": [{"name": "text", "type": "string"}]}"#;
    let empty = long(0);
    let huge = [i64::MAX, i64::MIN, i64::from(i32::MAX), -1, -i64::from(i32::MAX), 1 << 40];
    for reader in [schema, slim] {
        let mut decoder = decoder(reader, &[(1, schema)]);
        for count in huge {
            for payload in [
                vec![long(count)],
                vec![long(count), long(i64::MAX), long(1)],
                vec![empty.clone(), long(count), long(2)],
                vec![empty.clone(), empty.clone(), long(count)],
                vec![empty.clone(), empty.clone(), long(count), vec![b'x'; 100]],
            ] {
                let decoded = decode(&mut decoder, &[Some(with_id(1, &[&payload.concat()]))]);
                assert_eq!(decoded.errors.len(), 1, "{count} in {payload:?}");
            }
        }
        let endless = [0xff_u8; 64];
        assert_eq!(decode(&mut decoder, &[Some(with_id(1, &[&endless]))]).errors.len(), 1);
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn a_payload_with_a_prefix_after_its_value_does_not_reach_the_next_row() {
    let mut decoder = decoder(r#""long""#, &[(1, "long")]);
    for prefix in [&[0_u8; 5][..], &[0; 9], &[0, 0, 0, 0, 1], b"\xc3\x01\0\0\0\0\0\0\0\0"] {
        let rows = [Some(with_id(1, &[&long(1), prefix])), Some(with_id(1, &[&long(2)]))];
        let decoded = decode(&mut decoder, &rows);
        assert_eq!(only_error(&decoded), (0, "schema 1: bytes are left after the value".to_owned()));
        assert_eq!(decoded.array.as_primitive::<Int64Type>().value(1), 2);
    }
}

#[test]
fn schemas_that_expand_without_end_are_errors() {
    let began = Instant::now();
    let mut ty = r#""int""#.to_owned();
    for level in 0..30 {
        let second = if level == 0 { r#""int""#.to_owned() } else { format!(r#""R{}""#, level - 1) };
        ty = format!(
            r#"{{"type": "record", "name": "R{level}", "fields": [
                {{"name": "a", "type": {ty}}}, {{"name": "b", "type": {second}}}]}}"#
        );
    }
    let error = try_decoder(&ty).unwrap_err().to_string();
    assert!(error.contains("more than 10000 types"), "{error}");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn random_bytes_never_panic_or_hang() {
    let began = Instant::now();
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "u", "type": ["null", "int", "string", {"type": "array", "items": "double"}]},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
        {"name": "m", "type": {"type": "map", "values": {"type": "fixed", "name": "F", "size": 3}}},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 3}},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-nanos"}}]}"#;
    let slim = r#"{"type": "record", "name": "R", "fields": [
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-nanos"}}]}"#;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for reader in [schema, slim] {
        let mut decoder = decoder(reader, &[(1, schema)]);
        for _ in 0..200 {
            let rows: Vec<_> = (0..20)
                .map(|_| {
                    let length = usize::try_from(next() % 24).unwrap();
                    // Small numbers reach deeper than random bytes.
                    let payload: Vec<u8> =
                        (0..length).map(|_| (next() % if next() % 3 == 0 { 256 } else { 8 }) as u8).collect();
                    Some(with_id(1, &[&payload]))
                })
                .collect();
            decode(&mut decoder, &rows);
        }
    }
    assert!(began.elapsed() < 4 * SOON, "{:?}", began.elapsed());
}

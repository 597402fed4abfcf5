//! Proves: hostile payloads cost little time and memory, and never panic.

use std::time::{Duration, Instant};

use arrow_array::Array;
use arrow_schema::{DataType, Field};

use crate::support::*;

/// Far more than any of these needs on a busy machine, far less than what grows faster than the payload would take.
const SOON: Duration = Duration::from_secs(60);

const SCHEMA: &str = r#"{"type": "object", "properties": {
    "i": {"type": "integer"}, "n": {"type": "number"}, "s": {"type": "string"}, "t": {},
    "l": {"items": {"items": {"type": "integer"}}}, "m": {"additionalProperties": {"type": "integer"}}}}"#;

#[test]
fn bombs_are_errors_in_bounded_time() {
    let began = Instant::now();
    let mut decoder = json_decoder(SCHEMA);
    let size = 1_000_000;
    let digits = "9".repeat(size);
    for (row, expected) in [
        ("[".repeat(size), "expected an object"),
        ("{\"a\":".repeat(size / 5), "more than 128 levels"),
        (format!("{{\"t\": {}", "[".repeat(size)), "more than 128 levels"),
        (format!("{{\"l\": {}", "[".repeat(size)), "expected an integer"),
        (format!("{{\"i\": {digits}}}"), "beyond the range of integers"),
        (format!("{{\"i\": -0.{digits}}}"), "expected an integer"),
        (format!("{{\"i\": 1e{digits}}}"), "beyond the range of integers"),
        (format!("{{\"i\": 1e-{digits}}}"), "expected an integer"),
        (format!("{{\"n\": {digits}}}"), "beyond the range of doubles"),
        (format!("{{\"n\": 1e{digits}}}"), "beyond the range of doubles"),
        (format!("{{\"s\": \"{}", "\\\"".repeat(size)), "ends within a string"),
        (format!("{{\"s\": \"{}", "\\ud83d\\ude00".repeat(size / 12)), "ends within a string"),
        (" ".repeat(size), "it ends where"),
        (",".repeat(size), "expected an object"),
    ] {
        let found = reason(&mut decoder, &row);
        assert!(found.contains(expected) && found.len() < 200, "{found}");
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn large_good_values_are_decoded() {
    let began = Instant::now();
    let mut decoder = json_decoder(SCHEMA);
    let zeros = "0".repeat(100_000);
    let keys: Vec<String> = (0..20_000).map(|key| format!("\"k{key}\": {key}")).collect();
    for row in [
        format!("{{\"i\": 1{zeros}e-{}}}", zeros.len()),
        format!("{{\"i\": 0e{}}}", "9".repeat(1_000)),
        format!("{{\"n\": 0.{zeros}1}}"),
        format!("{{\"n\": 1e-{}}}", "9".repeat(1_000)),
        format!("{{\"t\": {}1{}}}", "[".repeat(128), "]".repeat(128)),
        format!("{{\"m\": {{{}}}}}", keys.join(",")),
        format!("{{\"l\": [{}]}}", vec!["[]"; 100_000].join(",")),
        format!("{{{}}}", vec!["\"unknown\": [1]"; 20_000].join(",")),
    ] {
        assert_eq!(decode_good(&mut decoder, &[&row]).len(), 1);
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn many_malformed_rows_of_a_wide_type_are_errors_in_bounded_time() {
    let began = Instant::now();
    let fields = (0..2_000).map(|at| Field::new(format!("k{at}"), DataType::Int64, true));
    let mut decoder = json_decoder_of(DataType::Struct(fields.collect()));
    let rows: Vec<&str> = (0..5_000).map(|row| if row % 1_000 == 999 { "{}" } else { "{" }).collect();
    assert_eq!(decode_texts(&mut decoder, &rows).errors.len(), 4_995);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn random_bytes_never_panic_or_hang() {
    let began = Instant::now();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound).unwrap()
    };
    let pieces: [&[u8]; 24] = [
        b"{", b"}", b"[", b"]", b",", b":", b"\"i\":", b"\"n\":", b"\"s\":", b"\"t\":", b"\"l\":", b"\"m\":",
        b"1", b"-", b".5", b"e9", b"\"", b"\\", b"\\ud8", b"null", b"true", b" ", b"\xff", b"\x00",
    ];
    for schema in [SCHEMA, "{}", r#"{"type": "integer"}"#, r#"{"items": {"type": "string"}}"#] {
        let mut decoder = json_decoder(schema);
        for _ in 0..100 {
            let rows: Vec<_> = (0..20)
                .map(|_| Some((0..next(12)).flat_map(|_| pieces[next(24)].to_vec()).collect()))
                .collect();
            decode(&mut decoder, &rows);
        }
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

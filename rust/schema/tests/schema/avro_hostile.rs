//! Proves: hostile payloads and schemas are errors that cost little time and memory.

use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::avro_java;
use crate::support::*;

/// Random numbers below a bound.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    }
}

/// Far more than any of these needs on a busy machine, far less than their counts would take.
const SOON: Duration = Duration::from_secs(60);

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

#[test]
fn schemas_with_many_ways_to_match_are_errors_or_fast() {
    let began = Instant::now();
    // Each level is a union of records whose names differ, so that all pairs of structures are compared.
    let nested = |prefix: &str, levels: usize, branches: usize| {
        let mut ty = r#""int""#.to_owned();
        for level in 0..levels {
            let records: Vec<_> = (0..branches)
                .map(|branch| {
                    let field = if branch == 0 { ty.clone() } else { r#""int""#.to_owned() };
                    format!(
                        r#"{{"type": "record", "name": "{prefix}{level}_{branch}", "fields": [
                            {{"name": "a", "type": {field}}}]}}"#
                    )
                })
                .collect();
            ty = format!("[{}]", records.join(","));
        }
        format!(r#"{{"type": "record", "name": "R", "fields": [{{"name": "v", "type": {ty}}}]}}"#)
    };
    for (levels, branches) in [(25, 2), (25, 20), (3, 1000)] {
        let mut decoder = decoder(&nested("A", levels, branches), &[(1, &nested("B", levels, branches))]);
        decode(&mut decoder, &[Some(with_id(1, &[&long(0)]))]);
    }
    assert!(began.elapsed() < 2 * SOON, "{:?}", began.elapsed());
}

#[test]
fn many_malformed_rows_cost_little() {
    let began = Instant::now();
    let field = |at| format!(r#"{{"name": "f{at}", "type": ["null", "long", "string"]}}"#);
    let fields: Vec<_> = (0..30).map(field).collect();
    let schema = format!(r#"{{"type": "record", "name": "R", "fields": [{}]}}"#, fields.join(","));
    let good = vec![0; 30];
    for is_good in [|_| false, |row| row % 2 == 0, |row| row % 100 == 0] {
        let mut decoder = decoder(&schema, &[(1, &schema)]);
        let rows: Vec<_> = (0..2_000)
            .map(|row: usize| Some(with_id(1, &[if is_good(row) { &good } else { &good[..29] }])))
            .collect();
        let decoded = decode(&mut decoder, &rows);
        let bad: Vec<_> = decoded.errors.iter().map(|error| error.row).collect();
        assert_eq!(bad, (0..2_000).filter(|row| !is_good(*row)).collect::<Vec<_>>());
    }
    assert!(began.elapsed() < 2 * SOON, "{:?}", began.elapsed());
}

#[test]
fn mutated_payloads_of_evolved_schemas_never_panic_or_hang() {
    let began = Instant::now();
    let mut next = random(0x2545_f491_4f6c_dd1d);
    let mut errors = 0;
    for line in avro_java::read().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let Ok(mut decoder) = try_decoder(&line["reader"].to_string()) else { continue };
        decoder.add(ottla_schema::SchemaId::Id(1), &avro(&line["writer"].to_string()));
        let mut rows = Vec::new();
        for hex in line["payloads"].as_array().unwrap() {
            let mut payload = avro_java::unhex(hex.as_str().unwrap());
            for _ in 0..1 + next(3) {
                if !payload.is_empty() {
                    let at = next(payload.len());
                    payload[at] = [0, 1, 2, 3, 0x7f, 0x80, 0xff, payload[at] ^ 0x40][next(8)];
                }
            }
            rows.push(Some(with_id(1, &[&payload])));
        }
        errors += decode(&mut decoder, &rows).errors.len();
    }
    assert!(errors > 2_000, "{errors}");
    assert!(began.elapsed() < 4 * SOON, "{:?}", began.elapsed());
}

#[test]
fn schemas_with_words_in_the_wrong_places_never_panic_or_hang() {
    let began = Instant::now();
    let mut next = random(0x853c_49e6_748f_ea9b);
    let (mut readers, mut errors) = (0, 0);
    for line in avro_java::read().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut mutate = |schema: &serde_json::Value| {
            let text = schema.to_string();
            let mut words: Vec<&str> = text.split('"').collect();
            for _ in 0..1 + next(2) {
                // The words between quotes are those with odd numbers.
                let odd = words.len() / 2;
                if odd > 0 {
                    let (to, from) = (2 * next(odd) + 1, 2 * next(odd) + 1);
                    words[to] = words[from];
                }
            }
            words.join("\"")
        };
        let (reader, writer) = (mutate(&line["reader"]), mutate(&line["writer"]));
        for (reader, writer) in
            [(&line["reader"].to_string(), &writer), (&reader, &line["writer"].to_string())]
        {
            let Ok(mut decoder) = try_decoder(reader) else { continue };
            readers += 1;
            decoder.add(ottla_schema::SchemaId::Id(1), &avro(writer));
            let payloads = line["payloads"].as_array().unwrap().iter();
            let payloads = payloads.map(|hex| avro_java::unhex(hex.as_str().unwrap()));
            let rows: Vec<_> = payloads.map(|payload| Some(with_id(1, &[&payload]))).collect();
            errors += decode(&mut decoder, &rows).errors.len();
        }
    }
    assert!(readers > 2_000 && errors > 2_000, "{readers} {errors}");
    assert!(began.elapsed() < 4 * SOON, "{:?}", began.elapsed());
}

#[test]
fn a_number_beyond_a_day_is_no_time_of_day() {
    for (base, logical, day) in [("int", "time-millis", 86_400_000), ("long", "time-micros", 86_400_000_000)]
    {
        let schema = format!(r#"{{"type": "{base}", "logicalType": "{logical}"}}"#);
        let mut decoder = decoder(&schema, &[(1, &schema), (2, r#""int""#)]);
        // Also as the number of a writer without the logical type.
        for id in [1, 2] {
            let times = [0, -1, day - 1, day, i64::from(i32::MAX), i64::from(i32::MIN)];
            let times = times.map(|time| if id == 2 { time.min(i64::from(i32::MAX)) } else { time });
            let rows = times.map(|time| Some(with_id(id, &[&long(time)])));
            let decoded = decode(&mut decoder, &rows);
            for (row, time) in times.into_iter().enumerate() {
                let is_error = decoded.errors.iter().any(|error| error.row == row);
                assert_eq!(is_error, !(0..day).contains(&time), "{time} of {logical}");
                assert_eq!(decoded.array.is_null(row), is_error);
            }
            decoded.array.to_data().validate_full().unwrap();
        }
    }
}

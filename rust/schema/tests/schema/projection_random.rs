//! Proves: a column with some fields is the whole column without the others, for random fields of random data, and
//! of the data that Java wrote. What is not decoded is walked safely. The seeds are fixed.

use arrow_schema::DataType;
use ottla_schema::{ColumnDecoder, DecodedColumn, RegisteredSchema, SchemaId, WireFormat};

use crate::projection_support::{Names, paths, project, quoted};
use crate::protobuf_random::{Random, RandomSchema, random_payload};
use crate::protobuf_support::{plain, proto};
use crate::support::*;
use crate::{avro_java, json_generator, protobuf_differential};

/// Some paths of a type; `None` if it has none.
fn choose(below: &mut impl FnMut(usize) -> usize, data_type: &DataType) -> Option<Vec<Names>> {
    let all = paths(data_type);
    if all.is_empty() {
        return None;
    }
    let first = all[below(all.len())].clone();
    let others = all.iter().filter(|_| below(4) == 0).cloned();
    Some(std::iter::once(first).chain(others).collect())
}

fn decoder_of(schema: &RegisteredSchema, chosen: &[Names], wire_format: WireFormat) -> ColumnDecoder {
    let texts: Vec<String> = chosen.iter().map(quoted).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    projected(schema, &texts, wire_format).unwrap_or_else(|error| panic!("{texts:?}: {error}"))
}

/// Asserts that the good rows of the whole column are those of its part. Returns the number of good rows.
fn compare(whole: &DecodedColumn, part: &DecodedColumn, chosen: &[Names], context: &str) -> usize {
    let expected = project(&whole.array, chosen);
    assert_eq!(expected.data_type(), part.array.data_type(), "{context}");
    let is_bad = |decoded: &DecodedColumn, row| decoded.errors.iter().any(|error| error.row == row);
    let mut good = 0;
    for row in 0..whole.array.len() {
        if is_bad(whole, row) {
            continue;
        }
        assert!(!is_bad(part, row), "{context}: {chosen:?}: {:?}", part.errors);
        assert_eq!(&expected.slice(row, 1), &part.array.slice(row, 1), "{context}: {chosen:?}");
        good += 1;
    }
    good
}

/// Changes a few bytes.
fn mutate(below: &mut impl FnMut(usize) -> usize, payload: &mut [u8]) {
    for _ in 0..1 + below(3) {
        if !payload.is_empty() {
            let at = below(payload.len());
            payload[at] = [0, 1, 2, 3, 0x7f, 0x80, 0xff, payload[at] ^ 0x40][below(8)];
        }
    }
}

#[test]
fn a_part_of_what_java_wrote_is_that_part_of_the_whole() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut below = |limit| random.below(limit);
    let (mut good, mut unions) = (0, 0);
    for line in avro_java::read().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let (reader, writer) = (avro(&line["reader"].to_string()), avro(&line["writer"].to_string()));
        let payloads = line["payloads"].as_array().unwrap().iter();
        let payloads: Vec<_> = payloads.map(|hex| avro_java::unhex(hex.as_str().unwrap())).collect();
        let Ok(mut whole) = try_decoder(&reader.text) else { continue };
        whole.add(SchemaId::Id(1), &writer);
        for _ in 0..2 {
            let Some(chosen) = choose(&mut below, whole.data_type()) else { continue };
            unions += usize::from(chosen.iter().flatten().any(|name| name.starts_with("member")));
            let mut part = decoder_of(&reader, &chosen, WireFormat::Confluent);
            part.add(SchemaId::Id(1), &writer);
            let rows: Vec<_> = payloads.iter().map(|payload| Some(with_id(1, &[payload]))).collect();
            let context = line["name"].to_string();
            good += compare(&decode(&mut whole, &rows), &decode(&mut part, &rows), &chosen, &context);
            // A mutated block of a skipped array may have any size, so its values may differ.
            let mutated = payloads.iter().map(|payload| {
                let mut payload = payload.clone();
                mutate(&mut below, &mut payload);
                Some(with_id(1, &[&payload]))
            });
            decode(&mut part, &mutated.collect::<Vec<_>>());
        }
    }
    assert!(good > 5_000 && unions > 100, "{good} {unions}");
}

#[test]
fn a_part_of_random_messages_is_that_part_of_the_whole() {
    let (mut good, mut bad) = (0, 0);
    for seed in 1..150_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let schema = RandomSchema::new(&mut random);
        let writer = protobuf_differential::descriptor(&schema.text());
        let payloads: Vec<_> = (0..12).map(|_| random_payload(&mut random, &writer)).collect();
        let mut below = |limit| random.below(limit);
        let mut whole = plain(&schema.text());
        let Some(chosen) = choose(&mut below, whole.data_type()) else { continue };
        let mut part = decoder_of(&proto(&schema.text()), &chosen, WireFormat::None);
        let mut mutated = payloads.clone();
        mutated.iter_mut().for_each(|payload| mutate(&mut below, payload));
        for rows in [payloads, mutated] {
            let rows: Vec<_> = rows.into_iter().map(Some).collect();
            let (whole, part) = (decode(&mut whole, &rows), decode(&mut part, &rows));
            good += compare(&whole, &part, &chosen, &format!("seed {seed}\n{}", schema.text()));
            bad += whole.errors.len();
        }
    }
    assert!(good > 1_500 && bad > 200, "{good} {bad}");
}

#[test]
fn a_part_of_random_json_is_that_part_of_the_whole() {
    let (mut good, mut bad) = (0, 0);
    for seed in 1..=600_u64 {
        let mut random = json_generator::Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let field = random.field("value".to_owned(), 3);
        let texts: Vec<Vec<u8>> = (0..10)
            .map(|_| {
                let mut text = String::new();
                let value = random.value(&field);
                random.write(&value, &field, &mut text);
                text.into_bytes()
            })
            .collect();
        let mut below = |limit| random.below(limit);
        let mut whole = new_json(&field).unwrap();
        let Some(chosen) = choose(&mut below, whole.data_type()) else { continue };
        let names: Vec<String> = chosen.iter().map(quoted).collect();
        let mut part = projected_json(&field, &names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        let mut mutated = texts.clone();
        mutated.iter_mut().for_each(|text| mutate(&mut below, text));
        for rows in [texts, mutated] {
            let rows: Vec<_> = rows.into_iter().map(Some).collect();
            let (whole, part) = (decode(&mut whole, &rows), decode(&mut part, &rows));
            good += compare(&whole, &part, &chosen, &format!("seed {seed}"));
            bad += whole.errors.len();
        }
    }
    assert!(good > 1_000 && bad > 200, "{good} {bad}");
}

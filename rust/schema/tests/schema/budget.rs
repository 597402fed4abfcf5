//! Proves: what a schema multiplies is counted in bytes. A batch ends early, each row is decoded once, and a row that
//! takes too much alone is an error.

use arrow_array::{Array, BinaryArray};
use ottla_schema::{
    BATCH_KEY, ColumnDecoder, Header, ReaderOptions, ReaderSource, RegisteredSchema, SchemaId, SchemaLimits,
    SchemaType, WireFormat,
};

use crate::protobuf_support::{int, len, proto, proto3};
use crate::support::{avro, long};

/// A budget that is spent quickly.
const SMALL: usize = 1 << 20;

pub(crate) fn with_budget(
    schema: &RegisteredSchema,
    wire_format: WireFormat,
    batch_bytes: usize,
) -> ColumnDecoder {
    let limits = SchemaLimits { batch_bytes, ..SchemaLimits::default() };
    let options = ReaderOptions { limits, ..ReaderOptions::default() };
    ColumnDecoder::with_options(ReaderSource::Schema(schema), &options, wire_format, Header::Value).unwrap()
}

/// A batch: the number of its rows, and the bytes of its array.
type Part = (usize, usize);

/// Decodes rows by as many calls as it takes; returns the batches, and the numbers of the rows that are errors.
fn decode_all(decoder: &mut ColumnDecoder, rows: &[Option<Vec<u8>>]) -> (Vec<Part>, Vec<usize>) {
    let column: BinaryArray = rows.iter().map(Option::as_deref).collect();
    let (mut done, mut parts, mut errors) = (0, Vec::new(), Vec::new());
    while done < rows.len() {
        let decoded = decoder.decode(&column.slice(done, rows.len() - done), None).unwrap();
        let array = decoded.array;
        assert!(!array.is_empty(), "no row was decoded");
        array.to_data().validate_full().unwrap();
        for error in &decoded.errors {
            assert!(error.row < array.len() && array.is_null(error.row), "{error}");
            errors.push(done + error.row);
        }
        parts.push((array.len(), array.to_data().get_slice_memory_size().unwrap()));
        done += array.len();
    }
    assert_eq!(done, rows.len());
    (parts, errors)
}

pub(crate) fn record(fields: &str) -> RegisteredSchema {
    avro(&format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#))
}

fn wide(prefix: &str) -> String {
    (0..2_000)
        .map(|at| format!(r#"{prefix}{{"name": "f{at}", "type": "long"}}"#))
        .collect::<String>()
        .replacen(prefix, "", 1)
}

/// Schemas with a row of a byte or two that becomes many, and about how many.
fn multiplying() -> Vec<(&'static str, RegisteredSchema, Vec<u8>, usize)> {
    let long_name = "A".repeat(60_000);
    let text = "x".repeat(100_000);
    let columns = wide(", ");
    let messages: String = (1..2_000).map(|at| format!("int64 f{at} = {at};")).collect();
    let members = json_members();
    let json = |text: String| RegisteredSchema::new(SchemaType::Json, text);
    vec![
        (
            "a null of a fixed type",
            record(r#"{"name": "n", "type": ["null", {"type": "fixed", "name": "F", "size": 200000}]}"#),
            vec![0],
            200_000,
        ),
        (
            "a symbol",
            record(&format!(
                r#"{{"name": "e", "type": {{"type": "enum", "name": "E", "symbols": ["{long_name}"]}}}}"#
            )),
            vec![0],
            60_000,
        ),
        (
            "a null record",
            record(&format!(
                r#"{{"name": "n", "type": ["null", {{"type": "record", "name": "W", "fields": [{columns}]}}]}}"#
            )),
            vec![0],
            16_000,
        ),
        (
            "items that are null records",
            record(&format!(
                r#"{{"name": "n", "type": {{"type": "array", "items":
                    ["null", {{"type": "record", "name": "W", "fields": [{columns}]}}]}}}}"#
            )),
            [long(5), vec![0; 5], long(0)].concat(),
            80_000,
        ),
        (
            "values of a map that are null",
            record(
                r#"{"name": "n", "type": {"type": "map", "values":
                    ["null", {"type": "fixed", "name": "F", "size": 50000}]}}"#,
            ),
            [long(2), vec![0, 0], vec![0, 0], long(0)].concat(),
            100_000,
        ),
        (
            "members of a union",
            record(
                r#"{"name": "u", "type": ["int", {"type": "fixed", "name": "F", "size": 150000}, "string"]}"#,
            ),
            vec![0, 2],
            150_000,
        ),
        (
            "the name of an enum's default",
            proto(&proto3(&format!(
                "message M {{ E e = 1; int32 a = 2; }} enum E {{ {long_name} = 0; B = 1; }}"
            ))),
            int(2, 1),
            60_000,
        ),
        (
            "names in a packed list",
            proto(&proto3(&format!(
                "message M {{ repeated E e = 1; }} enum E {{ {long_name} = 0; B = 1; }}"
            ))),
            len(1, [0, 0, 0]),
            180_000,
        ),
        (
            "empty messages",
            proto(&proto3(&format!("message M {{ repeated W w = 1; }} message W {{ {messages} }}"))),
            len(1, "").repeat(3),
            48_000,
        ),
        (
            "an absent message",
            proto(&proto3(&format!("message M {{ W w = 1; int32 a = 2; }} message W {{ {messages} }}"))),
            int(2, 1),
            16_000,
        ),
        ("an empty object", json(format!(r#"{{"properties": {{{members}}}}}"#)), b"{}".to_vec(), 16_000),
        (
            "empty objects",
            json(format!(r#"{{"properties": {{"l": {{"items": {{"properties": {{{members}}}}}}}}}}}"#)),
            br#"{"l": [{}, {}, {}]}"#.to_vec(),
            48_000,
        ),
        (
            "a default",
            // Its writer is added below.
            record(&format!(
                r#"{{"name": "i", "type": "int"}}, {{"name": "s", "type": "string", "default": "{text}"}}"#
            )),
            vec![2],
            100_000,
        ),
    ]
}

fn json_members() -> String {
    (0..2_000).map(|at| format!(r#""f{at}": {{"type": "integer"}}"#)).collect::<Vec<_>>().join(",")
}

#[test]
fn a_batch_ends_when_its_budget_is_spent() {
    for (what, schema, row, bytes) in multiplying() {
        let has_writer = what == "a default";
        let wire_format = if has_writer { WireFormat::Confluent } else { WireFormat::None };
        let mut decoder = with_budget(&schema, wire_format, SMALL);
        let row = match has_writer {
            true => {
                decoder.add(SchemaId::Id(1), &record(r#"{"name": "i", "type": "int"}"#));
                crate::support::with_id(1, &[&row])
            }
            false => row,
        };
        let rows = vec![Some(row); 300];
        let (parts, errors) = decode_all(&mut decoder, &rows);
        assert!(errors.is_empty(), "{what}");
        let most = parts.iter().map(|(_, bytes)| *bytes).max().unwrap();
        // A row may exceed it, and the smallest unit of a column is a byte.
        assert!(most <= SMALL + 2 * bytes, "{what}: {most}");
        assert!(parts.len() >= 300 * bytes / SMALL / 2, "{what}: {} batches", parts.len());
        // Not many more than it takes.
        assert!(parts.len() <= 2 + 3 * 300 * bytes / SMALL, "{what}: {} batches", parts.len());
    }
}

#[test]
fn a_row_that_takes_too_much_alone_is_an_error() {
    for (what, schema, row) in [
        (
            "nulls",
            record(
                r#"{"name": "n", "type": {"type": "array", "items":
                    ["null", {"type": "fixed", "name": "F", "size": 100000}]}}"#,
            ),
            [long(1_000), vec![0; 1_000], long(0)].concat(),
        ),
        (
            "symbols",
            record(&format!(
                r#"{{"name": "n", "type": {{"type": "array", "items":
                    {{"type": "enum", "name": "E", "symbols": ["{}"]}}}}}}"#,
                "A".repeat(60_000)
            )),
            [long(1_000), vec![0; 1_000], long(0)].concat(),
        ),
        (
            "names",
            proto(&proto3(&format!(
                "message M {{ repeated E e = 1; }} enum E {{ {} = 0; }}",
                "A".repeat(60_000)
            ))),
            len(1, vec![0; 1_000]),
        ),
        (
            "objects",
            RegisteredSchema::new(
                SchemaType::Json,
                format!(
                    r#"{{"properties": {{"l": {{"items": {{"properties": {{{}}}}}}}}}}}"#,
                    json_members()
                ),
            ),
            format!(r#"{{"l": [{}]}}"#, vec!["{}"; 1_000].join(",")).into_bytes(),
        ),
    ] {
        let mut decoder = with_budget(&schema, WireFormat::None, SMALL);
        let good = match schema.schema_type {
            SchemaType::Json => b"{}".to_vec(),
            SchemaType::Protobuf => Vec::new(),
            SchemaType::Avro => long(0),
        };
        let rows = [Some(good.clone()), Some(row.clone()), Some(good.clone()), Some(row), Some(good)];
        let (parts, errors) = decode_all(&mut decoder, &rows);
        assert_eq!(errors, [1, 3], "{what}");
        assert!(parts.iter().all(|(_, bytes)| *bytes <= SMALL), "{what}: {parts:?}");
        let column: BinaryArray = rows.iter().map(Option::as_deref).collect();
        let error = decoder.decode(&column.slice(1, 1), None).unwrap().errors.remove(0).reason;
        assert!(error.contains("the schema multiplies") && error.contains(BATCH_KEY), "{what}: {error}");
    }
}

/// A large row is no reason for an error: its own bytes explain it.
#[test]
fn a_large_row_is_decoded_alone() {
    let text = record(r#"{"name": "s", "type": "string"}"#);
    let row = |size: usize| Some(crate::support::bytes(&vec![b'x'; size]));
    let rows = [row(10), row(5 * SMALL), row(10), row(10), row(5 * SMALL), row(5 * SMALL)];
    let (parts, errors) = decode_all(&mut with_budget(&text, WireFormat::None, SMALL), &rows);
    assert!(errors.is_empty());
    assert_eq!(parts.iter().map(|(rows, _)| *rows).collect::<Vec<_>>(), [2, 3, 1]);
    let numbers = record(r#"{"name": "l", "type": {"type": "array", "items": "long"}}"#);
    let rows = [Some([long(SMALL as i64), vec![2; SMALL], long(0)].concat())];
    let (_, errors) = decode_all(&mut with_budget(&numbers, WireFormat::None, SMALL), &rows);
    assert!(errors.is_empty());
}

#[test]
fn nulls_and_malformed_rows_take_as_much_as_others() {
    let fixed = record(r#"{"name": "n", "type": {"type": "fixed", "name": "F", "size": 200000}}"#);
    let messages: String = (1..2_000).map(|at| format!("int64 f{at} = {at};")).collect();
    let message = proto(&proto3(&format!("message M {{ {messages} }}")));
    for (schema, bytes) in [(fixed, 200_000), (message, 16_000)] {
        let rows: Vec<_> = (0..400).map(|row| if row % 2 == 0 { None } else { Some(vec![0xff]) }).collect();
        let (parts, errors) = decode_all(&mut with_budget(&schema, WireFormat::None, SMALL), &rows);
        assert_eq!(errors.len(), 200);
        assert!(parts.iter().all(|(_, size)| *size <= SMALL + 2 * bytes), "{parts:?}");
    }
}

/// Each row is decoded once, in its place, whichever writer's schema it has.
#[test]
fn rows_of_several_writers_share_a_budget() {
    let reader = record(
        r#"{"name": "i", "type": "int"}, {"name": "n", "type": ["null", {"type": "fixed", "name": "F", "size": 100000}], "default": null}"#,
    );
    let mut decoder = with_budget(&reader, WireFormat::Confluent, SMALL);
    let plain = record(r#"{"name": "i", "type": "int"}"#);
    for id in 1..4 {
        decoder.add(SchemaId::Id(id), &plain);
    }
    decoder.add_failure(SchemaId::Id(4), "it is gone");
    let rows: Vec<_> = (0..200_u32)
        .map(|row| Some(crate::support::with_id(1 + row % 5 % 4, &[&long(row.into())])))
        .collect();
    let column: BinaryArray = rows.iter().map(Option::as_deref).collect();
    let (mut done, mut parts) = (0, 0);
    while done < rows.len() {
        let decoded = decoder.decode(&column.slice(done, rows.len() - done), None).unwrap();
        let array = arrow_array::cast::AsArray::as_struct(&decoded.array);
        let numbers =
            arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int32Type>(array.column(0));
        for row in 0..array.len() {
            let number = done + row;
            let is_gone = number % 5 % 4 == 3;
            assert_eq!(array.is_null(row), is_gone, "{number}");
            assert_eq!(decoded.errors.iter().any(|error| error.row == row), is_gone);
            assert!(is_gone || numbers.value(row) == i32::try_from(number).unwrap(), "{number}");
        }
        assert!(array.get_array_memory_size() < 8 * SMALL);
        done += array.len();
        parts += 1;
    }
    assert!((20..60).contains(&parts), "{parts}");
}

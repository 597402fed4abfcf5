//! Proves: each type of Avro becomes its column; rows are null, good or errors, each alone.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, BinaryArray, ListArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use ottla_schema::{ColumnDecoder, Header, RegisteredSchema, SchemaId, SchemaReference, WireFormat};

use crate::support::*;

const ORDER: &str = r#"{"type": "record", "name": "Order", "namespace": "shop", "doc": "An order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "item", "type": ["null", "string"], "default": null, "doc": "what"},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}}
]}"#;

fn order(id: i64, item: Option<&str>, state: i64) -> Vec<u8> {
    let item = item.map_or_else(|| long(0), |item| [long(1), bytes(item.as_bytes())].concat());
    with_id(1, &[&long(id), &item, &long(state)])
}

#[test]
fn records_become_structs() {
    let mut decoder = decoder(ORDER, &[(1, ORDER)]);
    let rows = [Some(order(1, Some("tea"), 0)), None, Some(order(-5, None, 1))];
    let column = decode_struct(&mut decoder, &rows);
    assert_eq!(column.nulls(), Some(&NullBuffer::from(vec![true, false, true])));
    assert_eq!(column.column(0).as_primitive::<Int64Type>().value(2), -5);
    assert_eq!(column.column(1).as_string::<i32>().value(0), "tea");
    assert!(column.column(1).is_null(2));
    let states = column.column(2).as_string::<i32>();
    assert_eq!((states.value(0), states.value(2)), ("NEW", "PAID"));
    let DataType::Struct(fields) = decoder.data_type() else { panic!("a struct") };
    assert!(fields.iter().all(|field| field.metadata().is_empty()));
}

#[test]
fn a_malformed_row_is_an_error_of_its_own() {
    let mut decoder = decoder(ORDER, &[(1, ORDER)]);
    let good = |id| Some(order(id, Some("tea"), 0));
    let truncated = |mut row: Vec<u8>| {
        row.truncate(9);
        Some(row)
    };
    let mut long_row = order(3, None, 0);
    long_row.push(0);
    let not_utf8 = with_id(1, &[&long(1), &long(1), &bytes(b"\xff\xfe"), &long(0)]);
    let rows = [
        good(0),
        truncated(order(1, Some("tea"), 0)),
        good(2),
        Some(long_row),
        Some(not_utf8),
        good(5),
        Some(order(6, None, 9)),
        Some(b"plain text".to_vec()),
        Some(vec![]),
        Some(with_id(99, &[&long(1)])),
        Some(with_id(1, &[])),
        good(11),
    ];
    let decoded = decode(&mut decoder, &rows);
    let bad: Vec<usize> = decoded.errors.iter().map(|error| error.row).collect();
    assert_eq!(bad, [1, 3, 4, 6, 7, 8, 9, 10], "{:#?}", decoded.errors);
    let ids = decoded.array.as_struct().column(0).as_primitive::<Int64Type>().clone();
    assert_eq!([0, 2, 5, 11].map(|row| ids.value(row)), [0, 2, 5, 11]);
    let reasons: Vec<String> = decoded.errors.iter().map(ToString::to_string).collect();
    assert!(reasons[0].starts_with("schema 1: "), "{reasons:#?}");
    assert!(reasons[1].contains("bytes are left after the value"), "{reasons:#?}");
    assert!(reasons[4].contains("byte 0x70"), "{reasons:#?}");
    assert!(reasons[6].contains("schema 99: the schema was not looked up"), "{reasons:#?}");
    // The decoder goes on.
    assert_eq!(decode_struct(&mut decoder, &[good(7)]).len(), 1);
}

#[test]
fn missing_schemas_are_named_once_and_their_failures_are_errors_of_rows() {
    let mut decoder = decoder(ORDER, &[]);
    let rows = [Some(order(1, None, 0)), Some(with_id(7, &[])), Some(with_id(1, &[])), None];
    let column: BinaryArray = rows.iter().map(Option::as_deref).collect();
    assert_eq!(decoder.missing(&column, None), [SchemaId::Id(1), SchemaId::Id(7)]);
    decoder.add(SchemaId::Id(1), &avro(ORDER));
    decoder.add_failure(SchemaId::Id(7), "the registry has no schema 7");
    assert_eq!(decoder.missing(&column, None), []);
    let decoded = decode(&mut decoder, &rows[..2]);
    assert_eq!(only_error(&decoded), (1, "schema 7: the registry has no schema 7".to_owned()));
}

#[test]
fn any_type_may_be_at_the_top() {
    let mut strings = decoder(r#""string""#, &[(1, "string")]);
    let decoded =
        decode(&mut strings, &[Some(with_id(1, &[&bytes(b"x")])), Some(with_id(1, &[&bytes(b"")]))]);
    let array = decoded.array.as_string::<i32>();
    assert_eq!((array.value(0), array.value(1)), ("x", ""));
    let mut lists = decoder_of_ints();
    let decoded = decode(&mut lists, &[Some(with_id(1, &[&long(2), &long(3), &long(4), &long(0)]))]);
    let values = decoded.array.as_list::<i32>().value(0);
    assert_eq!(values.as_primitive::<Int32Type>().values(), &[3, 4]);
}

fn decoder_of_ints() -> ColumnDecoder {
    let ints = r#"{"type": "array", "items": "int"}"#;
    decoder(ints, &[(1, ints)])
}

#[test]
fn logical_types_are_columns_of_their_own_type() {
    let field = |name: &str, ty: &str| format!(r#"{{"name": "{name}", "type": {ty}}}"#);
    let logical = |ty: &str, logical: &str| format!(r#"{{"type": "{ty}", "logicalType": "{logical}"}}"#);
    let fields = [
        field("date", &logical("int", "date")),
        field("time", &logical("long", "time-micros")),
        field("millis", &logical("long", "timestamp-millis")),
        field("micros", &logical("long", "timestamp-micros")),
        field("local", &logical("long", "local-timestamp-millis")),
        field("uuid", &logical("string", "uuid")),
        field("price", r#"{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}"#),
        field(
            "wide",
            r#"{"type": "fixed", "name": "W", "size": 20, "logicalType": "decimal", "precision": 40}"#,
        ),
        field("unknown", &logical("int", "colour")),
        field("wrong", r#"{"type": "bytes", "logicalType": "decimal"}"#),
    ];
    let schema = format!(r#"{{"type": "record", "name": "R", "fields": [{}]}}"#, fields.join(","));
    let mut decoder = decoder(&schema, &[(1, &schema)]);
    let mut wide = [0xff_u8; 20];
    wide[19] = 0xfe;
    let row = [
        long(-1),
        long(5),
        long(1_700_000_000_000),
        long(-7),
        long(9),
        bytes(b"0e2a1c5e-7b1c-4c0e-9d5e-0123456789ab"),
        bytes(&[0xff, 0x38]),
        wide.to_vec(),
        long(3),
        bytes(b"\x01"),
    ];
    let column = decode_struct(&mut decoder, &[Some(with_id(1, &[&row.concat()]))]);
    let types: Vec<DataType> = column.columns().iter().map(|column| column.data_type().clone()).collect();
    let utc = || Some("UTC".into());
    assert_eq!(
        types,
        [
            DataType::Date32,
            DataType::Time64(TimeUnit::Microsecond),
            DataType::Timestamp(TimeUnit::Millisecond, utc()),
            DataType::Timestamp(TimeUnit::Microsecond, utc()),
            DataType::Timestamp(TimeUnit::Millisecond, None),
            DataType::Utf8,
            DataType::Decimal128(9, 2),
            DataType::Decimal256(40, 0),
            DataType::Int32,
            DataType::Binary,
        ]
    );
    assert_eq!(column.column(6).as_primitive::<Decimal128Type>().value(0), -200);
    assert_eq!(column.column(7).as_primitive::<Decimal256Type>().value(0), (-2).into());
}

#[test]
fn unions_become_structs_with_a_field_for_each_branch() {
    let schema =
        r#"{"type": "record", "name": "R", "fields": [{"name": "u", "type": ["int", "null", "string"]}]}"#;
    let mut decoder = decoder(schema, &[(1, schema)]);
    let rows = [
        Some(with_id(1, &[&long(0), &long(5)])),
        Some(with_id(1, &[&long(1)])),
        Some(with_id(1, &[&long(2), &bytes(b"x")])),
    ];
    let column = decode_struct(&mut decoder, &rows);
    let union = column.column(0).as_struct();
    assert_eq!(union.column_names(), ["member0", "member1"]);
    assert_eq!(union.nulls(), Some(&NullBuffer::from(vec![true, false, true])));
    assert_eq!(union.column(0).as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(5), None, None]);
    assert_eq!(union.column(1).as_string::<i32>().iter().collect::<Vec<_>>(), [None, None, Some("x")]);
}

#[test]
fn unions_are_decoded_in_batch_after_batch() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "u", "type": {"type": "array", "items": ["int", "null", "string"]}}]}"#;
    let mut decoder = decoder(schema, &[(1, schema)]);
    for _ in 0..3 {
        let items = [long(2), long(0), long(5), long(1), long(0)].concat();
        let column = decode_struct(&mut decoder, &[Some(with_id(1, &[&items]))]);
        let items = column.column(0).as_list::<i32>().value(0);
        assert_eq!(
            items.as_struct().column(0).as_primitive::<Int32Type>().iter().collect::<Vec<_>>(),
            [Some(5), None]
        );
    }
}

#[test]
fn referenced_schemas_are_inlined() {
    let address = r#"{"type": "record", "name": "Address", "namespace": "a.b", "fields": [{"name": "zip", "type": "int"}]}"#;
    let mut person = avro(
        r#"{"type": "record", "name": "Person", "namespace": "a.b", "fields": [
            {"name": "home", "type": "Address"}, {"name": "work", "type": ["null", "a.b.Address"]}]}"#,
    );
    let error = ColumnDecoder::new(&person, WireFormat::None, Header::Value).unwrap_err();
    assert!(error.to_string().contains("a.b.Address is not defined"), "{error}");
    person.references = vec![SchemaReference { name: "a.b.Address".into(), schema: Arc::new(avro(address)) }];
    let mut decoder = ColumnDecoder::new(&person, WireFormat::None, Header::Value).unwrap();
    let row = [long(1), long(1), long(2)].concat();
    let decoded = decoder.decode(&BinaryArray::from(vec![&row[..]]), None).unwrap();
    let people = decoded.array.as_struct();
    let work = people.column(1).as_struct();
    assert_eq!(work.column(0).as_primitive::<Int32Type>().value(0), 2);
}

#[test]
fn a_header_may_hold_the_id() {
    let mut decoder = ColumnDecoder::new(&avro("long"), WireFormat::Confluent, Header::Value).unwrap();
    assert!(decoder.needs_headers());
    let guid = *b"0123456789abcdef";
    let value = [&[1][..], &guid].concat();
    let entries = StructArray::from(vec![
        (
            Arc::new(Field::new("key", DataType::Utf8, true)),
            Arc::new(arrow_array::StringArray::from(vec!["__value_schema_id", "other"])) as _,
        ),
        (
            Arc::new(Field::new("value", DataType::Binary, true)),
            Arc::new(BinaryArray::from(vec![&value[..], b"x"])) as _,
        ),
    ]);
    let field = Arc::new(Field::new("item", entries.data_type().clone(), true));
    let offsets = OffsetBuffer::new(vec![0, 2, 2].into());
    let headers = ListArray::new(field, offsets, Arc::new(entries), None);
    let column = BinaryArray::from(vec![&long(7)[..], &with_id(3, &[&long(8)])]);
    let ids = decoder.missing(&column, Some(&headers));
    assert_eq!(ids, [SchemaId::Guid(guid), SchemaId::Id(3)]);
    for id in ids {
        decoder.add(id, &avro("int"));
    }
    let decoded = decoder.decode(&column, Some(&headers)).unwrap();
    assert_eq!(decoded.errors, []);
    assert_eq!(decoded.array.as_primitive::<Int64Type>().values(), &[7, 8]);
}

#[test]
fn schemas_without_columns_are_errors() {
    let nested = |depth: usize| {
        let open = r#"{"type": "array", "items": "#.repeat(depth);
        format!("{open}\"int\"{}", "}".repeat(depth))
    };
    for (schema, expected) in [
        ("{".to_owned(), "not a valid Avro schema: it is not JSON"),
        ("7".to_owned(), "expected a type, found 7"),
        (r#""Unknown""#.to_owned(), "the type Unknown is not defined"),
        (r#"{"type": "record", "name": "R"}"#.to_owned(), "has no \"fields\""),
        (r#"{"type": "record", "name": "R", "fields": []}"#.to_owned(), "the record R has no fields"),
        (
            r#"{"type": "record", "name": "n.L", "fields": [{"name": "next", "type": ["null", "L"]}]}"#
                .to_owned(),
            "the type n.L is recursive",
        ),
        (r#"{"type": "array", "items": "null"}"#.to_owned(), "take no bytes"),
        (r#""null""#.to_owned(), "null"),
        (r#"[]"#.to_owned(), "no branches"),
        (nested(100), "levels deep"),
    ] {
        let error = try_decoder(&schema).unwrap_err().to_string();
        assert!(error.contains(expected), "{schema}: {error}");
    }
    assert!(try_decoder(&nested(50)).is_ok());
    let other = RegisteredSchema::new(ottla_schema::SchemaType::Protobuf, "{}");
    assert!(ColumnDecoder::new(&other, WireFormat::None, Header::Key).is_err());
}

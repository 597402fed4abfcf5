//! Proves: JSON becomes columns of each type; whole columns with ids, nulls and two schemas.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, TimeUnit};
use ottla_schema::{ColumnDecoder, Header, RegisteredSchema, SchemaId, SchemaType, WireFormat};

use crate::support::*;

const ORDER: &str = r#"{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "item": {"oneOf": [{"type": "null"}, {"type": "string"}]},
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
        "extra": {}
    }, "required": ["id"], "additionalProperties": false}"#;

fn texts(array: &ArrayRef) -> Vec<Option<&str>> {
    array.as_string::<i32>().iter().collect()
}

#[test]
fn objects_become_structs() {
    let mut decoder = json_decoder(ORDER);
    let array = decode_good(
        &mut decoder,
        &[
            r#"{"id": 1, "item": "tea", "price": 2.5, "tags": ["a", "b"], "sizes": {"s": 1, "l": 3}, "extra": {"x": [1]}}"#,
            // Another order, unknown keys, escapes, white space.
            "\n{ \"unknown\" : {\"a\": [null, {}]}, \"tags\":[ ],\"\\u0069d\":\t-7,\"item\":null , \"extra\" : null }\r\n",
            r#"{"id":10e-1,"sizes":{},"item":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","price":-0,"extra":"x"}"#,
        ],
    );
    let array = array.as_struct();
    assert_eq!(array.column(0).as_primitive::<Int64Type>().values(), &[1, -7, 1]);
    assert_eq!(texts(array.column(1)), [Some("tea"), None, Some("\"\\/\u{8}\u{c}\n\r\té😀")]);
    let prices: Vec<_> = array.column(2).as_primitive::<Float64Type>().iter().collect();
    assert_eq!(prices, [Some(2.5), None, Some(0.0)]);
    assert!(prices[2].unwrap().is_sign_negative());
    let tags = array.column(3).as_list::<i32>();
    assert_eq!((tags.value_offsets(), tags.is_null(2)), (&[0, 2, 2, 2][..], true));
    assert_eq!(texts(tags.values()), [Some("a"), Some("b")]);
    let sizes = array.column(4).as_map();
    assert_eq!(
        (sizes.value_offsets(), sizes.nulls()),
        (&[0, 2, 2, 2][..], Some(&NullBuffer::from(vec![true, false, true])))
    );
    assert_eq!(texts(sizes.keys()), [Some("s"), Some("l")]);
    assert_eq!(sizes.values().as_primitive::<Int64Type>().values(), &[1, 3]);
    assert_eq!(texts(array.column(5)), [Some(r#"{"x": [1]}"#), None, Some(r#""x""#)]);
}

#[test]
fn any_type_may_be_at_the_top() {
    let numbers =
        decode_good(&mut json_decoder(r#"{"type": ["integer", "null"]}"#), &["1", " 2 ", "null", "30e-1"]);
    assert_eq!(
        numbers.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
        [Some(1), Some(2), None, Some(3)]
    );
    let strings = decode_good(&mut json_decoder(r#"{"type": "string"}"#), &[r#""a""#, r#""""#]);
    assert_eq!(texts(&strings), [Some("a"), Some("")]);
    let booleans = decode_good(&mut json_decoder(r#"{"type": "boolean"}"#), &["true", "false"]);
    assert_eq!(booleans.as_boolean().iter().collect::<Vec<_>>(), [Some(true), Some(false)]);
    let lists = decode_good(
        &mut json_decoder(r#"{"items": {"type": ["integer", "null"]}}"#),
        &["[]", "[1, null]", "null"],
    );
    assert_eq!(lists.as_list::<i32>().value_offsets(), [0, 0, 2, 2]);
    assert!(lists.is_null(2) && lists.as_list::<i32>().values().is_null(1));
    let maps =
        decode_good(&mut json_decoder(r#"{"additionalProperties": {"type": "string"}}"#), &[r#"{"k": "v"}"#]);
    assert_eq!(texts(maps.as_map().values()), [Some("v")]);
    let anything = decode_good(&mut json_decoder("{}"), &["null", " [1 , 2] ", "1.50"]);
    assert_eq!(texts(&anything), [None, Some("[1 , 2]"), Some("1.50")]);
}

#[test]
fn wide_objects_keep_their_fields_apart() {
    for count in [9, 64, 65, 200] {
        let names: Vec<String> = (0..count).map(|at| format!("k{at}")).collect();
        let fields = names.iter().map(|name| Field::new(name, DataType::Int32, false));
        let mut decoder = json_decoder_of(DataType::Struct(fields.collect()));
        let entry = |(at, name): (usize, &String)| format!("\"{name}\": {at}");
        let forward: Vec<String> = names.iter().enumerate().map(entry).collect();
        let backward: Vec<String> = names.iter().enumerate().rev().map(entry).collect();
        let rows = [forward, backward].map(|entries| format!("{{{}}}", entries.join(",")));
        let array = decode_good(&mut decoder, &[&rows[0], &rows[1]]);
        for (at, column) in array.as_struct().columns().iter().enumerate() {
            let at = i32::try_from(at).unwrap();
            assert_eq!(column.as_primitive::<Int32Type>().values(), &[at, at]);
        }
    }
}

#[test]
fn rows_have_ids_nulls_and_writers_of_any_json_schema() {
    let schema = |ty, text: &str| RegisteredSchema::new(ty, text);
    let mut decoder =
        ColumnDecoder::new(&schema(SchemaType::Json, ORDER), WireFormat::Confluent, Header::Value).unwrap();
    decoder.add(SchemaId::Id(1), &schema(SchemaType::Json, ORDER));
    decoder.add(SchemaId::Id(2), &schema(SchemaType::Json, r#"{"type": "object"}"#));
    decoder.add(SchemaId::Id(3), &schema(SchemaType::Avro, r#""long""#));
    let row = |id, text: &str| Some(with_id(id, &[text.as_bytes()]));
    let rows = [
        row(1, r#"{"id": 1}"#),
        None,
        row(2, r#"{"id": 2}"#),
        row(3, r#"{"id": 3}"#),
        row(2, "{}"),
        row(1, r#"{"id": 5}"#),
    ];
    let decoded = decode(&mut decoder, &rows);
    let errors: Vec<String> = decoded.errors.iter().map(|error| format!("{}: {error}", error.row)).collect();
    assert_eq!(
        errors,
        [
            "3: schema 3: the schema is of type AVRO, and the reader's of type JSON",
            "4: schema 2: $.id: it is missing"
        ]
    );
    let ids = decoded.array.as_struct().column(0).as_primitive::<Int64Type>().clone();
    assert_eq!([0, 2, 5].map(|row| ids.value(row)), [1, 2, 5]);
    assert!(decoded.array.is_null(1));
}

#[test]
fn given_types_are_filled() {
    let integers = |data_type: DataType, rows: &[&str]| decode_good(&mut json_decoder_of(data_type), rows);
    assert_eq!(integers(DataType::Int8, &["-128", "127"]).as_primitive::<Int8Type>().values(), &[-128, 127]);
    assert_eq!(
        integers(DataType::UInt64, &["18446744073709551615", "0"]).as_primitive::<UInt64Type>().values(),
        &[u64::MAX, 0]
    );
    assert_eq!(
        integers(DataType::Int64, &["-9223372036854775808", "9223372036854775807", "9007199254740993.0"])
            .as_primitive::<Int64Type>()
            .values(),
        &[i64::MIN, i64::MAX, 9_007_199_254_740_993]
    );
    assert_eq!(
        integers(DataType::Float32, &["0.1", "3.4028235e38"]).as_primitive::<Float32Type>().values(),
        &[0.1, f32::MAX]
    );
    let large = integers(DataType::LargeUtf8, &[r#""a""#]);
    assert_eq!(large.as_string::<i64>().value(0), "a");
    assert_eq!(integers(DataType::Utf8View, &[r#""\u0061""#]).as_string_view().value(0), "a");
    let list = DataType::LargeList(Field::new("x", DataType::Int16, false).into());
    assert_eq!(
        integers(list, &["[1, 2]"]).as_list::<i64>().value(0).as_primitive::<Int16Type>().values(),
        &[1, 2]
    );
    let dates = integers(DataType::Date32, &[r#""1970-01-02""#, r#""1969-12-31""#]);
    assert_eq!(dates.as_primitive::<Date32Type>().values(), &[1, -1]);
    let decimals =
        integers(DataType::Decimal128(5, 2), &["1.5", "-0.01", r#""999.99""#, "12e1", "0", "100e-2"]);
    assert_eq!(decimals.as_primitive::<Decimal128Type>().values(), &[150, -1, 99_999, 12_000, 0, 100]);
    let whole = integers(DataType::Decimal128(38, 0), &["99999999999999999999999999999999999999"]);
    assert_eq!(whole.as_primitive::<Decimal128Type>().value(0), 10_i128.pow(38) - 1);
    let wide = integers(DataType::Decimal256(76, 76), &["-0.1"]);
    assert_eq!(wide.as_primitive::<Decimal256Type>().value_as_string(0), format!("-0.1{}", "0".repeat(75)));
}

#[test]
fn timestamps_are_texts_of_rfc_3339() {
    let texts = [
        r#""1970-01-01T00:00:01.5Z""#,
        r#""1970-01-01T01:00:00.000001999+01:00""#,
        r#""1969-12-31 23:59:59.999999Z""#,
    ];
    for zone in [None, Some("UTC"), Some("Europe/Paris"), Some("+02:00")] {
        let data_type = DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
        let inner = DataType::List(Field::new("item", data_type.clone(), true).into());
        let mut decoder = json_decoder_of(data_type.clone());
        let array = decode_good(&mut decoder, &texts);
        assert_eq!(array.as_primitive::<TimestampMicrosecondType>().values(), &[1_500_000, 1, -1]);
        let mut nested = json_decoder_of(DataType::Struct(vec![Field::new("l", inner, true)].into()));
        let array = decode_good(&mut nested, &[r#"{"l": ["1970-01-01T00:00:00Z", null]}"#, "{}", "null"]);
        assert_eq!(array.as_struct().column(0).as_list::<i32>().values().data_type(), &data_type);
        let local = r#""2024-01-01T00:00:00""#;
        match zone {
            None => assert_eq!(decode_good(&mut decoder, &[local]).len(), 1),
            Some(_) => assert!(reason(&mut decoder, local).contains("is not a timestamp with an offset")),
        }
    }
    let mut nanoseconds = json_decoder_of(DataType::Timestamp(TimeUnit::Nanosecond, None));
    assert!(reason(&mut nanoseconds, r#""2263-01-01T00:00:00Z""#).contains("within its type's range"));
    assert!(reason(&mut nanoseconds, "1700000000").contains("expected a timestamp, found a number"));
}

#[test]
fn a_mark_makes_strings_json_text() {
    let mark = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())]);
    let fields = vec![
        Field::new("text", DataType::Utf8, false).with_metadata(mark),
        Field::new("string", DataType::Utf8, true)
            .with_metadata(HashMap::from([("k".to_owned(), "v".to_owned())])),
    ];
    let mut decoder = json_decoder_of(DataType::Struct(fields.into()));
    let DataType::Struct(fields) = decoder.data_type() else { panic!("a struct") };
    assert!(fields.iter().all(|field| field.metadata().is_empty()));
    let array = decode_good(&mut decoder, &[r#"{"text": {"a": "b"}, "string": "c"}"#, r#"{"text": "x"}"#]);
    assert_eq!(texts(array.as_struct().column(0)), [Some(r#"{"a": "b"}"#), Some(r#""x""#)]);
    assert_eq!(reason(&mut decoder, "{}"), "$.text: it is missing");
}

#[test]
fn types_that_no_json_becomes_are_errors() {
    let field = |ty: DataType| Field::new("x", ty, true);
    for (data_type, expected) in [
        (DataType::Binary, "$ has the type Binary"),
        (DataType::Null, "$ has the type Null"),
        (DataType::Float16, "$ has the type Float16"),
        (DataType::Decimal128(5, -1), "$ is a decimal"),
        (DataType::Struct(vec![field(DataType::Date64)].into()), "$.x has the type Date64"),
        (DataType::List(field(DataType::Binary).into()), "$[] has the type Binary"),
        (DataType::Struct(Vec::<Field>::new().into()), "the struct at $ has no fields"),
        (DataType::Struct(vec![field(DataType::Int8), field(DataType::Int8)].into()), "has two fields \"x\""),
        (
            DataType::Map(
                Field::new(
                    "e",
                    DataType::Struct(vec![field(DataType::Int8), field(DataType::Int8)].into()),
                    false,
                )
                .into(),
                false,
            ),
            "the keys of the map at $ are not strings",
        ),
        ((0..70).fold(DataType::Int8, |ty, _| DataType::List(field(ty).into())), "levels deep"),
    ] {
        let error = new_json(&field(data_type)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

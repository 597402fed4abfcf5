//! Proves: columns become compact JSON that is of their schema's type and is decoded to the same values; rows are null,
//! good or errors, each alone; columns that could only be converted by a guess are refused.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, TimeUnit};
use ottla_schema::{ColumnEncoder, ReaderSource, RegisteredSchema, SchemaLimits, SchemaType, column_type};
use serde_json::Value;

use crate::encode_support::*;
use crate::json_generator::Random;
use crate::support::{decode, json_decoder, new_json};

fn json(schema: &str) -> RegisteredSchema {
    RegisteredSchema::new(SchemaType::Json, schema)
}

/// A schema of objects with one key.
fn member(ty: &str) -> RegisteredSchema {
    json(&format!(r#"{{"properties": {{"a": {ty}}}}}"#))
}

fn column(array: impl Array + 'static) -> StructArray {
    one_field("a", Arc::new(array))
}

fn texts(payloads: Vec<Option<Vec<u8>>>) -> Vec<String> {
    payloads.into_iter().map(|payload| String::from_utf8(payload.unwrap()).unwrap()).collect()
}

/// The texts of a column, all of whose rows are good.
fn good(schema: &RegisteredSchema, array: &dyn Array) -> Vec<String> {
    texts(encode(&encoder(schema, array), array))
}

/// The texts of a column of a type, which are decoded to it again.
fn good_of(data_type: &DataType, array: &ArrayRef) -> Vec<String> {
    let field = Field::new("value", data_type.clone(), true);
    let encoder = ColumnEncoder::with_message(
        ReaderSource::JsonType(&field),
        None,
        &SchemaLimits::default(),
        array.data_type(),
    )
    .unwrap();
    let payloads = encode(&encoder, array);
    let mut decoder = new_json(&field).unwrap();
    let decoded = decode(&mut decoder, &payloads);
    assert_eq!(decoded.errors, []);
    if array.data_type() == data_type {
        assert!(decoded.array.to_data() == array.to_data(), "{payloads:?}");
    }
    texts(payloads)
}

#[test]
fn objects_are_compact_and_in_the_order_of_the_schema() {
    let schema = json(
        r#"{"type": "object", "required": ["id", "note"], "properties": {
            "id": {"type": "integer"}, "tag \"x\"\n": {"type": "string"}, "note": {"type": ["string", "null"]},
            "price": {"type": "number"}, "any": {}, "list": {"items": {"type": ["boolean", "null"]}},
            "map": {"additionalProperties": {"type": "integer"}}}}"#,
    );
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    maps.keys().append_value("é\"");
    maps.values().append_value(7);
    maps.keys().append_value("");
    maps.values().append_value(8);
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    let maps = maps.finish();
    let lists = ListArray::from_nested_iter::<builder::BooleanBuilder, _, _, _>(vec![
        Some(vec![Some(true), None]),
        None,
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("map", Arc::new(maps)),
        ("list", Arc::new(lists)),
        ("any", Arc::new(StringArray::from(vec![Some(" {\"k\": [1, 2]} "), None]))),
        ("price", Arc::new(Float64Array::from(vec![Some(0.1), None]))),
        ("note", Arc::new(StringArray::from(vec![None, Some("a/\u{1}\u{2028}é")]))),
        ("tag \"x\"\n", Arc::new(StringViewArray::from(vec![Some("t"), None]))),
        ("id", Arc::new(UInt8Array::from(vec![1, 2]))),
    ];
    let columns = columns
        .into_iter()
        .map(|(name, array)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array));
    let array = StructArray::from(columns.collect::<Vec<_>>());
    let rows = good(&schema, &array);
    assert_eq!(
        rows,
        [
            "{\"id\":1,\"tag \\\"x\\\"\\n\":\"t\",\"note\":null,\"price\":0.1,\"any\":{\"k\": [1, 2]},\
             \"list\":[true,null],\"map\":{\"é\\\"\":7,\"\":8}}",
            "{\"id\":2,\"note\":\"a/\\u0001\u{2028}é\"}",
        ]
    );
    let payloads: Vec<_> = rows.into_iter().map(|row| Some(row.into_bytes())).collect();
    assert_eq!(decode(&mut json_decoder(&schema.text), &payloads).errors, []);
}

#[test]
fn what_a_schema_requires_beside_null_changes_no_type() {
    let branch = |required: &str| {
        format!(
            r#"{{"type": "object", "properties": {{"a": {{"type": ["integer", "null"]}}}}, "required": [{required}]}}"#
        )
    };
    let schema = json(&format!(r#"{{"oneOf": [{}, {}]}}"#, branch("\"a\""), branch("")));
    let expected = DataType::Struct(vec![Field::new("a", DataType::Int64, true)].into());
    assert_eq!(
        column_type(ReaderSource::Schema(&schema), None, &SchemaLimits::default()),
        Ok(expected.clone())
    );
    assert_eq!(good(&schema, &column(Int64Array::from(vec![None, Some(1)]))), ["{}", "{\"a\":1}"]);
    let required = json(&branch("\"a\""));
    assert_eq!(column_type(ReaderSource::Schema(&required), None, &SchemaLimits::default()), Ok(expected));
    assert_eq!(
        good(&required, &column(Int64Array::from(vec![None, Some(1)]))),
        ["{\"a\":null}", "{\"a\":1}"]
    );
    assert_eq!(good(&required, &column(NullArray::new(1))), ["{\"a\":null}"]);
    assert_eq!(good(&member(r#"{"type": "integer"}"#), &column(NullArray::new(1))), ["{}"]);
}

#[test]
fn values_that_json_lacks_are_errors_of_their_rows() {
    let year = "must be in the years 0 to 9999";
    let cases: Vec<(DataType, ArrayRef, &str)> = vec![
        (DataType::Float64, Arc::new(Float64Array::from(vec![f64::NAN])), "NaN is not a JSON number"),
        (DataType::Float64, Arc::new(Float64Array::from(vec![f64::INFINITY])), "inf is not a JSON number"),
        (
            DataType::Float32,
            Arc::new(Float32Array::from(vec![f32::NEG_INFINITY])),
            "-inf is not a JSON number",
        ),
        (DataType::Int64, Arc::new(UInt64Array::from(vec![1 << 63])), "it is beyond the range of its type"),
        (DataType::UInt16, Arc::new(Int64Array::from(vec![-1])), "it is beyond the range of its type"),
        (DataType::Date32, Arc::new(Date32Array::from(vec![2_932_897])), year),
        (DataType::Date32, Arc::new(Date32Array::from(vec![i32::MIN])), year),
        (
            DataType::Timestamp(TimeUnit::Second, None),
            Arc::new(TimestampSecondArray::from(vec![i64::MAX])),
            year,
        ),
        (
            DataType::Timestamp(TimeUnit::Millisecond, None),
            Arc::new(TimestampNanosecondArray::from(vec![1])),
            "it is more precise than its type",
        ),
        (
            DataType::Decimal128(3, 1),
            Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(9, 2).unwrap()),
            "it has more than 1 digits after the decimal point",
        ),
    ];
    for (data_type, array, expected) in cases {
        let field = Field::new("value", data_type, true);
        let encoder = ColumnEncoder::with_message(
            ReaderSource::JsonType(&field),
            None,
            &SchemaLimits::default(),
            array.data_type(),
        )
        .unwrap();
        let encoded = encoder.encode(&array, b"x").unwrap();
        assert!(encoded.payloads.is_null(0));
        let [error] = encoded.errors.as_slice() else { panic!("{encoded:?}") };
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[test]
fn errors_name_the_place_and_change_no_other_row() {
    let schema = member(r#"{"items": {"additionalProperties": {"type": "integer"}}}"#);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for (key, value) in [("k", Some(1)), ("k", Some(2)), ("b", None)] {
        maps.keys().append_value(key);
        maps.values().append_option(value);
        if key == "b" || value == Some(2) {
            maps.append(true).unwrap();
        }
    }
    maps.append(true).unwrap();
    let maps = Arc::new(maps.finish());
    let field = Arc::new(Field::new_list_field(maps.data_type().clone(), true));
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0, 1, 2, 3].into());
    let lists = ListArray::new(field, offsets, maps, None);
    assert_eq!(
        failures(&schema, &column(lists)),
        [
            (0, "$.a[0][\"k\"]: the key occurs twice".to_owned()),
            (1, "$.a[0][\"b\"]: it is null, which its type does not allow".to_owned()),
        ]
    );
    let text =
        column(StringArray::from(vec![Some("1"), Some("1 2"), Some("{"), Some(""), Some("null"), None]));
    let any = member("{}");
    let bad: Vec<usize> = failures(&any, &text).iter().map(|(row, _)| *row).collect();
    assert_eq!(bad, [1, 2, 3]);
    assert!(failures(&any, &text)[0].1.starts_with("$.a: it is not JSON: "));
    let not_null = member(r#"{"type": ["integer", "string"]}"#);
    let required = json(&not_null.text.replace("{\"properties\"", "{\"required\": [\"a\"], \"properties\""));
    let bad: Vec<usize> = failures(&required, &text).iter().map(|(row, _)| *row).collect();
    assert_eq!(bad, [1, 2, 3, 4, 5]);
    let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
    assert!(failure(&any, &column(StringArray::from(vec![deep]))).contains("more than 128 levels"));
}

#[test]
fn dates_times_and_decimals_are_read_back() {
    let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    let of = |array: ArrayRef| good_of(array.data_type(), &array);
    assert_eq!(
        of(Arc::new(Date32Array::from(vec![-1, 0, 19_782]))),
        ["\"1969-12-31\"", "\"1970-01-01\"", "\"2024-02-29\""]
    );
    let millis = TimestampMillisecondArray::from(vec![-1, 0]).with_timezone("UTC");
    assert_eq!(of(Arc::new(millis)), ["\"1969-12-31T23:59:59.999Z\"", "\"1970-01-01T00:00:00Z\""]);
    let local: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]));
    assert_eq!(of(Arc::clone(&local)), ["\"1970-01-01T00:00:01\""]);
    assert_eq!(
        good_of(&DataType::Timestamp(TimeUnit::Nanosecond, None), &local),
        ["\"1970-01-01T00:00:01\""]
    );
    let zoned: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("Europe/Vienna"));
    assert_eq!(good_of(&utc(TimeUnit::Nanosecond), &zoned), ["\"1970-01-01T00:00:00.000001000Z\""]);
    let decimals = Decimal128Array::from(vec![0, -5, 123, -12_345]).with_precision_and_scale(9, 2).unwrap();
    assert_eq!(of(Arc::new(decimals)), ["0.00", "-0.05", "1.23", "-123.45"]);
    let whole = Decimal128Array::from(vec![-7]).with_precision_and_scale(9, 0).unwrap();
    assert_eq!(of(Arc::new(whole)), ["-7"]);
    let wide = i256::from_i128(10).wrapping_pow(75).wrapping_neg();
    let wide = Decimal256Array::from(vec![wide]).with_precision_and_scale(76, 76).unwrap();
    assert_eq!(of(Arc::new(wide)), [format!("-0.1{}", "0".repeat(75))]);
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 1e30, -0.0]));
    assert_eq!(of(Arc::clone(&floats)), ["0.1", "1e+30", "-0.0"]);
    assert_eq!(good_of(&DataType::Float64, &floats)[0], "0.10000000149011612");
    let longs: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 0]));
    assert_eq!(of(longs), ["18446744073709551615", "0"]);
    let doubles: ArrayRef = Arc::new(Float64Array::from(vec![f64::MAX, f64::MIN_POSITIVE, 5e-324, 100.0]));
    assert_eq!(of(doubles)[3], "100.0");
}

#[test]
fn types_that_would_need_a_guess_are_refused() {
    for (ty, data_type, expected) in [
        (
            r#"{"type": "integer"}"#,
            DataType::Float64,
            "$.a: the column has the type Float64, but the schema needs Int64",
        ),
        (r#"{"type": "string"}"#, DataType::Binary, "the schema needs Utf8"),
        (r#"{"type": "string"}"#, DataType::Date32, "the schema needs Utf8"),
        (r#"{"type": "boolean"}"#, DataType::Int8, "the schema needs Boolean"),
        ("{}", DataType::Int64, "the schema needs Utf8"),
        (
            r#"{"items": {"type": "string"}}"#,
            DataType::new_list(DataType::Int8, true),
            "$.a[]: the column has the type Int8",
        ),
        (r#"{"additionalProperties": {"type": "integer"}}"#, DataType::Utf8, "the schema needs Map("),
        (r#"{"properties": {"b": {"type": "integer"}}}"#, DataType::Utf8, "the schema needs Struct("),
        (
            r#"{"properties": {"b": {"type": "integer"}}}"#,
            DataType::Struct(vec![Field::new("c", DataType::Int8, true)].into()),
            "$.a.c: the schema has no such field; drop it from the column",
        ),
        (
            r#"{"properties": {"b": {"type": "integer"}, "c": {"type": "integer"}}, "required": ["b"]}"#,
            DataType::Struct(vec![Field::new("c", DataType::Int8, true)].into()),
            "$.a.b: it is required, but the column lacks it",
        ),
    ] {
        let data_type = DataType::Struct(vec![Field::new("a", data_type, true)].into());
        let reason = refusal(&member(ty), &data_type);
        assert!(reason.contains(expected), "{ty}: {reason}");
    }
    let of = |target: DataType, found: DataType| {
        ColumnEncoder::with_message(
            ReaderSource::JsonType(&Field::new("value", target, true)),
            None,
            &SchemaLimits::default(),
            &found,
        )
        .unwrap_err()
        .to_string()
    };
    let utc = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
    let local = DataType::Timestamp(TimeUnit::Second, None);
    assert!(of(utc.clone(), local.clone()).contains("give the timestamps a time zone"));
    assert!(of(local, utc).contains("make the timestamps local"));
    assert!(of(DataType::Decimal128(9, 2), DataType::Float64).contains("the schema needs Decimal128(9, 2)"));
}

/// A value without the keys whose values are null, except in maps.
fn without_nulls(value: Value, field: &Field) -> Value {
    match (value, field.data_type()) {
        (Value::Array(values), DataType::List(items)) => {
            values.into_iter().map(|value| without_nulls(value, items)).collect()
        }
        (Value::Object(object), DataType::Struct(fields)) => {
            let entries = object.into_iter().filter(|(_, value)| !value.is_null());
            entries
                .map(|(name, value)| {
                    let value = without_nulls(value, fields.find(&name).unwrap().1);
                    (name, value)
                })
                .collect()
        }
        (Value::Object(object), DataType::Map(entries, _)) => {
            let DataType::Struct(fields) = entries.data_type() else { panic!("a struct") };
            object.into_iter().map(|(key, value)| (key, without_nulls(value, &fields[1]))).collect()
        }
        (value, _) => value,
    }
}

#[test]
fn random_values_are_encoded_to_what_serde_json_reads() {
    for seed in 1..=300 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let field = random.field("value".to_owned(), 3);
        let values: Vec<Value> = (0..random.below(20)).map(|_| random.value(&field)).collect();
        let rows: Vec<_> = values.iter().map(|value| Some(value.to_string().into_bytes())).collect();
        let mut decoder = new_json(&field).unwrap();
        let decoded = decode(&mut decoder, &rows).array;
        let encoder = ColumnEncoder::with_message(
            ReaderSource::JsonType(&field),
            None,
            &SchemaLimits::default(),
            decoded.data_type(),
        )
        .unwrap();
        let payloads = encode(&encoder, &decoded);
        for (value, payload) in values.iter().zip(&payloads) {
            let read =
                payload.as_ref().map_or(Value::Null, |payload| serde_json::from_slice(payload).unwrap());
            assert_eq!(read, without_nulls(value.clone(), &field), "seed {seed}");
        }
        let again = decode(&mut decoder, &payloads);
        assert_eq!(again.errors, []);
        assert!(again.array.to_data() == decoded.to_data(), "seed {seed}");
        let varied = vary(&decoded, &mut |below| random.below(below));
        let of_varied = ColumnEncoder::with_message(
            ReaderSource::JsonType(&field),
            None,
            &SchemaLimits::default(),
            varied.data_type(),
        )
        .unwrap();
        assert_eq!(encode(&of_varied, &varied), payloads, "seed {seed} {}", varied.data_type());
        let half = varied.len() / 2;
        let slice = varied.slice(half, varied.len() - half);
        assert_eq!(encode(&of_varied, &slice), payloads[half..]);
    }
}

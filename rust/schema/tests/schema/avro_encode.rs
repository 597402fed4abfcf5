//! Proves: each type of Arrow becomes the bytes of Avro's types; rows are null, good or errors, each alone; columns
//! that could only be converted by a guess are refused.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, NullBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use ottla_schema::{
    ColumnDecoder, ColumnEncoder, Header, ReaderSource, RegisteredSchema, SchemaError, SchemaId,
    SchemaLimits, WireFormat, column_type,
};

use crate::encode_support::*;
use crate::support::{avro, bytes, decode_struct, long};

fn array_ref(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// A record with one field.
fn record(ty: &str) -> RegisteredSchema {
    avro(&format!(r#"{{"type": "record", "name": "R", "fields": [{{"name": "v", "type": {ty}}}]}}"#))
}

fn logical(ty: &str, logical: &str) -> RegisteredSchema {
    avro(&format!(r#"{{"type": "{ty}", "logicalType": "{logical}"}}"#))
}

fn decimal(precision: u8, scale: i8) -> RegisteredSchema {
    avro(&format!(
        r#"{{"type": "bytes", "logicalType": "decimal", "precision": {precision}, "scale": {scale}}}"#
    ))
}

/// The payloads of a column, all of whose rows are good and not null.
fn good(schema: &RegisteredSchema, array: &dyn Array) -> Vec<Vec<u8>> {
    encode(&encoder(schema, array), array).into_iter().map(Option::unwrap).collect()
}

#[test]
fn a_prefix_is_before_each_payload_and_null_is_a_tombstone() {
    let schema = avro(r#"["null", "long"]"#);
    let array = Int64Array::from(vec![Some(7), None, Some(-1)]);
    let prefix = WireFormat::Confluent.prefix(Some(SchemaId::Id(1)), &[]).unwrap();
    let encoded = encoder(&schema, &array).encode(&array, &prefix).unwrap();
    assert_eq!(encoded.errors, []);
    let payloads: Vec<_> = encoded.payloads.iter().collect();
    assert_eq!(payloads, [Some(&[0, 0, 0, 0, 1, 2, 14][..]), None, Some(&[0, 0, 0, 0, 1, 2, 1])]);
    let mut decoder = ColumnDecoder::new(&schema, WireFormat::Confluent, Header::Value).unwrap();
    decoder.add(SchemaId::Id(1), &schema);
    assert!(decoder.decode(&encoded.payloads, None).unwrap().array.to_data() == array.to_data());
}

#[test]
fn narrower_types_fit_into_wider_ones() {
    let one = [long(1)];
    let double = [1_f64.to_le_bytes().to_vec()];
    let float = [1_f32.to_le_bytes().to_vec()];
    let arrays: [ArrayRef; 8] = [
        array_ref(Int8Array::from(vec![1])),
        array_ref(Int16Array::from(vec![1])),
        array_ref(Int32Array::from(vec![1])),
        array_ref(Int64Array::from(vec![1])),
        array_ref(UInt8Array::from(vec![1])),
        array_ref(UInt16Array::from(vec![1])),
        array_ref(UInt32Array::from(vec![1])),
        array_ref(UInt64Array::from(vec![1])),
    ];
    for array in arrays {
        for (schema, expected) in [("int", &one), ("long", &one), ("float", &float), ("double", &double)] {
            assert_eq!(good(&avro(schema), &array), *expected, "{schema} {}", array.data_type());
        }
        assert_eq!(good(&decimal(5, 2), &array), [bytes(&[100])]);
    }
    let float_array = Float32Array::from(vec![1.5, f32::NAN, f32::NEG_INFINITY]);
    let doubles = good(&avro("double"), &float_array);
    assert_eq!(doubles[0], 1.5_f64.to_le_bytes());
    assert!(f64::from_le_bytes(doubles[1].as_slice().try_into().unwrap()).is_nan());
    assert_eq!(doubles[2], f64::NEG_INFINITY.to_le_bytes());
}

#[test]
fn values_that_do_not_fit_are_errors_of_their_rows() {
    let int = "it is beyond the range of its type";
    let cases: [(RegisteredSchema, ArrayRef, &str); 13] = [
        (avro("int"), array_ref(Int64Array::from(vec![1 << 31])), int),
        (avro("long"), array_ref(UInt64Array::from(vec![1 << 63])), int),
        (
            avro("double"),
            array_ref(Int64Array::from(vec![(1 << 53) + 1])),
            "9007199254740993 has more digits than its type",
        ),
        (
            avro("float"),
            array_ref(Int32Array::from(vec![16_777_217])),
            "16777217 has more digits than its type",
        ),
        (
            decimal(4, 2),
            array_ref(Int32Array::from(vec![100])),
            "it has more than 2 digits before the decimal point",
        ),
        (
            decimal(4, 2),
            array_ref(Decimal128Array::from(vec![12_345]).with_precision_and_scale(9, 3).unwrap()),
            "it has more than 2 digits after the decimal point",
        ),
        (
            logical("int", "date"),
            array_ref(Date64Array::from(vec![86_400_001])),
            "it is more precise than its type",
        ),
        (
            logical("long", "timestamp-millis"),
            array_ref(TimestampMicrosecondArray::from(vec![1_001]).with_timezone("UTC")),
            "it is more precise than its type",
        ),
        (
            logical("long", "timestamp-nanos"),
            array_ref(TimestampMicrosecondArray::from(vec![i64::MAX / 10]).with_timezone("UTC")),
            int,
        ),
        (
            avro(r#"{"type": "enum", "name": "shop.State", "symbols": ["NEW", "PAID"]}"#),
            array_ref(StringArray::from(vec!["OLD"])),
            "\"OLD\" is not a symbol of the enum shop.State",
        ),
        (
            avro(r#"{"type": "fixed", "name": "F", "size": 3}"#),
            array_ref(BinaryArray::from(vec![&b"ab"[..]])),
            "it has 2 bytes instead of 3",
        ),
        (
            avro(r#"{"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}"#),
            array_ref(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(-1, 0, 0)])),
            "a duration's months, days and milliseconds must be from 0 to 2³² - 1",
        ),
        (
            avro(r#"{"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}"#),
            array_ref(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(0, 0, 1)])),
            "a duration must have whole milliseconds",
        ),
    ];
    for (schema, array, expected) in cases {
        assert_eq!(failure(&schema, &array), expected, "{schema:?}");
    }
}

#[test]
fn errors_name_the_place_and_change_no_other_row() {
    let schema = avro(
        r#"{"type": "record", "name": "Order", "fields": [
            {"name": "id", "type": "int"},
            {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
                {"name": "tags", "type": {"type": "map", "values": "int"}}]}}}]}"#,
    );
    let tags = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    let mut tags = tags;
    tags.keys().append_value("a");
    tags.values().append_value(1);
    tags.append(true).unwrap();
    tags.keys().append_value("a");
    tags.values().append_value(2);
    tags.keys().append_value("b \"c\"");
    tags.values().append_null();
    tags.append(true).unwrap();
    let lines = one_field("tags", array_ref(tags.finish()));
    let field = Arc::new(Field::new_list_field(lines.data_type().clone(), true));
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0, 1, 2, 2, 2].into());
    let nulls = NullBuffer::from(vec![true, true, true, false]);
    let lines = array_ref(ListArray::new(field, offsets, Arc::new(lines), Some(nulls)));
    let ids = array_ref(Int64Array::from(vec![Some(1), Some(2), None, Some(4)]));
    let orders = StructArray::from(vec![
        (Arc::new(Field::new("lines", lines.data_type().clone(), true)), lines),
        (Arc::new(Field::new("id", DataType::Int64, true)), ids),
    ]);
    assert_eq!(
        failures(&schema, &orders),
        [
            (1, "field lines[0].tags[\"b \\\"c\\\"\"]: it is null, which its type does not allow".to_owned()),
            (2, "field id: it is null, which its type does not allow".to_owned()),
            (3, "field lines: it is null, which its type does not allow".to_owned()),
        ]
    );
    let encoded = encoder(&schema, &orders).encode(&orders, &[]).unwrap();
    let first = [long(1), long(1), long(1), bytes(b"a"), long(1), long(0), long(0)].concat();
    assert_eq!(encoded.payloads.value(0), first);
}

#[test]
fn fields_are_matched_by_name_and_missing_ones_have_their_default() {
    let schema = avro(
        r#"{"type": "record", "name": "R", "namespace": "n", "fields": [
            {"name": "a", "type": "long"},
            {"name": "b", "type": ["null", "string"], "default": null},
            {"name": "c", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
            {"name": "d", "type": "string"}]}"#,
    );
    let strings = array_ref(StringArray::from(vec!["x"]));
    let fields = |names: &[&str]| {
        let fields = names.iter().map(|name| match *name {
            "d" => (Arc::new(Field::new("d", DataType::Utf8, true)), Arc::clone(&strings)),
            name => {
                let longs = array_ref(Int64Array::from(vec![5]));
                (Arc::new(Field::new(name, DataType::Int64, true)), longs)
            }
        });
        StructArray::from(fields.collect::<Vec<_>>())
    };
    let default = [long(2), long(1), long(2), long(0)].concat();
    assert_eq!(good(&schema, &fields(&["d", "a"])), [[long(5), long(0), default, bytes(b"x")].concat()]);
    for (names, expected) in [
        (&["a"][..], "field d: the column lacks it, and it has no default"),
        (&["a", "d", "e"], "field e: the record n.R has no such field; drop it from the column"),
        (&["a", "d", "a"], "field a: the column has this field twice"),
        (&["a", "b", "d"], "field b: the column has the type Int64, but the schema needs Utf8"),
    ] {
        assert_eq!(refusal(&schema, fields(names).data_type()), expected);
    }
    let bad_default = avro(
        r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"},
            {"name": "b", "type": "int", "default": "x"}]}"#,
    );
    let refused = refusal(&bad_default, fields(&["a"]).data_type());
    assert!(refused.contains("the default of R.b: \"x\" is not of the type int"), "{refused}");
}

#[test]
fn types_that_would_need_a_guess_are_refused() {
    let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    let local = |unit| DataType::Timestamp(unit, None);
    let millis = TimeUnit::Millisecond;
    for (schema, data_type, expected) in [
        (avro("int"), DataType::Float64, "the column has the type Float64, but the schema needs Int32"),
        (avro("float"), DataType::Float64, "the column has the type Float64, but the schema needs Float32"),
        (avro("long"), DataType::Utf8, "the column has the type Utf8, but the schema needs Int64"),
        (avro("long"), utc(millis), "the schema needs Int64"),
        (avro("int"), DataType::Boolean, "the schema needs Int32"),
        (avro("boolean"), DataType::Int8, "the schema needs Boolean"),
        (avro("string"), DataType::Binary, "the schema needs Utf8"),
        (avro("bytes"), DataType::Utf8, "the schema needs Binary"),
        (logical("int", "date"), DataType::Int32, "the schema needs Date32"),
        (logical("int", "date"), utc(millis), "the schema needs Date32"),
        (
            logical("long", "timestamp-millis"),
            local(TimeUnit::Second),
            "the column has the type Timestamp(s), but the schema needs Timestamp(ms, \"UTC\"); give the timestamps a time zone, such as UTC",
        ),
        (
            logical("long", "local-timestamp-millis"),
            utc(millis),
            "make the timestamps local, without a time zone",
        ),
        (logical("long", "time-micros"), DataType::Duration(millis), "the schema needs Time64(µs)"),
        (decimal(9, 2), DataType::Float64, "the schema needs Decimal128(9, 2)"),
        (
            avro(r#"{"type": "fixed", "name": "F", "size": 3}"#),
            DataType::FixedSizeBinary(4),
            "the schema needs FixedSizeBinary(3)",
        ),
        (avro(r#"["int", "string"]"#), DataType::Int32, "but the schema needs Struct"),
        (
            record(r#"{"type": "array", "items": "int"}"#),
            DataType::Struct(vec![Field::new("v", DataType::new_list(DataType::Utf8, true), true)].into()),
            "field v[]: the column has the type Utf8, but the schema needs Int32",
        ),
        (record(r#""int""#), DataType::Int32, "the schema needs Struct"),
        (avro(r#"{"type": "map", "values": "int"}"#), DataType::new_list(DataType::Int32, true), "needs Map"),
    ] {
        let reason = refusal(&schema, &data_type);
        assert!(reason.contains(expected), "{schema:?}: {reason}");
    }
    let error = ColumnEncoder::new(&avro(r#""null""#), &DataType::Null).unwrap_err();
    assert!(matches!(error, SchemaError::Unsupported { .. }), "{error}");
    assert!(error.to_string().starts_with("this Avro schema cannot become Arrow columns: "), "{error}");
    // The type that the encoder is for is that of the column.
    let array = Int32Array::from(vec![1]);
    let encoder = encoder(&avro("long"), &array);
    let error = encoder.encode(&Int64Array::from(vec![1]), &[]).unwrap_err().to_string();
    assert!(error.contains("is for columns of type Int32, not Int64"), "{error}");
}

#[test]
fn times_of_other_units_are_converted() {
    let cases: [(RegisteredSchema, ArrayRef, i64); 9] = [
        (logical("int", "date"), array_ref(Date64Array::from(vec![-86_400_000])), -1),
        (logical("int", "time-millis"), array_ref(Time32SecondArray::from(vec![2])), 2_000),
        (logical("int", "time-millis"), array_ref(Time64NanosecondArray::from(vec![3_000_000])), 3),
        (logical("long", "time-micros"), array_ref(Time32MillisecondArray::from(vec![2])), 2_000),
        (logical("long", "time-micros"), array_ref(Time64NanosecondArray::from(vec![5_000])), 5),
        (
            logical("long", "timestamp-micros"),
            array_ref(TimestampSecondArray::from(vec![-1]).with_timezone("+02:00")),
            -1_000_000,
        ),
        (
            logical("long", "timestamp-millis"),
            array_ref(TimestampNanosecondArray::from(vec![-7_000_000]).with_timezone("Europe/Vienna")),
            -7,
        ),
        (
            logical("long", "local-timestamp-nanos"),
            array_ref(TimestampMillisecondArray::from(vec![1])),
            1_000_000,
        ),
        (
            logical("long", "local-timestamp-millis"),
            array_ref(TimestampMillisecondArray::from(vec![i64::MIN])),
            i64::MIN,
        ),
    ];
    for (schema, array, expected) in cases {
        assert_eq!(good(&schema, &array), [long(expected)], "{schema:?} {}", array.data_type());
    }
    let schema = avro(r#"{"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}"#);
    let duration = |parts: [u32; 3]| vec![parts.map(u32::to_le_bytes).concat()];
    let day_time = IntervalDayTimeArray::from(vec![IntervalDayTime::new(3, 4)]);
    assert_eq!(good(&schema, &day_time), duration([0, 3, 4]));
    assert_eq!(good(&schema, &IntervalYearMonthArray::from(vec![14])), duration([14, 0, 0]));
    assert_eq!(good(&schema, &DurationSecondArray::from(vec![2])), duration([0, 0, 2_000]));
}

#[test]
fn decimals_keep_their_value() {
    let decimals = |values: Vec<i128>, precision, scale| {
        Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap()
    };
    let values = decimals(vec![0, 127, 128, -128, -129, -1, 255], 9, 2);
    let expected: [&[u8]; 7] = [&[0], &[0x7f], &[0, 0x80], &[0x80], &[0xff, 0x7f], &[0xff], &[0, 0xff]];
    assert_eq!(good(&decimal(9, 2), &values), expected.map(bytes));
    assert_eq!(good(&decimal(9, 4), &decimals(vec![-2], 9, 3)), [bytes(&[0xec])]);
    assert_eq!(good(&decimal(9, 0), &decimals(vec![3], 9, -2)), [bytes(&[1, 0x2c])]);
    assert_eq!(good(&decimal(9, 1), &decimals(vec![12_000], 9, 4)), [bytes(&[12])]);
    assert_eq!(
        good(&decimal(50, 20), &decimals(vec![1], 9, 0))[0][1..],
        (10_u128.pow(20)).to_be_bytes()[7..]
    );
    let small = Decimal32Array::from(vec![-5]).with_precision_and_scale(4, 1).unwrap();
    assert_eq!(good(&decimal(9, 1), &small), [bytes(&[0xfb])]);
    let fixed = r#"{"type": "fixed", "name": "D", "size": 5, "logicalType": "decimal", "precision": 9}"#;
    assert_eq!(
        good(&avro(fixed), &decimals(vec![-2, 255], 9, 0)),
        [[0xff, 0xff, 0xff, 0xff, 0xfe], [0, 0, 0, 0, 0xff]]
    );
}

#[test]
fn a_union_has_the_member_that_is_not_null() {
    let members = |longs: Vec<Option<i32>>, texts: Vec<Option<&str>>| {
        StructArray::from(vec![
            (Arc::new(Field::new("member1", DataType::Utf8, true)), array_ref(StringArray::from(texts))),
            (Arc::new(Field::new("member0", DataType::Int32, true)), array_ref(Int32Array::from(longs))),
        ])
    };
    let array = members(vec![Some(1), None, None, Some(1)], vec![None, Some("x"), None, Some("y")]);
    let array = array_ref(one_field("v", array_ref(array)));
    let nullable = record(r#"["long", "null", "string"]"#);
    let both = "field v: member0 and member1 are not null, but a union has one value";
    assert_eq!(failures(&nullable, &array), [(3, both.to_owned())]);
    assert_eq!(
        good(&nullable, &array.slice(0, 3)),
        [[long(0), long(1)].concat(), [long(2), bytes(b"x")].concat(), long(1)]
    );
    let none = "field v: all members of the union are null, which it does not allow".to_owned();
    let required = record(r#"["long", "string"]"#);
    assert_eq!(failures(&required, &array), [(2, none), (3, both.to_owned())]);
    // A member that the column lacks is never the value.
    let only = one_field("v", array_ref(one_field("member1", array_ref(StringArray::from(vec!["x"])))));
    assert_eq!(good(&nullable, &only), [[long(2), bytes(b"x")].concat()]);
    let other = one_field("v", array_ref(one_field("member2", array_ref(StringArray::from(vec!["x"])))));
    assert_eq!(
        refusal(&nullable, other.data_type()),
        "field v.member2: the union has no such field; drop it from the column"
    );
}

#[test]
fn columns_of_nulls_lists_of_a_size_and_dictionaries_are_encoded() {
    let nulls = one_field("v", array_ref(NullArray::new(2)));
    assert_eq!(good(&record(r#"["string", "null"]"#), &nulls), [long(1), long(1)]);
    let reason = "field v: it is null, which its type does not allow";
    assert_eq!(failures(&record(r#""string""#), &nulls).len(), 2);
    assert_eq!(failures(&record(r#""string""#), &nulls)[0].1, reason);
    let pairs = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        vec![Some(vec![Some(1), Some(2)]), None, Some(vec![Some(3), Some(4)])],
        2,
    );
    let ints = avro(r#"{"type": "array", "items": "int"}"#);
    let last = [long(2), long(3), long(4), long(0)].concat();
    assert_eq!(encode(&encoder(&ints, &pairs), &pairs)[1..], [None, Some(last)]);
    assert_eq!(encode(&encoder(&ints, &pairs), &pairs.slice(1, 2))[0], None);
    let mut empty = ListBuilder::new(Int32Builder::new());
    empty.append(true);
    assert_eq!(good(&ints, &empty.finish()), [[0]]);
    let states = avro(r#"{"type": "enum", "name": "E", "symbols": ["A", "B"]}"#);
    let dictionary: DictionaryArray<Int8Type> =
        [Some("B"), None, Some("A"), Some("B"), Some("C")].into_iter().collect();
    assert_eq!(failures(&states, &dictionary), [(4, "\"C\" is not a symbol of the enum E".to_owned())]);
    let encoded = encoder(&states, &dictionary).encode(&dictionary, &[]).unwrap();
    let payloads: Vec<_> = encoded.payloads.iter().collect();
    assert_eq!(payloads, [Some(&[2][..]), None, Some(&[0]), Some(&[2]), None]);
    let numbers = DictionaryArray::<Int8Type>::new(
        Int8Array::from(vec![Some(1), None, Some(0), Some(2)]),
        Arc::new(Int64Array::from(vec![Some(5), Some(6), None])),
    );
    let numbers = encode(&encoder(&avro("long"), &numbers), &numbers);
    assert_eq!(numbers, [Some(long(6)), None, Some(long(5)), None]);
    let none = DictionaryArray::<Int8Type>::new(
        Int8Array::from(vec![None, None]),
        Arc::new(Int64Array::from(Vec::<i64>::new())),
    );
    assert_eq!(encode(&encoder(&avro("long"), &none), &none), [None, None]);
}

#[test]
fn the_deepest_schema_is_encoded() {
    let nested = |depth: usize| {
        let open = r#"{"type": "array", "items": "#.repeat(depth);
        avro(&format!("{open}\"int\"{}", "}".repeat(depth)))
    };
    let schema = nested(59);
    let mut decoder = ColumnDecoder::new(&schema, WireFormat::None, Header::Value).unwrap();
    let payload = [long(1).repeat(59), long(7), vec![0; 59]].concat();
    let decoded = decoder.decode(&BinaryArray::from_iter_values([&payload]), None).unwrap();
    assert_eq!(good(&schema, &decoded.array), [payload]);
    assert!(column_type(ReaderSource::Schema(&nested(60)), None, &SchemaLimits::default()).is_err());
    assert!(ColumnEncoder::new(&nested(60), decoder.data_type()).is_err());
}

#[test]
fn schemas_with_references_are_encoded() {
    let mut person = record(r#""a.Address""#);
    let address =
        avro(r#"{"type": "record", "name": "a.Address", "fields": [{"name": "zip", "type": "int"}]}"#);
    let reference = ottla_schema::SchemaReference { name: "a.Address".into(), schema: address.into() };
    person.references = vec![reference];
    let column = one_field("v", array_ref(one_field("zip", array_ref(Int32Array::from(vec![8])))));
    let payloads = encode(&encoder(&person, &column), &column);
    let mut decoder = ColumnDecoder::new(&person, WireFormat::None, Header::Value).unwrap();
    assert_eq!(decode_struct(&mut decoder, &payloads).len(), 1);
    assert_eq!(payloads, [Some(long(8))]);
}

#[test]
fn a_number_beyond_a_day_is_not_written_as_a_time() {
    let cases: [(RegisteredSchema, ArrayRef); 4] = [
        (logical("int", "time-millis"), array_ref(Time32MillisecondArray::from(vec![-26, 86_400_000]))),
        (logical("int", "time-millis"), array_ref(Time32SecondArray::from(vec![86_400, i32::MAX]))),
        (logical("long", "time-micros"), array_ref(Time64MicrosecondArray::from(vec![-1, 86_400_000_000]))),
        (logical("long", "time-micros"), array_ref(Time64NanosecondArray::from(vec![i64::MIN, i64::MAX]))),
    ];
    for (schema, array) in cases {
        let encoded = encoder(&schema, &array).encode(&array, &[]).unwrap();
        let reasons: Vec<_> = encoded.errors.iter().map(|error| error.reason.as_str()).collect();
        assert_eq!(reasons, ["it is not a time of day"; 2], "{array:?}");
    }
}

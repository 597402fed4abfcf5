//! Proves: columns become the bytes that Google's libraries write for the same values; rows are null, good or errors,
//! each alone; columns that could only be converted by a guess are refused.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::*;
use arrow_schema::{DataType, Field, TimeUnit};
use ottla_schema::{
    ColumnDecoder, ColumnEncoder, Header, ReaderOptions, ReaderSource, RegisteredSchema, SchemaId,
    SchemaLimits, WireFormat, column_type,
};

use crate::encode_support::*;
use crate::protobuf_support::{int, len, plain, proto, proto3, render, with_imports};
use crate::support::{decode, with_id};

const GOOGLE: &str = "import \"google/protobuf/duration.proto\"; import \"google/protobuf/struct.proto\";
    import \"google/protobuf/timestamp.proto\"; import \"google/protobuf/wrappers.proto\";";

/// A message of proto3 with one field.
fn field(declaration: &str) -> RegisteredSchema {
    proto(&proto3(&format!(
        "{GOOGLE} enum E {{ ZERO = 0; ONE = 1; NEG = -1; }} message M {{ {declaration}; }}"
    )))
}

fn column(array: impl Array + 'static) -> StructArray {
    one_field("a", Arc::new(array))
}

/// A struct of columns.
fn columns(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let columns = columns
        .into_iter()
        .map(|(name, array)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array));
    StructArray::from(columns.collect::<Vec<_>>())
}

/// The payloads of a column, all of whose rows are good and not null.
fn good(schema: &RegisteredSchema, array: &dyn Array) -> Vec<Vec<u8>> {
    encode(&encoder(schema, array), array).into_iter().map(Option::unwrap).collect()
}

#[test]
fn defaults_without_presence_are_left_out() {
    let nothing: Vec<Vec<u8>> = vec![vec![], vec![]];
    let ints = column(Int32Array::from(vec![Some(0), None]));
    for ty in
        ["int32", "sint32", "sfixed32", "int64", "uint32", "fixed32", "uint64", "fixed64", "E", "double"]
    {
        assert_eq!(good(&field(&format!("{ty} a = 1")), &ints), nothing, "{ty}");
    }
    assert_eq!(good(&field("string a = 1"), &column(StringArray::from(vec![Some(""), None]))), nothing);
    assert_eq!(good(&field("bool a = 1"), &column(BooleanArray::from(vec![Some(false), None]))), nothing);
    assert_eq!(good(&field("string a = 1"), &column(StringArray::from(vec!["\0"]))), [len(1, "\0")]);
    // Minus zero is not the default.
    let minus = good(&field("double a = 1"), &column(Float64Array::from(vec![-0.0, 0.0])));
    assert_eq!(minus, [[&[9][..], &(-0.0_f64).to_le_bytes()].concat(), vec![]]);
    let optional = field("optional int32 a = 1");
    assert_eq!(good(&optional, &ints), [int(1, 0), vec![]]);
    assert_eq!(good(&field("oneof o { int32 a = 1; int32 b = 2; }"), &ints), [int(1, 0), vec![]]);
    assert_eq!(good(&field("google.protobuf.Int32Value a = 1"), &ints), [len(1, ""), vec![]]);
    // Fields that the column lacks are not there.
    assert_eq!(
        good(&field("int32 a = 1; string b = 2; repeated M2 c = 3; } message M2 { int32 d = 1"), &ints),
        nothing
    );
}

#[test]
fn fields_are_written_in_the_order_of_their_numbers() {
    let schema =
        field("string b = 200; int32 a = 1; M2 c = 3; repeated M2 d = 4; } message M2 { string x = 1");
    let long = "x".repeat(200);
    let texts = |values: Vec<Option<&str>>| -> ArrayRef {
        Arc::new(one_field("x", Arc::new(StringArray::from(values))))
    };
    let nested = texts(vec![Some(&long)]);
    let items = texts(vec![Some("1"), None]);
    let list = ListArray::new(
        Arc::new(Field::new_list_field(items.data_type().clone(), true)),
        arrow_buffer::OffsetBuffer::new(vec![0, 2].into()),
        items,
        None,
    );
    let array = columns(vec![
        ("d", Arc::new(list)),
        ("c", nested),
        ("b", Arc::new(StringArray::from(vec!["y"]))),
        ("a", Arc::new(Int8Array::from(vec![-1]))),
    ]);
    let expected =
        [int(1, -1), len(3, len(1, &long)), len(4, len(1, "1")), len(4, ""), len(200, "y")].concat();
    assert_eq!(good(&schema, &array), [expected]);
}

#[test]
fn lists_are_packed_as_the_schema_says_and_maps_have_whole_entries() {
    let list = |values: Vec<Option<Vec<Option<i32>>>>| {
        let mut builder = ListBuilder::new(Int32Builder::new());
        values.into_iter().for_each(|values| builder.append_option(values));
        column(builder.finish())
    };
    let lists = list(vec![Some(vec![Some(1), Some(300)]), Some(vec![]), None]);
    assert_eq!(good(&field("repeated int32 a = 1"), &lists), [len(1, [1, 0xac, 2]), vec![], vec![]]);
    let unpacked = field("repeated int32 a = 1 [packed = false]");
    assert_eq!(good(&unpacked, &lists), [[int(1, 1), int(1, 300)].concat(), vec![], vec![]]);
    let packed = proto("syntax = \"proto2\"; message M { repeated int32 a = 1 [packed = true]; }");
    assert_eq!(good(&packed, &lists), [len(1, [1, 0xac, 2]), vec![], vec![]]);
    let proto2 = proto("syntax = \"proto2\"; message M { repeated int32 a = 1; }");
    assert_eq!(good(&proto2, &lists), [[int(1, 1), int(1, 300)].concat(), vec![], vec![]]);
    let null = "field a[1]: it is null, which its type does not allow".to_owned();
    assert_eq!(failure(&unpacked, &list(vec![Some(vec![Some(1), None])])), null);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("");
    map.values().append_value(0);
    map.append(true).unwrap();
    map.append(false).unwrap();
    map.keys().append_value("k");
    map.values().append_null();
    map.append(true).unwrap();
    let maps = column(map.finish());
    let schema = field("map<string, int32> a = 1");
    let null = "field a[0]: it is null, which its type does not allow".to_owned();
    assert_eq!(failures(&schema, &maps), [(2, null)]);
    let entry = len(1, [len(1, ""), int(2, 0)].concat());
    assert_eq!(good(&schema, &maps.slice(0, 2)), [entry, vec![]]);
}

#[test]
fn required_fields_and_oneofs_are_checked() {
    let schema = proto(
        "syntax = \"proto2\"; message M { required int32 a = 1; optional I b = 2; }
         message I { required string x = 1; oneof o { int32 y = 3; string z = 4; } }",
    );
    let inner = |x: Option<&str>, y: Option<i32>, z: Option<&str>| -> ArrayRef {
        Arc::new(columns(vec![
            ("x", Arc::new(StringArray::from(vec![x]))),
            ("y", Arc::new(Int32Array::from(vec![y]))),
            ("z", Arc::new(StringArray::from(vec![z]))),
        ]))
    };
    let outer = |a: Option<i32>, b| columns(vec![("a", Arc::new(Int32Array::from(vec![a]))), ("b", b)]);
    let good_row = outer(Some(0), inner(Some(""), None, Some("")));
    assert_eq!(good(&schema, &good_row), [[int(1, 0), len(2, [len(1, ""), len(4, "")].concat())].concat()]);
    for (row, expected) in [
        (outer(None, inner(Some(""), None, None)), "field a: it is required, but null"),
        (outer(Some(1), inner(None, None, None)), "field b.x: it is required, but null"),
        (
            outer(Some(1), inner(Some(""), Some(0), Some(""))),
            "field b: y and z are both set, but a oneof can have only one value",
        ),
    ] {
        assert_eq!(failure(&schema, &row), expected);
    }
    let lacking = columns(vec![("b", inner(Some(""), None, None))]);
    assert_eq!(refusal(&schema, lacking.data_type()), "field a: it is required, but the column lacks it");
}

#[test]
fn values_that_do_not_fit_are_errors_of_their_rows() {
    let range = "field a: it is beyond the range of its type";
    let longs = |value| -> ArrayRef { Arc::new(column(Int64Array::from(vec![value]))) };
    let text = |value| -> ArrayRef { Arc::new(column(StringArray::from(vec![value]))) };
    let decimal = |value, scale| -> ArrayRef {
        Arc::new(column(Decimal128Array::from(vec![value]).with_precision_and_scale(38, scale).unwrap()))
    };
    let seconds = |value| -> ArrayRef {
        Arc::new(column(TimestampSecondArray::from(vec![value]).with_timezone("UTC")))
    };
    for (declaration, array, expected) in [
        ("int32 a = 1", longs(1 << 31), range),
        ("sfixed32 a = 1", longs(-(1 << 31) - 1), range),
        ("uint32 a = 1", longs(-1), range),
        ("fixed32 a = 1", longs(1 << 32), range),
        ("uint64 a = 1", longs(-1), range),
        ("fixed64 a = 1", decimal(1 << 64, 0), range),
        ("uint64 a = 1", decimal(15, 1), "field a: it has more than 0 digits after the decimal point"),
        ("float a = 1", longs(16_777_217), "field a: 16777217 has more digits than its type"),
        ("E a = 1", text("TWO"), "field a: \"TWO\" is not a value of the enum E"),
        (
            "google.protobuf.Timestamp a = 1",
            seconds(253_402_300_800),
            "field a: a google.protobuf.Timestamp is out of range",
        ),
        (
            "google.protobuf.Duration a = 1",
            Arc::new(column(DurationSecondArray::from(vec![-315_576_000_001]))),
            "field a: a google.protobuf.Duration is out of range",
        ),
        (
            "google.protobuf.Struct a = 1",
            text("[1]"),
            "field a: a google.protobuf.Struct must be a JSON object",
        ),
        (
            "google.protobuf.ListValue a = 1",
            text("{}"),
            "field a: a google.protobuf.ListValue must be a JSON array",
        ),
        ("google.protobuf.Value a = 1", text("{"), "field a: it is not JSON: "),
        (
            "google.protobuf.Value a = 1",
            text("{\"b\": [1, 9007199254740993]}"),
            "field a[\"b\"][1]: 9007199254740993 has more digits than its type",
        ),
        ("google.protobuf.Value a = 1", text("1e400"), "field a: 1e400 is beyond the range of doubles"),
    ] {
        let reason = failure(&field(declaration), &array);
        assert!(reason.starts_with(expected), "{declaration}: {reason}");
    }
    let deep = format!("{}{}", "[".repeat(60), "]".repeat(60));
    assert!(failure(&field("google.protobuf.Value a = 1"), &text(&deep)).ends_with("nested too deep"));
}

#[test]
fn well_known_messages_are_encoded() {
    let round_trip = |declaration: &str, array: StructArray| {
        let schema = field(declaration);
        let payloads = encode(&encoder(&schema, &array), &array);
        let decoded = decode(&mut plain(&schema.text), &payloads);
        assert_eq!(decoded.errors, []);
        (0..array.len()).map(|row| render(&decoded.array, row)).collect::<Vec<_>>()
    };
    let nanos = TimestampNanosecondArray::from(vec![-1, 1_500_000_000]).with_timezone("Europe/Vienna");
    let schema = field("google.protobuf.Timestamp a = 1");
    assert_eq!(
        good(&schema, &column(nanos)),
        [
            len(1, [int(1, -1), int(2, 999_999_999)].concat()),
            len(1, [int(1, 1), int(2, 500_000_000)].concat())
        ]
    );
    let millis = DurationMillisecondArray::from(vec![-1_500, 0, 2_000]);
    assert_eq!(
        good(&field("google.protobuf.Duration a = 1"), &column(millis)),
        [len(1, [int(1, -1), int(2, -500_000_000)].concat()), len(1, ""), len(1, int(1, 2))]
    );
    let texts = |values: &[&str]| column(StringArray::from(values.to_vec()));
    let json = ["{\"b\":[1,-2.5,null,true,\"x\",{}],\"a\":{\"c\":[]}}", "{}"];
    let sorted =
        ["(a=\"{\\\"a\\\":{\\\"c\\\":[]},\\\"b\\\":[1,-2.5,null,true,\\\"x\\\",{}]}\")", "(a=\"{}\")"];
    assert_eq!(round_trip("google.protobuf.Struct a = 1", texts(&json)), sorted);
    assert_eq!(
        round_trip("google.protobuf.Value a = 1", texts(&["null", "\"\""])),
        ["(a=\"null\")", "(a=\"\\\"\\\"\")"]
    );
    let values = UInt64Array::from(vec![Some(u64::MAX), None]);
    assert_eq!(
        round_trip("google.protobuf.UInt64Value a = 1", column(values)),
        ["(a=18446744073709551615)", "(a=null)"]
    );
    let empty = "M2 a = 1; } message M2 {";
    let flags = BooleanArray::from(vec![Some(true), Some(false), None]);
    assert_eq!(round_trip(empty, column(flags)), ["(a=true)", "(a=null)", "(a=null)"]);
    let numbers = column(Int64Array::from(vec![1, -1, 7]));
    assert_eq!(round_trip("E a = 1", numbers), ["(a=\"ONE\")", "(a=\"NEG\")", "(a=\"7\")"]);
    assert_eq!(round_trip("E a = 1", texts(&["NEG", "7"])), ["(a=\"NEG\")", "(a=\"7\")"]);
}

#[test]
fn types_that_would_need_a_guess_are_refused() {
    let list = |items| DataType::new_list(items, true);
    for (declaration, data_type, expected) in [
        (
            "int32 a = 1",
            DataType::Float64,
            "field a: the column has the type Float64, but the schema needs Int32",
        ),
        ("uint64 a = 1", DataType::Utf8, "the schema needs Decimal128(20, 0)"),
        ("float a = 1", DataType::Float64, "the schema needs Float32"),
        ("string a = 1", DataType::Binary, "the schema needs Utf8"),
        ("bytes a = 1", DataType::Utf8, "the schema needs Binary"),
        ("bool a = 1", DataType::Int32, "the schema needs Boolean"),
        ("repeated int32 a = 1", DataType::Int32, "the schema needs List(non-null Int32)"),
        ("repeated int32 a = 1", list(DataType::Utf8), "field a[]: the column has the type Utf8"),
        ("map<int32, string> a = 1", list(DataType::Utf8), "the schema needs Map("),
        (
            "google.protobuf.Timestamp a = 1",
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            "give the timestamps a time zone, such as UTC",
        ),
        ("google.protobuf.Timestamp a = 1", DataType::Date32, "the schema needs Timestamp(µs, \"UTC\")"),
        ("google.protobuf.Struct a = 1", DataType::Int32, "the schema needs Utf8"),
        ("string b = 1", DataType::Utf8, "field a: the message M has no such field; drop it from the column"),
    ] {
        let data_type = DataType::Struct(vec![Field::new("a", data_type, true)].into());
        let reason = refusal(&field(declaration), &data_type);
        assert!(reason.contains(expected), "{declaration}: {reason}");
    }
    assert!(refusal(&field("int32 a = 1"), &DataType::Int32).contains("the schema needs Struct("));
    let recursive = field("M a = 1; int32 b = 2");
    assert!(ColumnEncoder::new(&recursive, &DataType::Null).unwrap_err().to_string().contains("recursive"));
}

#[test]
fn nested_messages_have_their_indexes_in_the_prefix() {
    let schema = proto(&proto3(
        "package p; message A { map<string, string> tags = 1; message B { message C { int32 x = 1; } }
         message D { int32 y = 1; } }",
    ));
    for (name, field, indexes) in [("p.A.B.C", "x", &[6, 0, 0, 0][..]), ("p.A.D", "y", &[4, 0, 2])] {
        let array = one_field(field, Arc::new(Int32Array::from(vec![5])));
        let encoder = ColumnEncoder::with_message(
            ReaderSource::Schema(&schema),
            Some(name),
            &SchemaLimits::default(),
            array.data_type(),
        )
        .unwrap();
        assert_eq!(encoder.message_prefix(WireFormat::Confluent), indexes);
        assert!(
            column_type(ReaderSource::Schema(&schema), Some(name), &SchemaLimits::default())
                .unwrap()
                .to_string()
                .contains(field)
        );
        let prefix = WireFormat::Confluent
            .prefix(Some(SchemaId::Id(1)), &encoder.message_prefix(WireFormat::Confluent))
            .unwrap();
        let encoded = encoder.encode(&array, &prefix).unwrap();
        assert_eq!(encoded.payloads.value(0), with_id(1, &[indexes, &int(1, 5)]));
        let mut decoder = ColumnDecoder::with_options(
            ReaderSource::Schema(&schema),
            &ReaderOptions { message: Some((*name).into()), ..ReaderOptions::default() },
            WireFormat::Confluent,
            Header::Value,
        )
        .unwrap();
        decoder.add(SchemaId::Id(1), &schema);
        assert_eq!(decoder.decode(&encoded.payloads, None).unwrap().errors, []);
    }
    let null = ColumnEncoder::new(&schema, &DataType::Null).unwrap();
    assert_eq!(null.message_prefix(WireFormat::Confluent), [0]);
    let outer =
        with_imports(&proto3("import \"p.proto\"; message M { p.A a = 1; }"), &[("p.proto", &schema)]);
    let error = ColumnEncoder::with_message(
        ReaderSource::Schema(&outer),
        Some("p.A"),
        &SchemaLimits::default(),
        &DataType::Null,
    )
    .unwrap_err()
    .to_string();
    assert!(error.contains("the message p.A is in an imported file"), "{error}");
    let avro = crate::support::avro("\"int\"");
    assert!(
        ColumnEncoder::with_message(
            ReaderSource::Schema(&avro),
            Some("A"),
            &SchemaLimits::default(),
            &DataType::Int32
        )
        .is_err()
    );
    assert!(column_type(ReaderSource::Schema(&avro), Some("A"), &SchemaLimits::default()).is_err());
}

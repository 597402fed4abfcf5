//! Proves: what a schema repeats of its own text is bounded, the bounds are settings, and an error names the key of its bound.

use arrow_array::BinaryArray;
use arrow_schema::{DataType, Field};
use ottla_schema::{
    ColumnDecoder, ColumnEncoder, DEFAULT_BATCH_BYTES, DEFAULT_KEY, FIXED_KEY, Header, NAME_KEY,
    ReaderOptions, ReaderSource, RegisteredSchema, SchemaId, SchemaLimits, SchemaType, WireFormat,
    column_type,
};

use crate::budget::{record, with_budget};
use crate::protobuf_support::{proto, proto3};
use crate::support::{avro, long};

fn open(schema: &RegisteredSchema) -> Result<ColumnDecoder, String> {
    ColumnDecoder::new(schema, WireFormat::None, Header::Value).map_err(|error| error.to_string())
}

#[test]
fn constants_of_a_schema_have_limits() {
    let fixed = |size: u64| {
        record(&format!(
            r#"{{"name": "n", "type": ["null", {{"type": "fixed", "name": "F", "size": {size}}}]}}"#
        ))
    };
    assert!(open(&fixed(16 << 20)).is_ok());
    for size in [(16 << 20) + 1, i32::MAX as u64, u64::from(u32::MAX), u64::MAX] {
        let error = open(&fixed(size)).unwrap_err();
        assert!(error.contains("the limit of a fixed type is 16777216 bytes"), "{error}");
    }
    let limit = "the limit of a name is 65536 bytes";
    let name = "A".repeat(70_000);
    for schema in [
        record(&format!(r#"{{"name": "{name}", "type": "int"}}"#)),
        record(&format!(
            r#"{{"name": "e", "type": {{"type": "enum", "name": "E", "symbols": ["{name}"]}}}}"#
        )),
        avro(&format!(r#"{{"type": "fixed", "name": "{name}", "size": 3}}"#)),
        proto(&proto3(&format!("message M {{ int32 {name} = 1; }}"))),
        proto(&proto3(&format!("message M {{ repeated E e = 1; }} enum E {{ {name} = 0; }}"))),
        RegisteredSchema::new(
            SchemaType::Json,
            format!(r#"{{"properties": {{"{name}": {{"type": "integer"}}}}}}"#),
        ),
    ] {
        let error = open(&schema).unwrap_err();
        assert!(error.contains(limit) && error.len() < 500, "{error:.500}");
    }
    // Names multiply as their types are expanded.
    let name = "A".repeat(60_000);
    let inner =
        format!(r#"{{"type": "record", "name": "I", "fields": [{{"name": "{name}", "type": "int"}}]}}"#);
    let uses: String = (0..300).map(|at| format!(r#", {{"name": "f{at}", "type": "I"}}"#)).collect();
    let error = open(&record(&format!(r#"{{"name": "first", "type": {inner}}}{uses}"#))).unwrap_err();
    assert!(error.contains("the names of its columns have more than 16777216 bytes"), "{error:.500}");
    let uses: String = (1..300).map(|at| format!("I f{at} = {at};")).collect();
    let error = open(&proto(&proto3(&format!("message M {{ {uses} }} message I {{ int32 {name} = 1; }}"))));
    let error = error.unwrap_err();
    assert!(error.contains("the names of its columns have more than 16777216 bytes"), "{error:.500}");
    let uses: Vec<String> = (0..300).map(|at| format!(r##""f{at}": {{"$ref": "#/$defs/I"}}"##)).collect();
    let error = open(&RegisteredSchema::new(
        SchemaType::Json,
        format!(
            r#"{{"properties": {{{}}}, "$defs": {{"I": {{"properties": {{"{name}": {{"type": "integer"}}}}}}}}}}"#,
            uses.join(",")
        ),
    ));
    let error = error.unwrap_err();
    assert!(error.contains("the names of its columns have more than 16777216 bytes"), "{error:.500}");
}

/// Opens a schema with other limits.
fn open_within(schema: &RegisteredSchema, limits: SchemaLimits) -> Result<ColumnDecoder, String> {
    let options = ReaderOptions { limits, ..ReaderOptions::default() };
    let source = ReaderSource::Schema(schema);
    let decoder = ColumnDecoder::with_options(source, &options, WireFormat::None, Header::Value);
    decoder.map_err(|error| error.to_string())
}

/// A schema that a limit refuses, the key of that limit, and limits with which it is accepted.
fn refused() -> Vec<(RegisteredSchema, &'static str, SchemaLimits)> {
    let name = "A".repeat(70_000);
    let longer = SchemaLimits { name_bytes: 80_000, ..SchemaLimits::default() };
    let many: String = (0..300).map(|at| format!(r#", {{"name": "f{at}", "type": "I"}}"#)).collect();
    let inner = format!(
        r#"{{"type": "record", "name": "I", "fields": [{{"name": "{}", "type": "int"}}]}}"#,
        "A".repeat(60_000)
    );
    vec![
        (
            record(r#"{"name": "n", "type": {"type": "fixed", "name": "F", "size": 20000000}}"#),
            FIXED_KEY,
            SchemaLimits { fixed_bytes: 20_000_000, ..SchemaLimits::default() },
        ),
        (record(&format!(r#"{{"name": "{name}", "type": "int"}}"#)), NAME_KEY, longer),
        (proto(&proto3(&format!("message M {{ int32 {name} = 1; }}"))), NAME_KEY, longer),
        (
            RegisteredSchema::new(
                SchemaType::Json,
                format!(r#"{{"properties": {{"{name}": {{"type": "integer"}}}}}}"#),
            ),
            NAME_KEY,
            longer,
        ),
        // All names together.
        (record(&format!(r#"{{"name": "first", "type": {inner}}}{many}"#)), NAME_KEY, longer),
    ]
}

/// Each limit refuses a schema, with the key in the error, and accepts it once it is raised. A lowered one refuses what
/// the default accepts.
#[test]
fn limits_are_settings_and_errors_name_their_keys() {
    for (schema, key, raised) in refused() {
        let error = open(&schema).unwrap_err();
        assert!(error.contains(&format!("({key})")), "{error:.500}");
        assert!(open_within(&schema, raised).is_ok(), "{key}");
        let encoded = |limits: &SchemaLimits| {
            let error = column_type(ReaderSource::Schema(&schema), None, limits);
            error.map_err(|error| error.to_string())
        };
        assert!(encoded(&SchemaLimits::default()).unwrap_err().contains(key));
        assert!(encoded(&raised).is_ok(), "{key}");
    }
    let small = record(r#"{"name": "number", "type": {"type": "fixed", "name": "F", "size": 9}}"#);
    assert!(open(&small).is_ok());
    for lowered in [
        SchemaLimits { fixed_bytes: 8, ..SchemaLimits::default() },
        SchemaLimits { name_bytes: 5, ..SchemaLimits::default() },
    ] {
        assert!(open_within(&small, lowered).is_err());
    }
}

/// No setting lets a row take more than arrays hold: neither one type nor many together.
#[test]
fn limits_are_within_those_of_arrow() {
    let unlimited = SchemaLimits {
        name_bytes: usize::MAX,
        fixed_bytes: usize::MAX,
        default_bytes: usize::MAX,
        batch_bytes: usize::MAX,
    };
    let fixed = |size: u64| {
        record(&format!(r#"{{"name": "n", "type": {{"type": "fixed", "name": "F", "size": {size}}}}}"#))
    };
    assert!(open_within(&fixed(1 << 30), unlimited).is_ok());
    assert!(open_within(&fixed((1 << 30) + 1), unlimited).unwrap_err().contains(FIXED_KEY));
    let first = r#"{"name": "f", "type": {"type": "fixed", "name": "F", "size": 16000000}}"#;
    let others: String = (0..100).map(|at| format!(r#", {{"name": "f{at}", "type": "F"}}"#)).collect();
    let error = open(&record(&format!("{first}{others}"))).unwrap_err();
    assert!(error.contains("each row takes 1616000000 bytes, null or not"), "{error:.500}");
}

/// With a larger default, a row takes it; the error of a smaller one names its key.
#[test]
fn the_limit_of_defaults_is_a_setting() {
    let reader = record(&format!(
        r#"{{"name": "i", "type": "int"}}, {{"name": "s", "type": "string", "default": "{}"}}"#,
        "x".repeat(1_100_000)
    ));
    let read = |default_bytes| {
        let limits = SchemaLimits { default_bytes, ..SchemaLimits::default() };
        let options = ReaderOptions { limits, ..ReaderOptions::default() };
        let source = ReaderSource::Schema(&reader);
        let mut decoder =
            ColumnDecoder::with_options(source, &options, WireFormat::Confluent, Header::Value).unwrap();
        decoder.add(SchemaId::Id(1), &record(r#"{"name": "i", "type": "int"}"#));
        let column = BinaryArray::from_iter_values([crate::support::with_id(1, &[&long(1)])]);
        decoder.decode(&column, None).unwrap().errors.first().map(|error| error.reason.clone())
    };
    assert_eq!(read(2 << 20), None);
    assert!(read(1 << 20).unwrap().contains(DEFAULT_KEY));
    // The encoder writes it for a column without the field.
    let without = DataType::Struct(vec![Field::new("i", DataType::Int32, true)].into());
    let encode = |default_bytes| {
        let limits = SchemaLimits { default_bytes, ..SchemaLimits::default() };
        ColumnEncoder::with_message(ReaderSource::Schema(&reader), None, &limits, &without)
    };
    assert!(encode(2 << 20).is_ok());
    assert!(encode(1 << 20).unwrap_err().to_string().contains(DEFAULT_KEY));
}

#[test]
fn defaults_have_a_limit() {
    let writer = record(r#"{"name": "i", "type": "int"}"#);
    let read = |fields: &str| {
        let mut decoder = with_budget(&record(fields), WireFormat::Confluent, DEFAULT_BATCH_BYTES);
        decoder.add(SchemaId::Id(1), &writer);
        let column = BinaryArray::from_iter_values([crate::support::with_id(1, &[&long(1)])]);
        decoder.decode(&column, None).unwrap().errors.first().map(|error| error.reason.clone())
    };
    let i = r#"{"name": "i", "type": "int"}"#;
    assert_eq!(
        read(&format!(r#"{i}, {{"name": "s", "type": "string", "default": "{}"}}"#, "x".repeat(1_000_000))),
        None
    );
    let items = vec!["{}"; 20_000].join(",");
    for fields in [
        format!(r#"{i}, {{"name": "s", "type": "string", "default": "{}"}}"#, "x".repeat(1_100_000)),
        format!(
            r#"{i}, {{"name": "f", "type": {{"type": "fixed", "name": "F", "size": 2000000}}, "default": ""}}"#
        ),
        // Each of the items has the defaults of its fields.
        format!(
            r#"{i}, {{"name": "a", "default": [{items}], "type": {{"type": "array", "items":
                {{"type": "record", "name": "I", "fields": [{{"name": "s", "type": "string", "default": "{}"}}]}}}}}}"#,
            "x".repeat(1_000)
        ),
        (0..20).fold(i.to_owned(), |fields, at| {
            let text = "x".repeat(60_000);
            format!(r#"{fields}, {{"name": "s{at}", "type": "string", "default": "{text}"}}"#)
        }),
    ] {
        let error = read(&fields).unwrap();
        assert!(error.contains("1048576 bytes") && error.len() < 1_500, "{error:.500}");
    }
}

//! Proves: schemas that many others refer to cost no more than once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ottla_schema::{
    ColumnDecoder, ColumnEncoder, Header, ReaderSource, RegisteredSchema, SchemaLimits, SchemaReference,
    SchemaType, WireFormat, column_type,
};

/// Far more than any of these needs on a busy machine, far less than 2⁴⁰ visits would take.
const SOON: Duration = Duration::from_secs(60);

/// 40 levels of schemas, each of which refers to the one below it twice.
fn diamonds(
    schema_type: SchemaType,
    bottom: &str,
    level: fn(usize) -> (String, [String; 2]),
) -> RegisteredSchema {
    let mut schema = RegisteredSchema::new(schema_type, bottom);
    for number in 1..=40 {
        let (text, names) = level(number);
        let below = Arc::new(schema);
        schema = RegisteredSchema::new(schema_type, text);
        schema.references =
            names.map(|name| SchemaReference { name: name.into(), schema: Arc::clone(&below) }).into();
    }
    schema
}

#[test]
fn diamonds_of_references_are_read_once() {
    let began = Instant::now();
    let avro = diamonds(
        SchemaType::Avro,
        r#"{"type": "record", "name": "R0", "fields": [{"name": "v", "type": "int"}]}"#,
        |level| {
            let below = level - 1;
            let field = format!(r#"{{"name": "v", "type": "R{below}"}}"#);
            let text = format!(r#"{{"type": "record", "name": "R{level}", "fields": [{field}]}}"#);
            (text, [format!("R{below}"), format!("other.R{below}")])
        },
    );
    let protobuf =
        diamonds(SchemaType::Protobuf, "syntax = \"proto3\"; message M0 { int32 v = 1; }", |level| {
            let below = level - 1;
            let imports = format!("import \"{below}.proto\"; import \"other{below}.proto\";");
            let text = format!("syntax = \"proto3\"; {imports} message M{level} {{ int32 v = 1; }}");
            (text, [format!("{below}.proto"), format!("other{below}.proto")])
        });
    let json = diamonds(SchemaType::Json, r#"{"properties": {"v": {"type": "integer"}}}"#, |level| {
        let text = format!(r#"{{"properties": {{"v": {{"$ref": "a{level}"}}}}}}"#);
        (text, [format!("a{level}"), format!("b{level}")])
    });
    for schema in [avro, json] {
        let data_type = column_type(ReaderSource::Schema(&schema), None, &SchemaLimits::default()).unwrap();
        ColumnEncoder::new(&schema, &data_type).unwrap();
        ColumnDecoder::new(&schema, WireFormat::None, Header::Value).unwrap();
    }
    // The same text twice is two files with the same message, which is an error, but a fast one.
    assert!(
        column_type(ReaderSource::Schema(&protobuf), None, &SchemaLimits::default())
            .unwrap_err()
            .to_string()
            .contains("M0")
    );
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

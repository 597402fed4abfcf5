//! Recursive records of Avro, for objects: hostile schemas and payloads end with errors, on a small stack.

use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array};
use arrow_schema::DataType;
use ottla_schema::{
    AvroObjects, ColumnDecoder, Header, ObjectBuilder, ObjectSource, ReaderOptions, ReaderSource,
    RegisteredSchema, SchemaLimits, SchemaType, WireFormat,
};
use serde_json::{Value, json};

/// Objects that are values of JSON, with longs as their only leaves.
struct Json;

impl ObjectBuilder for Json {
    type Object = Value;
    type Error = String;

    fn null(&self) -> Value {
        Value::Null
    }

    fn value(&self, array: &ArrayRef) -> Result<Value, String> {
        Ok(json!(array.as_primitive::<Int64Type>().value(0)))
    }

    fn list(&self, items: Vec<Value>) -> Result<Value, String> {
        Ok(Value::Array(items))
    }

    fn map(&self, entries: Vec<(&str, Value)>) -> Result<Value, String> {
        Ok(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn malformed(&self, reason: String) -> String {
        reason
    }
}

/// An object that is encoded.
struct Object<'a>(&'a Value);

impl ObjectSource for Object<'_> {
    type Error = String;

    fn is_null(&self) -> bool {
        self.0.is_null()
    }

    fn column(&self, _: &DataType) -> Result<ArrayRef, String> {
        Ok(std::sync::Arc::new(Int64Array::from(vec![self.0.as_i64()])))
    }

    fn items(&self) -> Result<Vec<Self>, String> {
        Ok(self.0.as_array().ok_or("no list")?.iter().map(Self).collect())
    }

    fn entries(&self) -> Result<Vec<(String, Self)>, String> {
        let map = self.0.as_object().ok_or("no map")?;
        Ok(map.iter().map(|(name, value)| (name.clone(), Self(value))).collect())
    }

    fn field(&self, name: &str) -> Result<Self, String> {
        Ok(Self(self.0.get(name).unwrap_or(&Value::Null)))
    }

    fn unfit(&self, reason: String) -> String {
        reason
    }
}

fn avro(schema: &Value) -> RegisteredSchema {
    RegisteredSchema::new(SchemaType::Avro, schema.to_string())
}

fn objects(schema: &Value) -> AvroObjects {
    AvroObjects::compile(&avro(schema), &SchemaLimits::default()).unwrap().unwrap()
}

/// A reader for objects, and the error of its only row.
fn decode(schema: &Value, payload: &[u8]) -> Result<Vec<u8>, String> {
    let schema = avro(schema);
    let options = ReaderOptions { objects: true, ..ReaderOptions::default() };
    let source = ReaderSource::Schema(&schema);
    let decoder = ColumnDecoder::with_options(source, &options, WireFormat::None, Header::Value);
    let mut decoder = decoder.map_err(|error| error.to_string())?;
    let decoded = decoder.decode(&BinaryArray::from_iter_values([payload]), None).unwrap();
    match decoded.errors.first() {
        Some(error) => Err(error.reason.clone()),
        None => Ok(decoded.array.as_binary::<i32>().value(0).to_vec()),
    }
}

fn tree() -> Value {
    json!({"type": "record", "name": "Node", "fields": [
        {"name": "value", "type": "long"},
        {"name": "children", "type": {"type": "array", "items": "Node"}},
        {"name": "named", "type": {"type": "map", "values": "Node"}, "default": {}},
        {"name": "either", "type": ["null", "long", "Node"], "default": null},
    ]})
}

#[test]
fn an_object_comes_back_as_it_was() {
    let objects = objects(&tree());
    let leaf = json!({"value": 1, "children": [], "named": {}, "either": null});
    let object = json!({
        "value": -5,
        "children": [leaf, leaf],
        "named": {"a": {"value": 2, "children": [leaf], "named": {}, "either": {"member0": 7}}},
        "either": {"member1": leaf},
    });
    let mut bytes = Vec::new();
    objects.encode(&Object(&object), &mut bytes).unwrap();
    assert_eq!(objects.decode(&bytes, &Json).unwrap(), object);
    assert_eq!(decode(&tree(), &bytes).unwrap(), bytes);
    for end in 0..bytes.len() {
        decode(&tree(), &bytes[..end]).unwrap_err();
        objects.decode(&bytes[..end], &Json).unwrap_err();
    }
}

#[test]
fn a_schema_without_recursion_has_columns() {
    let schema = json!({"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]});
    assert!(AvroObjects::compile(&avro(&schema), &SchemaLimits::default()).unwrap().is_none());
    let error = ColumnDecoder::new(&avro(&tree()), WireFormat::None, Header::Value).unwrap_err();
    assert!(error.to_string().contains("the type Node is recursive, which Arrow has no type for"), "{error}");
}

#[test]
fn values_that_are_nested_too_deep_are_errors() {
    // Many levels between a record and itself.
    let mut inner = json!("Node");
    for _ in 0..40 {
        inner = json!({"type": "array", "items": inner});
    }
    let deep = json!({"type": "record", "name": "Node", "fields": [{"name": "inner", "type": inner}]});
    // A value without an end, which takes no bytes.
    let endless = json!({"type": "record", "name": "Node", "fields": [{"name": "next", "type": "Node"}]});
    let whole = |skipped: &Value| json!({"type": "record", "name": "W", "fields": [{"name": "skipped", "type": skipped}, {"name": "n", "type": ["null", "W"]}]});
    let reader = json!({"type": "record", "name": "W", "fields": [{"name": "n", "type": ["null", "W"]}]});
    let run = move || {
        let payload = [2].repeat(1_000_000);
        for schema in [&deep, &endless, &tree()] {
            let payload = if *schema == tree() { [2, 2].repeat(1_000_000) } else { payload.clone() };
            assert!(decode(schema, &payload).unwrap_err().contains("nested too deep"), "{schema}");
            let error = objects(schema).decode(&payload, &Json).unwrap_err();
            assert!(error.contains("nested too deep"), "{error}");
            let (writer, reader) = (avro(&whole(schema)), avro(&reader));
            let options = ReaderOptions { objects: true, ..ReaderOptions::default() };
            let source = ReaderSource::Schema(&reader);
            let decoder = ColumnDecoder::with_options(source, &options, WireFormat::Confluent, Header::Value);
            let mut decoder = decoder.unwrap();
            decoder.add(ottla_schema::SchemaId::Id(1), &writer);
            let framed = [&[0, 0, 0, 0, 1], &payload[..]].concat();
            let decoded = decoder.decode(&BinaryArray::from_iter_values([&framed]), None).unwrap();
            let reason = &decoded.errors[0].reason;
            assert!(reason.contains("nested too deep"), "{reason}");
            assert!(decoded.array.is_null(0));
        }
        let mut object = Value::Null;
        for _ in 0..100_000 {
            // Not by `json!`, which recurses.
            let children = ("children".to_owned(), Value::Array(vec![object]));
            object = [("value".to_owned(), json!(1)), children].into_iter().collect();
        }
        let error = objects(&tree()).encode(&Object(&object), &mut Vec::new()).unwrap_err();
        assert!(error.contains("nested too deep"), "{error}");
        // Its destructor would recurse.
        std::mem::forget(object);
    };
    // A level takes three times as many bytes as in a release.
    std::thread::Builder::new().stack_size(3 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_default_without_an_end_is_an_error() {
    let node = |default: Value| {
        json!({"type": "record", "name": "Node", "fields": [
            {"name": "value", "type": "long", "default": 5},
            {"name": "next", "type": "Node", "default": default},
        ]})
    };
    let writer = json!({"type": "record", "name": "Node", "fields": []});
    let reader = avro(&node(json!({})));
    let options = ReaderOptions { objects: true, ..ReaderOptions::default() };
    let mut decoder = ColumnDecoder::with_options(
        ReaderSource::Schema(&reader),
        &options,
        WireFormat::Confluent,
        Header::Value,
    )
    .unwrap();
    decoder.add(ottla_schema::SchemaId::Id(1), &avro(&writer));
    let decoded = decoder.decode(&BinaryArray::from_iter_values([&[0, 0, 0, 0, 1]]), None).unwrap();
    assert!(decoded.errors[0].reason.contains("nested too deep"), "{:?}", decoded.errors);
}

#[test]
fn records_that_all_contain_each_other_are_compiled_once() {
    let count = 30;
    let mut schema = json!("long");
    for number in (0..count).rev() {
        let mut fields: Vec<Value> = (0..number)
            .map(|other| json!({"name": format!("f{other}"), "type": ["null", format!("R{other}")]}))
            .collect();
        fields.push(json!({"name": "inner", "type": schema}));
        schema = json!({"type": "record", "name": format!("R{number}"), "fields": fields});
    }
    let started = Instant::now();
    let payload = [0_u8].repeat((0..count).sum::<usize>() + 1);
    assert_eq!(decode(&schema, &payload).unwrap(), payload);
    objects(&schema).decode(&payload, &Json).unwrap();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

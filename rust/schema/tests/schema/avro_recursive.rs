//! Recursive records of Avro, for objects: hostile schemas and payloads end with errors, on a small stack.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, ListArray};
use arrow_buffer::OffsetBuffer;
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

    fn within(&self, error: String, place: &dyn Display) -> String {
        format!("{place}: {error}")
    }
}

/// An object that is encoded.
struct Object<'a>(&'a Value);

impl ObjectSource for Object<'_> {
    type Error = String;

    fn is_null(&self) -> bool {
        self.0.is_null()
    }

    fn column(&self, data_type: &DataType, place: &dyn Display) -> Result<ArrayRef, String> {
        if let DataType::List(field) = data_type {
            let item = Self(&self.0[0]).column(field.data_type(), place)?;
            let offsets = OffsetBuffer::from_lengths([1]);
            return Ok(Arc::new(ListArray::new(Arc::clone(field), offsets, item, None)));
        }
        let number = self.0.as_i64().ok_or_else(|| format!("{place}: no number"))?;
        Ok(Arc::new(Int64Array::from(vec![number])))
    }

    fn items(&self, place: &dyn Display) -> Result<Vec<Self>, String> {
        Ok(self.0.as_array().ok_or_else(|| format!("{place}: no list"))?.iter().map(Self).collect())
    }

    fn entries(&self, place: &dyn Display) -> Result<Vec<(String, Self)>, String> {
        let map = self.0.as_object().ok_or_else(|| format!("{place}: no map"))?;
        Ok(map.iter().map(|(name, value)| (name.clone(), Self(value))).collect())
    }

    fn fields(&self, names: &[Arc<str>], place: &dyn Display) -> Result<Vec<Option<Self>>, String> {
        let map = self.0.as_object().ok_or_else(|| format!("{place}: no record"))?;
        Ok(names.iter().map(|name| map.get(&**name).map(Self)).collect())
    }

    fn unfit(reason: String, place: &dyn Display) -> String {
        format!("{place}: {reason}")
    }
}

fn avro(schema: &Value) -> RegisteredSchema {
    RegisteredSchema::new(SchemaType::Avro, schema.to_string())
}

fn objects(schema: &Value) -> AvroObjects {
    AvroObjects::compile(&avro(schema), &SchemaLimits::default()).unwrap().unwrap()
}

/// A list in which a value and its levels take few bytes.
fn list() -> Value {
    json!({"type": "record", "name": "Link", "fields": [
        {"name": "value", "type": "long"}, {"name": "next", "type": ["null", "Link"]},
    ]})
}

/// Runs on a stack that a level of which must not take a part.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(128 << 10).spawn(run).unwrap().join().unwrap();
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
    objects.encode(Object(&object), &mut bytes).unwrap();
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
        let error = objects(&tree()).encode(Object(&object), &mut Vec::new()).unwrap_err();
        assert!(error.contains("nested too deep"), "{error}");
        // Its destructor would recurse.
        std::mem::forget(object);
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn levels_take_no_stack() {
    let whole = json!({"type": "record", "name": "W", "fields": [{"name": "skipped", "type": list()}, {"name": "n", "type": "long"}]});
    let reader = json!({"type": "record", "name": "W", "fields": [{"name": "n", "type": "long"}]});
    let (whole, reader) = (avro(&whole), avro(&reader));
    let source = ReaderSource::Schema(&reader);
    let options = ReaderOptions::default();
    let decoder = ColumnDecoder::with_options(source, &options, WireFormat::Confluent, Header::Value);
    let mut decoder = decoder.unwrap();
    decoder.add(ottla_schema::SchemaId::Id(1), &whole);
    // With the objects and the values compiled before: a schema is compiled by recursion, to its own depth.
    let link = objects(&list());
    let column = avro(&list());
    let options = ReaderOptions { objects: true, ..ReaderOptions::default() };
    let source = ReaderSource::Schema(&column);
    let mut own = ColumnDecoder::with_options(source, &options, WireFormat::None, Header::Value).unwrap();
    on_a_small_stack(move || {
        let payload = |levels: usize| [[2, 2].repeat(levels - 1), vec![2, 0]].concat();
        let mut read = |payload: &[u8]| {
            let decoded = own.decode(&BinaryArray::from_iter_values([payload]), None).unwrap();
            decoded.errors.first().map(|error| error.reason.clone())
        };
        assert_eq!(read(&payload(500)), None);
        let mut object = Value::Null;
        for levels in 1..=501 {
            object = [("value".to_owned(), json!(1)), ("next".to_owned(), object)].into_iter().collect();
            let mut bytes = Vec::new();
            let written = link.encode(Object(&object), &mut bytes);
            assert_eq!(written.is_ok(), levels <= 500, "{levels}: {written:?}");
            assert!(levels > 500 || bytes == payload(levels));
        }
        // Its destructor would recurse.
        std::mem::forget(object);
        for levels in [501, 100_000] {
            let reason = read(&payload(levels)).unwrap();
            assert!(reason.contains("nested too deep"), "{reason}");
            link.decode(&payload(levels), &Json).unwrap_err();
        }
        for (levels, is_read) in [(500, true), (501, false)] {
            let framed = [&[0, 0, 0, 0, 1], &payload(levels)[..], &[14]].concat();
            let decoded = decoder.decode(&BinaryArray::from_iter_values([&framed]), None).unwrap();
            assert_eq!(decoded.errors.is_empty(), is_read, "{:?}", decoded.errors);
        }
    });
}

#[test]
fn what_is_written_can_be_read() {
    // Lists between a record and itself, and a list without recursion, which is as deep.
    let mut inner = json!("Node");
    let mut flat = json!("long");
    for _ in 0..7 {
        inner = json!({"type": "array", "items": inner});
        flat = json!({"type": "array", "items": flat});
    }
    let schema = json!({"type": "record", "name": "Node", "fields": [
        {"name": "inner", "type": inner}, {"name": "flat", "type": ["null", flat]},
    ]});
    let objects = objects(&schema);
    let deep = (0..7).fold(json!(1), |value, _| json!([value]));
    let mut written = 0;
    let mut node = json!([]);
    for levels in 1..500 / 8 + 2 {
        let object = json!({"inner": node, "flat": deep});
        let mut bytes = Vec::new();
        match objects.encode(Object(&object), &mut bytes) {
            Ok(()) => {
                assert_eq!(decode(&schema, &bytes).unwrap(), bytes, "{levels} levels");
                written = levels;
            }
            Err(error) => assert!(error.contains("nested too deep"), "{error}"),
        }
        node = (0..7).fold(object, |node, _| Value::Array(vec![node]));
    }
    assert_eq!(written, 500 / 8);
}

#[test]
fn an_error_of_an_object_names_its_place() {
    let objects = objects(&tree());
    let encode = |object: &Value| objects.encode(Object(object), &mut Vec::new()).unwrap_err();
    let leaf = json!({"value": 1, "children": []});
    let bad = json!({"value": true, "children": []});
    let object = json!({"value": 1, "children": [leaf, {"value": 1, "children": [], "named": {"k": bad}}]});
    assert_eq!(encode(&object), "children[1].named[\"k\"].value: no number");
    let object = json!({"value": 1, "children": [{"children": []}]});
    assert_eq!(encode(&object), "children[0].value: the value lacks it, and it has no default");
    let object = json!({"value": 1, "children": [], "either": {"member1": {"value": 1, "children": [null]}}});
    assert_eq!(encode(&object), "either.children[0]: no record");
    let error = objects.decode(&[2, 2, 4, 0, 2, 0], &Json).unwrap_err();
    assert_eq!(error, "children[0].named[\"\"].value: it ends within the value");
    let error = objects.decode(&[2].repeat(10_000), &Json).unwrap_err();
    assert!(error.contains("…") && error.ends_with("children[0]: its values are nested too deep"), "{error}");
    assert!(error.starts_with("children[0].children[0].") && error.len() < 300, "{error}");
}

#[test]
fn a_field_that_an_object_lacks_gets_its_default() {
    let schema = json!({"type": "record", "name": "Node", "fields": [
        {"name": "next", "type": ["null", "Node"], "default": null},
        {"name": "value", "type": "long", "default": 5},
    ]});
    let mut bytes = Vec::new();
    objects(&schema).encode(Object(&json!({"next": {"value": 7}})), &mut bytes).unwrap();
    assert_eq!(bytes, [2, 0, 14, 10]);
    let schema = schema.to_string().replace("5", "\"text\"");
    let objects = objects(&serde_json::from_str(&schema).unwrap());
    objects.encode(Object(&json!({"value": 7})), &mut bytes).unwrap();
    let error = objects.encode(Object(&json!({"next": {}})), &mut bytes).unwrap_err();
    assert!(error.starts_with("next.value: ") && error.contains("the default of Node.value"), "{error}");
}

#[test]
fn a_recursive_field_that_only_the_writer_has_is_skipped() {
    let fields = |more: &[Value]| {
        let kept = json!({"name": "n", "type": "long"});
        let fields = [&[kept], more].concat();
        json!({"type": "record", "name": "R", "fields": fields})
    };
    let tree = json!({"name": "tree", "type": tree()});
    let own = json!({"name": "own", "type": ["null", "R"]});
    let links = json!({"name": "links", "type": {"type": "map", "values": list()}});
    let writer = avro(&fields(&[tree, links, own]));
    let reader = avro(&fields(&[]));
    let mut decoder = ColumnDecoder::new(&reader, WireFormat::Confluent, Header::Value).unwrap();
    decoder.add(ottla_schema::SchemaId::Id(1), &writer);
    let tree = [2, 2, 4, 0, 0, 0, 0, 0, 0];
    let links = [2, 0, 6, 2, 8, 0, 0];
    let inner = [&[10][..], &tree, &links, &[0]].concat();
    let framed = [&[0, 0, 0, 0, 1, 14], &tree[..], &links, &[2], &inner].concat();
    let decoded = decoder.decode(&BinaryArray::from_iter_values([&framed]), None).unwrap();
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    assert_eq!(decoded.array.as_struct().column(0).as_primitive::<Int64Type>().value(0), 7);
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

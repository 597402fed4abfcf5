//! The rules of Avro's schemas: what Java's `SchemaCompatibility` says of each pair.

use serde_json::{Value, json};

use crate::schema_registry::{registry, schema};

fn record(fields: &Value) -> Value {
    json!({"type": "record", "name": "R", "fields": fields})
}

fn field(ty: &Value) -> Value {
    record(&json!([{"name": "f", "type": ty}]))
}

fn named(kind: &str, name: &str, key: &str, value: Value) -> Value {
    json!({"type": kind, "name": name, key: value})
}

/// Readers, writers, and what keeps one from reading data of the other.
fn pairs() -> Vec<(Value, Value, &'static str)> {
    let symbols = |name: &str, list: &[&str]| named("enum", name, "symbols", json!(list));
    let fixed = |name: &str, size: i32| named("fixed", name, "size", json!(size));
    let with_default = json!({"type": "enum", "name": "E", "symbols": ["A"], "default": "A"});
    let alias = |name: &str| json!({"type": "fixed", "name": "G", "size": 1, "aliases": [name]});
    vec![
        (json!("long"), json!("int"), ""),
        (json!("int"), json!("long"), "TYPE_MISMATCH"),
        (json!("float"), json!("long"), ""),
        (json!("double"), json!("float"), ""),
        (json!("float"), json!("double"), "TYPE_MISMATCH"),
        (json!("string"), json!("bytes"), ""),
        (json!("bytes"), json!("string"), ""),
        (json!("string"), json!("int"), "TYPE_MISMATCH"),
        (json!("null"), json!("boolean"), "TYPE_MISMATCH"),
        (json!({"type": "array", "items": "long"}), json!({"type": "array", "items": "int"}), ""),
        (
            json!({"type": "map", "values": "int"}),
            json!({"type": "map", "values": "long"}),
            "TYPE_MISMATCH at /values",
        ),
        (json!({"type": "map", "values": "int"}), json!({"type": "array", "items": "int"}), "TYPE_MISMATCH"),
        (json!(["null", "int"]), json!("int"), ""),
        (json!(["null", "long"]), json!("int"), ""),
        (json!(["null", "string"]), json!("int"), "MISSING_UNION_BRANCH"),
        (json!("int"), json!(["null", "int"]), "TYPE_MISMATCH"),
        (json!("long"), json!(["int", "long"]), ""),
        (json!(["null", "int"]), json!(["null", "int", "string"]), "MISSING_UNION_BRANCH"),
        (json!(["null", "int", "string"]), json!(["string", "null"]), ""),
        (symbols("E", &["A", "B"]), symbols("E", &["A"]), ""),
        (symbols("E", &["A"]), symbols("E", &["A", "B"]), "MISSING_ENUM_SYMBOLS"),
        (with_default, symbols("E", &["A", "B"]), ""),
        (symbols("E", &["A"]), symbols("F", &["A"]), "NAME_MISMATCH"),
        (symbols("a.E", &["A"]), symbols("b.E", &["A"]), ""),
        (fixed("F", 1), fixed("F", 1), ""),
        (fixed("F", 1), fixed("F", 2), "FIXED_SIZE_MISMATCH"),
        (fixed("F", 1), fixed("G", 1), "NAME_MISMATCH"),
        (alias("F"), fixed("F", 1), ""),
        (fixed("F", 1), symbols("F", &["A"]), "TYPE_MISMATCH"),
        (record(&json!([])), field(&json!("int")), ""),
        (field(&json!("int")), record(&json!([])), "READER_FIELD_MISSING_DEFAULT_VALUE at /fields/0"),
        (record(&json!([{"name": "f", "type": "int", "default": 1}])), record(&json!([])), ""),
        (record(&json!([{"name": "f", "type": ["null", "int"], "default": null}])), record(&json!([])), ""),
        (field(&json!("int")), field(&json!("string")), "TYPE_MISMATCH at /fields/0/type"),
        (record(&json!([{"name": "g", "type": "int", "aliases": ["f"]}])), field(&json!("int")), ""),
        (record(&json!([{"name": "g", "type": "int"}])), field(&json!("int")), "READER_FIELD"),
        (field(&json!(["null", "R"])), field(&json!(["null", "R"])), ""),
        (
            record(
                &json!([{"name": "f", "type": {"type": "array", "items": "R"}}, {"name": "v", "type": "int"}]),
            ),
            record(
                &json!([{"name": "f", "type": {"type": "array", "items": "R"}}, {"name": "v", "type": "long"}]),
            ),
            "TYPE_MISMATCH at /fields/1/type",
        ),
    ]
}

#[tokio::test]
async fn pairs_of_schemas_are_compared_as_in_java() {
    let registry = registry().await;
    for (number, (reader, writer, expected)) in pairs().into_iter().enumerate() {
        let subject = format!("s{number}");
        registry.register(&subject, "AVRO", &writer.to_string(), &[]).unwrap();
        let path = format!("/compatibility/subjects/{subject}/versions/1?verbose=true");
        let (status, found) = crate::schema_registry::send(&registry, "POST", &path, schema(&reader)).await;
        assert_eq!(status, 200, "{found}");
        let messages = found["messages"].as_array().unwrap();
        assert_eq!(found["is_compatible"], messages.is_empty(), "{found}");
        match expected {
            "" => assert!(messages.is_empty(), "{reader} reads {writer}: {messages:?}"),
            kind => assert!(messages[0].as_str().unwrap().contains(kind), "{reader} reads {writer}: {found}"),
        }
    }
}

//! What Avro's own Java library says of pairs of schemas: named ones, and those that `tests/java/avro` makes at random.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::path::Path;

use serde_json::{Value, json};

use super::super::difference::MAX_DIFFERENCES;
use super::{differences, parse};

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

#[test]
fn pairs_of_schemas_are_compared_as_in_java() {
    for (reader, writer, expected) in pairs() {
        let parsed = [&reader, &writer].map(|schema| parse(&schema.to_string(), &[]).unwrap());
        let found = differences(&parsed[0], &parsed[1]);
        match expected {
            "" => assert!(found.is_empty(), "{reader} reads {writer}: {found:?}"),
            kind => {
                let first = format!("{} at {}", found[0].kind, found[0].at);
                assert!(first.starts_with(kind), "{reader} reads {writer}: {found:?}");
            }
        }
    }
}

#[test]
fn evolutions_of_schemas_are_compared_as_in_java() {
    let Ok(dir) = std::env::var("OTTLA_ORACLE_DIR") else {
        panic!("OTTLA_ORACLE_DIR is not set: run `make test`, which runs Avro's Java classes");
    };
    // The path may be relative to the top of the project.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(dir).join("avro.jsonl");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}: run `make test`, which makes Java write it", path.display()));
    let mut counts = [0, 0];
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let expected = line["compatible"].as_bool().unwrap_or_else(|| panic!("an old {}", path.display()));
        let parsed = ["reader", "writer"].map(|name| parse(&line[name].to_string(), &[]));
        let [Ok(reader), Ok(writer)] = &parsed else {
            // Java does not check the defaults of a schema that is registered already.
            let reason = parsed.into_iter().find_map(Result::err).unwrap();
            assert!(reason.contains("the default"), "{}: {reason}", line["name"]);
            continue;
        };
        let found = differences(reader, writer);
        assert_eq!(found.is_empty(), expected, "{}: {found:?}", line["name"]);
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

/// Types of which each has the one before it twice.
fn doubling(first: Value, count: i32, default: Option<Value>) -> String {
    let others = (1..count).map(|number| {
        let field = |name: &str| {
            let mut field = json!({"name": name, "type": format!("T{}", number - 1)});
            if let Some(default) = &default {
                field["default"] = default.clone();
            }
            field
        };
        json!({"type": "record", "name": format!("T{number}"), "fields": [field("a"), field("b")]})
    });
    Value::Array(std::iter::once(first).chain(others).collect()).to_string()
}

#[test]
fn hostile_schemas_take_bounded_work() {
    let fixed = |size: i32| {
        parse(&doubling(json!({"type": "fixed", "name": "T0", "size": size}), 100, None), &[]).unwrap()
    };
    let found = differences(&fixed(1), &fixed(2));
    assert!((1..=MAX_DIFFERENCES).contains(&found.len()), "{}", found.len());
    let many = |prefix: &str| {
        let named = |number| json!({"type": "fixed", "name": format!("{prefix}{number}"), "size": 1});
        parse(&Value::Array((0..1_000).map(named).collect()).to_string(), &[]).unwrap()
    };
    assert!(differences(&many("A"), &many("B"))[0].reason.contains("too large to compare"));
    let empty = json!({"type": "record", "name": "T0", "fields": []});
    assert!(parse(&doubling(empty, 60, Some(json!({}))), &[]).unwrap_err().contains("the default"));
    assert!(parse(&"[".repeat(100_000), &[]).unwrap_err().contains("recursion limit"));
}

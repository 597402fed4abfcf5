//! Which changes of a Protobuf file Confluent's registry reports.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use ottla_schema::{RegisteredSchema, SchemaReference, SchemaType, protobuf_file};

use super::differences;

fn schema(text: &str, imported: Option<&str>) -> RegisteredSchema {
    let mut schema = RegisteredSchema::new(SchemaType::Protobuf, text);
    schema.references.extend(imported.map(|text| SchemaReference {
        name: "other.proto".into(),
        schema: Arc::new(RegisteredSchema::new(SchemaType::Protobuf, text)),
    }));
    schema
}

fn kinds(old: &RegisteredSchema, new: &RegisteredSchema) -> Vec<String> {
    let [old, new] = [old, new].map(|schema| protobuf_file(schema).unwrap());
    differences(&old, &new).into_iter().map(|difference| difference.kind).collect()
}

/// Checks each pair of the contents of a message `M`, with other definitions behind it.
fn check(syntax: &str, cases: &[(&str, &str, &[&str])]) {
    let file = |fields: &str| {
        let others = "message A { int32 x = 1; } message B { int32 x = 1; } enum E { ZERO = 0; }";
        let others = if syntax == "proto3" { others } else { "" };
        schema(&format!("syntax = \"{syntax}\"; message M {{ {fields} }} {others}"), None)
    };
    for (old, new, expected) in cases {
        assert_eq!(kinds(&file(old), &file(new)), *expected, "{old} -> {new}");
    }
}

#[test]
fn fields_keep_the_encoding_of_their_number() {
    check(
        "proto3",
        &[
            ("int32 a = 1;", "int32 b = 1;", &[]),
            ("int32 a = 1;", "int32 a = 1; string b = 2;", &[]),
            ("int32 a = 1; string b = 2;", "int32 a = 1;", &[]),
            ("int32 a = 1;", "uint64 a = 1;", &[]),
            ("bool a = 1;", "E a = 1;", &[]),
            ("int32 a = 1;", "sint32 a = 1;", &["FIELD_SCALAR_KIND_CHANGED"]),
            ("sint32 a = 1;", "sint64 a = 1;", &[]),
            ("string a = 1;", "bytes a = 1;", &[]),
            ("fixed32 a = 1;", "sfixed32 a = 1;", &[]),
            ("fixed32 a = 1;", "fixed64 a = 1;", &["FIELD_SCALAR_KIND_CHANGED"]),
            ("float a = 1;", "double a = 1;", &["FIELD_SCALAR_KIND_CHANGED"]),
            ("string a = 1;", "int32 a = 1;", &["FIELD_SCALAR_KIND_CHANGED"]),
            ("int32 a = 1;", "A a = 1;", &["FIELD_KIND_CHANGED"]),
            ("A a = 1;", "B a = 1;", &["FIELD_NAMED_TYPE_CHANGED"]),
            ("map<string, int32> a = 1;", "map<string, int64> a = 1;", &[]),
            ("map<string, int32> a = 1;", "map<string, string> a = 1;", &["FIELD_SCALAR_KIND_CHANGED"]),
            ("map<string, int32> a = 1;", "repeated A a = 1;", &["FIELD_KIND_CHANGED"]),
            ("repeated string a = 1;", "optional string a = 1;", &[]),
            ("repeated int32 a = 1;", "optional int32 a = 1;", &["FIELD_NUMERIC_LABEL_CHANGED"]),
            ("int32 a = 1;", "optional int32 a = 1;", &[]),
        ],
    );
}

#[test]
fn required_fields_stay() {
    check(
        "proto2",
        &[
            (
                "optional int32 a = 1;",
                "optional int32 a = 1; required int32 b = 2;",
                &["REQUIRED_FIELD_ADDED"],
            ),
            (
                "optional int32 a = 1; required int32 b = 2;",
                "optional int32 a = 1;",
                &["REQUIRED_FIELD_REMOVED"],
            ),
            ("optional int32 a = 1;", "required int32 a = 1;", &["FIELD_NUMERIC_LABEL_CHANGED"]),
            ("optional string a = 1;", "required string a = 1;", &[]),
        ],
    );
}

#[test]
fn fields_that_were_independent_do_not_share_a_oneof() {
    let two = "int32 a = 1; int32 b = 2;";
    let oneof = "oneof o { int32 a = 1; int32 b = 2; }";
    check(
        "proto3",
        &[
            (two, oneof, &["MULTIPLE_FIELDS_MOVED_TO_ONEOF"]),
            ("int32 a = 1;", oneof, &[]),
            (oneof, two, &[]),
            (oneof, "oneof p { int32 a = 1; int32 b = 2; }", &[]),
            ("oneof o { int32 a = 1; } int32 b = 2;", oneof, &["FIELD_MOVED_TO_EXISTING_ONEOF"]),
            (oneof, "oneof o { int32 a = 1; }", &["ONEOF_FIELD_REMOVED"]),
            (oneof, "int32 a = 1;", &["ONEOF_FIELD_REMOVED"]),
            (oneof, "string c = 3;", &[]),
            (oneof, "oneof o { int32 a = 1; string b = 2; }", &["FIELD_SCALAR_KIND_CHANGED"]),
            // Each optional field has a oneof of its own in the descriptor.
            ("int32 a = 1; int32 b = 2;", "optional int32 a = 1; optional int32 b = 2;", &[]),
            ("optional int32 a = 1; int32 b = 2;", "int32 b = 2;", &[]),
        ],
    );
}

#[test]
fn messages_and_the_package_stay() {
    let file = |text: &str| schema(&format!("syntax = \"proto3\"; {text}"), None);
    let cases: [(&str, &str, &[&str]); 7] = [
        ("message A {}", "message B {} message A {}", &[]),
        ("message A {} message B {}", "message A {}", &["MESSAGE_REMOVED"]),
        ("message A { message B {} }", "message A {}", &["MESSAGE_REMOVED"]),
        (
            "message A { message B { int32 x = 1; } }",
            "message A { message B { string x = 1; } }",
            &["FIELD_SCALAR_KIND_CHANGED"],
        ),
        ("package p; message A {}", "package q; message A {}", &["PACKAGE_CHANGED"]),
        ("message A {} enum E { X = 0; Y = 1; }", "message A {} enum F { Z = 0; }", &[]),
        (
            "message A { A next = 1; int32 x = 2; }",
            "message A { A next = 1; float x = 2; }",
            &["FIELD_SCALAR_KIND_CHANGED"],
        ),
    ];
    for (old, new, expected) in cases {
        assert_eq!(kinds(&file(old), &file(new)), expected, "{old} -> {new}");
    }
}

#[test]
fn messages_of_imported_files_are_compared_where_fields_have_them() {
    let text = "syntax = \"proto3\"; import \"other.proto\"; message M { p.A a = 1; }";
    let other = |fields: &str| {
        let other =
            format!("syntax = \"proto3\"; package p; message A {{ {fields} }} message Unused {{ {fields} }}");
        schema(text, Some(&other))
    };
    assert!(kinds(&other("int32 x = 1;"), &other("int64 x = 1;")).is_empty());
    assert_eq!(kinds(&other("int32 x = 1;"), &other("string x = 1;")), ["FIELD_SCALAR_KIND_CHANGED"]);
    let text = "syntax = \"proto3\"; import \"other.proto\"; message M { map<string, p.A> a = 1; }";
    let other = |ty: &str| {
        let other = format!("syntax = \"proto3\"; package p; message A {{ {ty} x = 1; }}");
        schema(text, Some(&other))
    };
    assert_eq!(kinds(&other("int32"), &other("string")), ["FIELD_SCALAR_KIND_CHANGED"]);
}

#[test]
fn long_chains_of_messages_take_no_recursion() {
    let chain = |ty: &str| {
        let messages: String =
            (0..3_000).map(|number| format!("message M{number} {{ M{} next = 1; }} ", number + 1)).collect();
        schema(&format!("syntax = \"proto3\"; {messages} message M3000 {{ {ty} x = 1; }}"), None)
    };
    assert_eq!(kinds(&chain("int32"), &chain("string")), ["FIELD_SCALAR_KIND_CHANGED"]);
}

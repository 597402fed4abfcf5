//! Proves: each JSON Schema becomes its type, or an error that names the place.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_schema::DataType::{Boolean, Float64, Int64, Utf8};
use arrow_schema::{DataType, Field};
use ottla_schema::{
    ColumnDecoder, DataContract, Header, RegisteredSchema, SchemaReference, SchemaType, WireFormat,
};

use crate::support::*;

fn type_of(schema: &str) -> DataType {
    json_decoder(schema).data_type().clone()
}

fn structure(fields: &[(&str, DataType, bool)]) -> DataType {
    let fields = fields.iter().map(|(name, ty, nullable)| Field::new(*name, ty.clone(), *nullable));
    DataType::Struct(fields.collect())
}

fn list(items: DataType, nullable: bool) -> DataType {
    DataType::List(Field::new("item", items, nullable).into())
}

fn map(values: DataType, nullable: bool) -> DataType {
    let entries = structure(&[("key", Utf8, false), ("value", values, nullable)]);
    DataType::Map(Field::new("entries", entries, false).into(), false)
}

fn error(schema: &str) -> String {
    let schema = RegisteredSchema::new(SchemaType::Json, schema);
    ColumnDecoder::new(&schema, WireFormat::None, Header::Value).unwrap_err().to_string()
}

#[test]
fn each_keyword_has_its_type() {
    let object = r#"{"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}},
                     "required": ["a", "unknown"]}"#;
    let object_type = structure(&[("b", Utf8, true), ("a", Int64, false)]);
    let nested = format!(r#"{{"type": "array", "items": {object}}}"#);
    for (schema, expected) in [
        (r#"{"type": "string", "format": "date-time", "title": "t"}"#, Utf8),
        (r#"{"type": "integer", "connect.type": "int8", "minimum": 0}"#, Int64),
        (r#"{"type": "number", "multipleOf": 0.1}"#, Float64),
        (r#"{"type": "boolean"}"#, Boolean),
        (object, object_type.clone()),
        (&nested, list(object_type.clone(), false)),
        (r#"{"type": "array"}"#, list(Utf8, true)),
        (r#"{"type": "array", "items": {"type": ["null", "boolean"]}}"#, list(Boolean, true)),
        (r#"{"type": "object", "additionalProperties": {"type": "number"}}"#, map(Float64, false)),
        (r#"{"type": "object", "additionalProperties": true}"#, map(Utf8, true)),
        (
            r#"{"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false}"#,
            map(Int64, false),
        ),
        (r#"{"enum": ["a", "b"]}"#, Utf8),
        (r#"{"enum": [1, 2.0, 3e1]}"#, Int64),
        (r#"{"enum": [1, 2.5]}"#, Float64),
        (r#"{"const": true}"#, Boolean),
        (r#"{"const": 1.5}"#, Float64),
        // Without a type, but with keywords for one.
        (r#"{"properties": {"a": {"type": "string"}}}"#, structure(&[("a", Utf8, true)])),
        (r#"{"items": {"type": "integer"}}"#, list(Int64, false)),
        (r#"{"properties": {"a": {"type": "string"}, "never": false}}"#, structure(&[("a", Utf8, true)])),
    ] {
        assert_eq!(type_of(schema), expected, "{schema}");
    }
}

#[test]
fn null_beside_a_type_makes_it_nullable() {
    for (property, expected, nullable) in [
        (r#"{"type": "string"}"#, Utf8, false),
        (r#"{"type": ["string", "null"]}"#, Utf8, true),
        (r#"{"type": ["null", "integer"]}"#, Int64, true),
        (r#"{"oneOf": [{"type": "null"}, {"type": "number"}]}"#, Float64, true),
        (r#"{"anyOf": [{"type": "boolean"}, {"type": "null"}]}"#, Boolean, true),
        (r#"{"enum": ["a", null]}"#, Utf8, true),
        (r#"{"type": "string", "enum": ["a", null]}"#, Utf8, false),
        (
            r#"{"oneOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}}]}"#,
            list(Int64, false),
            true,
        ),
        (
            r#"{"oneOf": [{"type": "null"}, {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}]}"#,
            structure(&[("x", Int64, false)]),
            true,
        ),
        (r#"{"type": "null"}"#, Utf8, true),
        (r#"{"oneOf": [{"type": "null"}]}"#, Utf8, true),
    ] {
        let schema = format!(r#"{{"type": "object", "properties": {{"p": {property}}}, "required": ["p"]}}"#);
        assert_eq!(type_of(&schema), structure(&[("p", expected, nullable)]), "{property}");
    }
}

#[test]
fn schemas_are_combined() {
    let a = r#"{"type": "object", "properties": {"a": {"type": "integer"}, "x": {"type": "number"}}}"#;
    let b = r#"{"properties": {"b": {"type": "string"}, "x": {"type": "integer"}}, "required": ["b"]}"#;
    let merged = structure(&[("a", Int64, true), ("x", Int64, true), ("b", Utf8, false)]);
    for (schema, expected) in [
        (format!(r#"{{"allOf": [{a}, {b}]}}"#), merged.clone()),
        (format!(r#"{{"oneOf": [{{"type": "null"}}, {{"allOf": [{a}, {b}]}}]}}"#), merged),
        // The same type twice, numbers, and conditions.
        (format!(r#"{{"oneOf": [{a}, {a}]}}"#), structure(&[("a", Int64, true), ("x", Float64, true)])),
        (r#"{"anyOf": [{"type": "integer"}, {"type": "number"}]}"#.to_owned(), Float64),
        (
            r#"{"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "maxLength": 3}]}"#
                .to_owned(),
            Utf8,
        ),
        (
            r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}"#
                .to_owned(),
            structure(&[("a", Int64, true), ("b", Int64, true)]),
        ),
        (r#"{"allOf": [{"type": ["integer", "string"]}, {"type": "number"}]}"#.to_owned(), Int64),
    ] {
        assert_eq!(type_of(&schema), expected, "{schema}");
    }
}

#[test]
fn required_is_what_all_alternatives_require() {
    let schema = r#"{"properties": {"x": {"type": "integer"}}, "oneOf": [
        {"properties": {"a": {"type": "integer"}}, "required": ["x"]},
        {"properties": {"a": {"type": "integer"}}}]}"#;
    assert_eq!(type_of(schema), structure(&[("x", Int64, true), ("a", Int64, true)]));
}

#[test]
fn values_without_one_type_are_json_text() {
    for schema in [
        "{}",
        "true",
        r#"{"type": ["string", "integer"]}"#,
        r#"{"oneOf": [{"type": "string"}, {"type": "integer"}]}"#,
        r#"{"oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]}"#,
        r#"{"type": "object", "properties": {"k": {"type": "string"}},
            "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]}"#,
        r#"{"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}"#,
        r#"{"type": "array", "prefixItems": [{"type": "string"}]}"#,
        r#"{"type": "object"}"#,
        r#"{"type": "object", "properties": {}}"#,
        r#"{"enum": ["a", 1]}"#,
        r#"{"description": "anything"}"#,
    ] {
        let mut decoder = json_decoder(schema);
        assert_eq!(decoder.data_type(), &Utf8, "{schema}");
        let text = r#"{ "a" : [1.0,  "é\u00e9"] }"#;
        let array = decode_good(&mut decoder, &[text]);
        assert_eq!(arrow_array::cast::AsArray::as_string::<i32>(&array).value(0), text, "{schema}");
    }
}

#[test]
fn references_are_followed() {
    let int = structure(&[("a", Int64, true)]);
    for schema in [
        r##"{"properties": {"a": {"$ref": "#/definitions/i"}}, "definitions": {"i": {"type": "integer"}}}"##,
        r##"{"properties": {"a": {"$ref": "#/$defs/i"}}, "$defs": {"i": {"type": "integer"}}}"##,
        r##"{"properties": {"a": {"$ref": "#/$defs/a~1b~0%25"}}, "$defs": {"a/b~%": {"type": "integer"}}}"##,
        r##"{"properties": {"a": {"$ref": "#i"}}, "$defs": {"x": {"$anchor": "i", "type": "integer"}}}"##,
        r##"{"properties": {"a": {"$ref": "#i"}}, "definitions": {"x": {"id": "#i", "type": "integer"}}}"##,
        r##"{"properties": {"a": {"$ref": "i.json"}}, "$defs": {"x": {"$id": "i.json", "type": "integer"}}}"##,
        r##"{"properties": {"a": {"$ref": "i.json"}}, "$defs": {"x": {"$id": "http://x/i.json", "type": "integer"}}}"##,
        r##"{"$ref": "#/definitions/o", "definitions": {"o": {"properties": {"a": {"$ref": "#/definitions/i"}}},
             "i": {"type": "integer"}}}"##,
        r##"{"$ref": "#/definitions/o", "type": "string", "definitions": {"o": {"properties": {"a": {"type": "integer"}}}}}"##,
        r##"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/o",
             "properties": {"a": {"type": "number"}}, "$defs": {"o": {"properties": {"a": {"type": "integer"}}}}}"##,
    ] {
        assert_eq!(type_of(schema), int, "{schema}");
    }
}

#[test]
fn anchors_and_pointers_are_those_of_the_schema_with_an_id_around_them() {
    // Of two anchors with one name, the first one was taken, although another schema's reference means its own.
    let schema = r##"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "outer#it", "$defs": {
        "o": {"$id": "outer", "allOf": [{"$id": "inner", "$anchor": "it", "type": "number"},
                                        {"$anchor": "it", "type": "string"}]}}}"##;
    assert_eq!(type_of(schema), Utf8);
    let schema = r##"{"$id": "http://x/a", "properties": {"a": {"$id": "b", "$ref": "#/$defs/i",
        "$defs": {"i": {"type": "integer"}}}}, "$defs": {"i": {"type": "string"}}}"##;
    assert_eq!(type_of(schema), structure(&[("a", Int64, true)]));
    // Not so by the letter, but as generators of schemas write it.
    let schema = r##"{"properties": {"a": {"$id": "/properties/a", "items": {"$ref": "#/definitions/i"}}},
        "definitions": {"i": {"type": "integer"}}}"##;
    assert_eq!(type_of(schema), structure(&[("a", list(Int64, false), true)]));
}

#[test]
fn references_with_a_target_for_each_use_are_json_text() {
    for reference in [r##""$dynamicRef": "#it""##, r##""$recursiveRef": "#""##] {
        let schema = format!(
            r##"{{"type": "array", "items": {{{reference}}}, "$defs": {{"x": {{"$anchor": "it", "type": "string"}}}}}}"##
        );
        assert_eq!(type_of(&schema), list(Utf8, true));
        let array = decode_good(&mut json_decoder(&schema), &[r#"["a", 7]"#]);
        let items = array.as_list::<i32>().value(0);
        assert_eq!(items.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["\"a\"", "7"]);
    }
}

#[test]
fn registered_references_are_followed() {
    let schema = |text: &str, references: &[(&str, &Arc<RegisteredSchema>)]| {
        let references = references.iter();
        let references = references
            .map(|(name, schema)| SchemaReference { name: (*name).into(), schema: Arc::clone(schema) });
        Arc::new(RegisteredSchema {
            schema_type: SchemaType::Json,
            guid: None,
            text: text.into(),
            references: references.collect(),
            rules: Vec::new(),
            contract: DataContract::default(),
        })
    };
    let city = schema(r#"{"type": "string"}"#, &[]);
    let address = schema(
        r##"{"type": "object", "properties": {"city": {"$ref": "city.json"}, "zip": {"$ref": "#/$defs/zip"}},
             "$defs": {"zip": {"type": "integer"}}}"##,
        &[("city.json", &city)],
    );
    let person = |reference: &str, name: &str| {
        schema(
            &format!(r##"{{"type": "object", "properties": {{"home": {{"$ref": "{reference}"}}}}}}"##),
            &[(name, &address)],
        )
    };
    let whole = structure(&[("city", Utf8, true), ("zip", Int64, true)]);
    for (reference, name, expected) in [
        ("address.json", "address.json", whole.clone()),
        ("http://shop/address.json", "http://shop/address.json", whole.clone()),
        ("http://shop/address.json", "address.json", whole.clone()),
        ("address.json", "http://shop/address.json", whole),
        ("address.json#/properties/zip", "address.json", Int64),
        ("address.json#/properties/city", "address.json", Utf8),
    ] {
        let schema = person(reference, name);
        let decoder = ColumnDecoder::new(&schema, WireFormat::None, Header::Value).unwrap();
        assert_eq!(decoder.data_type(), &structure(&[("home", expected, true)]), "{reference}");
    }
    let missing = person("other.json", "address.json");
    let error = ColumnDecoder::new(&missing, WireFormat::None, Header::Value).unwrap_err().to_string();
    assert!(error.contains(r#"the $ref "other.json" at $.home is neither in"#), "{error}");
}

#[test]
fn schemas_without_a_type_are_errors() {
    let nested = |depth: usize| {
        let open = r#"{"type": "array", "items": "#.repeat(depth);
        format!(r#"{open}{{"type": "string"}}{}"#, "}".repeat(depth))
    };
    for (schema, expected) in [
        ("{".to_owned(), "not a valid JSON schema: it is not JSON: it ends where a key"),
        (r#"{"type": "string"} x"#.to_owned(), "bytes are left"),
        ("7".to_owned(), "expected a schema at $"),
        ("false".to_owned(), "$ allows no value"),
        (r#"{"type": "any"}"#.to_owned(), "the type at $ is unknown"),
        (r#"{"properties": {"a": {"type": 1}}}"#.to_owned(), "the type at $.a is unknown"),
        (r#"{"properties": {"a": []}}"#.to_owned(), "expected a schema at $.a"),
        (r#"{"allOf": {}}"#.to_owned(), "the allOf at $ is not an array"),
        (r#"{"allOf": [{"type": "string"}, {"type": "object"}]}"#.to_owned(), "$ allows no value"),
        (r##"{"$ref": "#/definitions/x"}"##.to_owned(), r##"the $ref "#/definitions/x" at $ is neither"##),
        (r##"{"$ref": "#"}"##.to_owned(), "is recursive"),
        (
            r##"{"properties": {"next": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}}}"##.to_owned(),
            r##"the $ref "#" at $.next is recursive, which Arrow has no type for"##,
        ),
        (
            r##"{"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"properties": {"c": {"items": {"$ref": "#/$defs/n"}}}}}}"##
                .to_owned(),
            "at $[].c[] is recursive",
        ),
        (nested(61), "levels deep"),
        (nested(200), "levels deep"),
    ] {
        let error = error(&schema);
        assert!(error.contains(expected), "{schema}: {error}");
    }
    type_of(&nested(59));
}

#[test]
fn schemas_that_expand_without_end_are_errors() {
    let twice = |keyword: &str| {
        let definitions: Vec<String> = (0..40)
            .map(|level| {
                let next = format!(r##"{{"$ref": "#/$defs/d{}"}}"##, level + 1);
                let body = match keyword {
                    "properties" => format!(r#"{{"a": {next}, "b": {next}}}"#),
                    _ => format!("[{next}, {next}]"),
                };
                format!(r#""d{level}": {{"{keyword}": {body}}}"#)
            })
            .collect();
        let last = r#""d40": {"type": "string"}"#;
        format!(r##"{{"$ref": "#/$defs/d0", "$defs": {{{}, {last}}}}}"##, definitions.join(", "))
    };
    for keyword in ["properties", "allOf", "oneOf"] {
        let error = error(&twice(keyword));
        assert!(error.contains("more than 10000"), "{keyword}: {error}");
    }
    // A chain, and objects nested in alternatives.
    for body in [
        r##"{"$ref": "#/$defs/dN"}"##,
        r##"{"oneOf": [{"properties": {"x": {"$ref": "#/$defs/dN"}}}, {"properties": {"x": {"$ref": "#/$defs/dN"}}}]}"##,
    ] {
        let definitions: Vec<String> = (0..1_000)
            .map(|level| format!(r#""d{level}": {}"#, body.replace('N', &(level + 1).to_string())))
            .collect();
        let schema = format!(r##"{{"$ref": "#/$defs/d0", "$defs": {{{}}}}}"##, definitions.join(", "));
        let error = error(&schema);
        assert!(error.contains("levels deep"), "{error}");
    }
}

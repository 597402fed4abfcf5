//! Which changes of a JSON Schema Confluent's registry reports, and that hostile schemas take bounded work.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use serde_json::{Value, json};

use super::super::difference::MAX_DIFFERENCES;
use super::{JsonSchema, differences};

fn kinds(old: &Value, new: &Value) -> Vec<String> {
    let [old, new] = [old, new].map(|schema| JsonSchema::parse(&schema.to_string(), &[]).unwrap());
    differences(&old, &new, false).into_iter().map(|difference| difference.kind).collect()
}

/// Checks each pair of an old and a new schema: the last difference has this kind, or there is none.
fn check(cases: &[(Value, Value, &str)]) {
    for (old, new, expected) in cases {
        let found = kinds(old, new);
        let last = found.last().map_or("", String::as_str);
        assert_eq!(last, *expected, "{old} -> {new}: {found:?}");
    }
}

fn closed(properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn open(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn requiring(mut schema: Value, name: &str) -> Value {
    schema["required"] = json!([name]);
    schema
}

#[test]
fn types_may_widen() {
    check(&[
        (json!({"type": "integer"}), json!({"type": "number"}), ""),
        (json!({"type": "number"}), json!({"type": "integer"}), "TYPE_NARROWED"),
        (json!({"type": "string"}), json!({"type": "number"}), "TYPE_CHANGED"),
        (json!({"type": "string"}), json!({}), ""),
        (json!({}), json!({"type": "string"}), "TYPE_CHANGED"),
        (json!(true), json!({"type": "string"}), "TYPE_CHANGED"),
        (json!(false), json!({"type": "string"}), ""),
        (json!({"type": "string"}), json!(false), "TYPE_CHANGED"),
        (json!({"type": "string", "title": "a"}), json!({"type": "string", "description": "b"}), ""),
        (json!({"minLength": 1}), json!({"type": "string", "minLength": 1}), ""),
        (
            json!({"type": "string", "connect.type": "bytes"}),
            json!({"type": "number", "connect.type": "bytes"}),
            "",
        ),
    ]);
}

#[test]
fn limits_may_relax() {
    let limits = [
        ("string", "maxLength", "MAX_LENGTH", true),
        ("string", "minLength", "MIN_LENGTH", false),
        ("number", "maximum", "MAXIMUM", true),
        ("integer", "minimum", "MINIMUM", false),
        ("number", "exclusiveMaximum", "EXCLUSIVE_MAXIMUM", true),
        ("number", "exclusiveMinimum", "EXCLUSIVE_MINIMUM", false),
        ("object", "maxProperties", "MAX_PROPERTIES", true),
        ("object", "minProperties", "MIN_PROPERTIES", false),
        ("array", "maxItems", "MAX_ITEMS", true),
        ("array", "minItems", "MIN_ITEMS", false),
        ("array", "maxContains", "MAX_CONTAINS", true),
        ("array", "minContains", "MIN_CONTAINS", false),
    ];
    for (ty, keyword, name, is_upper) in limits {
        let none = json!({"type": ty});
        let [two, three] = [2, 3].map(|limit| json!({"type": ty, keyword: limit}));
        let (wide, narrow) = if is_upper { (&three, &two) } else { (&two, &three) };
        let change = if is_upper { "DECREASED" } else { "INCREASED" };
        assert_eq!(kinds(&none, &two), [format!("{name}_ADDED")]);
        assert_eq!(kinds(wide, narrow), [format!("{name}_{change}")]);
        for (old, new) in [(&two, &two), (&two, &none), (narrow, wide)] {
            assert!(kinds(old, new).is_empty(), "{old} -> {new}");
        }
    }
    let number = |of: Value| json!({"type": "number", "multipleOf": of});
    let string = |pattern: &str| json!({"type": "string", "pattern": pattern});
    check(&[
        (json!({"type": "number"}), number(json!(2)), "MULTIPLE_OF_ADDED"),
        (number(json!(2)), json!({"type": "number"}), ""),
        (number(json!(2)), number(json!(4)), "MULTIPLE_OF_EXPANDED"),
        (number(json!(4)), number(json!(2)), ""),
        (number(json!(0.5)), number(json!(0.1)), ""),
        (number(json!(2)), number(json!(3)), "MULTIPLE_OF_CHANGED"),
        (json!({"type": "string"}), string("a"), "PATTERN_ADDED"),
        (string("a"), json!({"type": "string"}), ""),
        (string("a"), string("b"), "PATTERN_CHANGED"),
        // In draft 4, it makes the other limit exclusive.
        (
            json!({"type": "number", "maximum": 2}),
            json!({"type": "number", "maximum": 2, "exclusiveMaximum": true}),
            "EXCLUSIVE_MAXIMUM_ADDED",
        ),
        (json!({"type": "array"}), json!({"type": "array", "uniqueItems": true}), "UNIQUE_ITEMS_ADDED"),
        (json!({"type": "array", "uniqueItems": true}), json!({"type": "array"}), ""),
    ]);
}

#[test]
fn content_models_decide_which_properties_may_change() {
    let (a, string) = (json!({"a": {"type": "integer"}}), json!({"type": "string"}));
    let both = |ty: Value| json!({"a": {"type": "integer"}, "b": ty});
    let partly =
        |rest: Value, properties: Value| json!({"properties": properties, "additionalProperties": rest});
    let defaulted = json!({"type": "string", "default": ""});
    check(&[
        (open(a.clone()), open(both(string.clone())), "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"),
        (open(a.clone()), open(both(json!({}))), ""),
        (
            open(a.clone()),
            requiring(open(both(string.clone())), "b"),
            "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        ),
        (
            open(a.clone()),
            requiring(open(both(defaulted.clone())), "b"),
            "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        ),
        (open(both(string.clone())), open(a.clone()), ""),
        (closed(a.clone()), closed(both(string.clone())), ""),
        (closed(a.clone()), requiring(closed(both(defaulted)), "b"), ""),
        (
            closed(a.clone()),
            requiring(closed(both(string.clone())), "b"),
            "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
        ),
        (closed(both(string.clone())), closed(a.clone()), "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"),
        (closed(both(json!(false))), closed(a.clone()), ""),
        (partly(string.clone(), a.clone()), partly(string.clone(), both(string.clone())), ""),
        (
            partly(string.clone(), a.clone()),
            partly(string.clone(), both(json!({"type": "integer"}))),
            "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        ),
        (partly(string.clone(), both(string.clone())), partly(string.clone(), a.clone()), ""),
        (
            partly(string.clone(), both(json!({"type": "integer"}))),
            partly(string.clone(), a.clone()),
            "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        ),
        (
            json!({"type": "object", "patternProperties": {"^b": {"type": "string"}}}),
            json!({"type": "object", "patternProperties": {"^b": {"type": "string"}},
                "properties": {"b": {"type": "integer"}}}),
            "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        ),
        (open(a.clone()), closed(a.clone()), "ADDITIONAL_PROPERTIES_REMOVED"),
        (closed(a.clone()), open(a.clone()), ""),
        (open(a.clone()), partly(string.clone(), a.clone()), "ADDITIONAL_PROPERTIES_NARROWED"),
        (partly(string.clone(), a.clone()), partly(json!({"type": "integer"}), a.clone()), "TYPE_CHANGED"),
        (
            open(a.clone()),
            json!({"type": "object", "properties": a, "unevaluatedProperties": false}),
            "UNEVALUATED_PROPERTIES_REMOVED",
        ),
    ]);
}

#[test]
fn properties_that_stay_are_compared() {
    let a = |ty: &str| json!({"a": {"type": ty}});
    let dependent = |keyword: &str, on: Value| json!({"type": "object", keyword: {"a": on}});
    check(&[
        (open(a("string")), open(a("integer")), "TYPE_CHANGED"),
        (open(a("string")), requiring(open(a("string")), "a"), "REQUIRED_ATTRIBUTE_ADDED"),
        (open(a("string")), requiring(open(json!({"a": {"type": "string", "default": ""}})), "a"), ""),
        (requiring(open(a("string")), "a"), open(a("string")), ""),
        (json!({"type": "object"}), dependent("dependencies", json!(["b"])), "DEPENDENCY_ARRAY_ADDED"),
        (
            dependent("dependentRequired", json!(["b"])),
            dependent("dependentRequired", json!(["b", "c"])),
            "DEPENDENCY_ARRAY_EXTENDED",
        ),
        (dependent("dependencies", json!(["b", "c"])), dependent("dependencies", json!(["b"])), ""),
        (
            json!({"type": "object"}),
            dependent("dependentSchemas", json!({"type": "object"})),
            "DEPENDENCY_SCHEMA_ADDED",
        ),
        (
            dependent("dependencies", json!({"minProperties": 1})),
            dependent("dependencies", json!({"minProperties": 2})),
            "MIN_PROPERTIES_INCREASED",
        ),
    ]);
}

#[test]
fn items_are_compared_by_the_same_content_models() {
    let list = |items: Value| json!({"type": "array", "items": items});
    let tuple = |items: Value, rest: Value| json!({"type": "array", "items": items, "additionalItems": rest});
    let prefix = |items: Value, rest: Value| json!({"type": "array", "prefixItems": items, "items": rest});
    let (one, two) = (json!([{"type": "string"}]), json!([{"type": "string"}, {"type": "integer"}]));
    check(&[
        (list(json!({"type": "integer"})), list(json!({"type": "number"})), ""),
        (list(json!({"type": "number"})), list(json!({"type": "integer"})), "TYPE_NARROWED"),
        (json!({"type": "array"}), list(json!({"type": "string"})), "SCHEMA_ADDED"),
        (list(json!({"type": "string"})), json!({"type": "array"}), ""),
        (
            tuple(one.clone(), json!(true)),
            tuple(two.clone(), json!(true)),
            "ITEM_ADDED_TO_OPEN_CONTENT_MODEL",
        ),
        (tuple(two.clone(), json!(true)), tuple(one.clone(), json!(true)), ""),
        (tuple(one.clone(), json!(false)), tuple(two.clone(), json!(false)), ""),
        (
            prefix(two.clone(), json!(false)),
            prefix(one.clone(), json!(false)),
            "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        ),
        (
            prefix(one.clone(), json!({"type": "integer"})),
            prefix(two.clone(), json!({"type": "integer"})),
            "",
        ),
        (
            prefix(one.clone(), json!({"type": "string"})),
            prefix(two.clone(), json!({"type": "string"})),
            "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        ),
        (
            prefix(two, json!({"type": "string"})),
            prefix(one.clone(), json!({"type": "string"})),
            "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        ),
        (prefix(one.clone(), json!(true)), prefix(one, json!(false)), "ADDITIONAL_ITEMS_REMOVED"),
        (json!({"additionalItems": true}), json!({"additionalItems": false}), "ADDITIONAL_ITEMS_REMOVED"),
        (list(json!(true)), list(json!(false)), "ADDITIONAL_ITEMS_REMOVED"),
        (json!({"type": "array"}), json!({"type": "array", "contains": {"type": "string"}}), "SCHEMA_ADDED"),
    ]);
}

#[test]
fn values_and_negations_may_permit_more() {
    let of = |values: Value| json!({"enum": values});
    let not = |ty: Value| json!({"not": {"type": "string", "maxLength": ty}});
    check(&[
        (of(json!(["a"])), of(json!(["a", "b"])), ""),
        (of(json!(["a", "b"])), of(json!(["a"])), "ENUM_ARRAY_NARROWED"),
        (of(json!(["a", "b"])), of(json!(["a", "c"])), "ENUM_ARRAY_CHANGED"),
        (json!({"const": "a"}), of(json!(["a", "b"])), ""),
        (json!({"const": "a"}), json!({"const": "b"}), "ENUM_ARRAY_CHANGED"),
        (json!({"type": "string", "enum": ["a"]}), json!({"type": "string"}), ""),
        (json!({"type": "string"}), json!({"type": "string", "enum": ["a"]}), "TYPE_CHANGED"),
        (json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a", "b"]}), ""),
        (not(json!(3)), not(json!(2)), ""),
        (not(json!(2)), not(json!(3)), "NOT_TYPE_EXTENDED"),
    ]);
}

#[test]
fn sums_may_gain_members_and_products_lose_them() {
    let types = |names: Value| json!({"type": names});
    let (string, integer, nothing) = (types(json!("string")), types(json!("integer")), types(json!("null")));
    let (one_of, any_of) = (|m: Value| json!({"oneOf": m}), |m: Value| json!({"anyOf": m}));
    let all_of = |members: Value| json!({"allOf": members});
    let (short, long) =
        (json!({"type": "string", "maxLength": 2}), json!({"type": "string", "maxLength": 9}));
    let object = json!({"type": "object", "minProperties": 1});
    check(&[
        (string.clone(), types(json!(["string", "null"])), ""),
        (types(json!(["string", "null"])), string.clone(), "TYPE_CHANGED"),
        (types(json!(["string"])), string.clone(), ""),
        (types(json!(["integer", "null"])), types(json!(["null", "number", "string"])), ""),
        (types(json!(["null", "integer", "string"])), types(json!(["string", "null"])), "SUM_TYPE_NARROWED"),
        (one_of(json!([string, integer])), one_of(json!([integer, string, nothing])), ""),
        (
            one_of(json!([string, integer])),
            one_of(json!([string, nothing])),
            "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
        ),
        // Each member needs a partner of its own.
        (one_of(json!([short, long])), one_of(json!([long, integer])), "COMBINED_TYPE_SUBSCHEMAS_CHANGED"),
        (one_of(json!([short, long])), one_of(json!([long, string])), ""),
        (one_of(json!([string, integer])), any_of(json!([string, integer])), ""),
        (any_of(json!([string, integer])), one_of(json!([string, integer])), "COMBINED_TYPE_CHANGED"),
        (one_of(json!([string])), string.clone(), ""),
        (all_of(json!([string])), all_of(json!([string, string])), ""),
        (one_of(json!([string, integer])), one_of(json!([string])), "SUM_TYPE_NARROWED"),
        (all_of(json!([object])), all_of(json!([object, {"maxProperties": 3}])), "PRODUCT_TYPE_EXTENDED"),
        (any_of(json!([string])), one_of(json!([string, integer])), ""),
        (all_of(json!([string])), one_of(json!([string])), ""),
        (one_of(json!([string])), all_of(json!([string])), ""),
        (one_of(json!([string])), all_of(json!([string, object])), "COMBINED_TYPE_CHANGED"),
        (string.clone(), all_of(json!([string])), ""),
        (string, any_of(json!([integer, nothing])), "TYPE_CHANGED"),
        (all_of(json!([object, {"maxProperties": 3}])), object.clone(), ""),
        (all_of(json!([object, {"maxProperties": 3}])), all_of(json!([object, {"maxProperties": 4}])), ""),
        (
            all_of(json!([object, {"maxProperties": 3}])),
            all_of(json!([object, {"maxProperties": 3}, {"required": ["a"]}])),
            "PRODUCT_TYPE_EXTENDED",
        ),
        (
            any_of(json!([object, integer])),
            all_of(json!([object, {"maxProperties": 3}])),
            "COMBINED_TYPE_CHANGED",
        ),
    ]);
}

#[test]
fn references_are_followed() {
    let node = |ty: &str| {
        json!({"$ref": "#/definitions/node", "definitions": {"node": {
            "type": "object", "properties": {"value": {"type": ty}, "next": {"$ref": "#/definitions/node"}}}}})
    };
    let anchored = json!({"$ref": "#it", "$defs": {"x": {"$anchor": "it", "type": "string"}}});
    check(&[
        (node("integer"), node("number"), ""),
        (node("number"), node("integer"), "TYPE_NARROWED"),
        (node("string"), node("integer"), "TYPE_CHANGED"),
        (json!({"type": "string"}), anchored.clone(), ""),
        (anchored, json!({"type": "integer"}), "TYPE_CHANGED"),
        (json!({"$ref": "other.json"}), json!({"$ref": "other.json"}), ""),
        (json!({"$ref": "other.json"}), json!({"$ref": "another.json"}), "TYPE_CHANGED"),
        (json!({"$ref": "#"}), json!({"$ref": "#"}), ""),
    ]);
    let named = |text: &str| {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "a.json#/$defs/b"}}});
        JsonSchema::parse(&schema.to_string(), &[("a.json", text)]).unwrap()
    };
    let (old, new) = (r#"{"$defs": {"b": {"type": "number"}}}"#, r#"{"$defs": {"b": {"type": "integer"}}}"#);
    assert!(differences(&named(new), &named(old), false).is_empty());
    assert_eq!(differences(&named(old), &named(new), false)[0].at, "#/properties/a");
}

#[test]
fn the_lenient_policy_permits_what_breaks_unusual_documents_only() {
    let a = json!({"a": {"type": "integer"}});
    let both = json!({"a": {"type": "integer"}, "b": {"type": "string"}});
    let number = json!({"a": {"type": "string"}});
    let cases = [
        (open(a.clone()), open(both.clone()), true),
        (closed(both), closed(a.clone()), true),
        (open(a.clone()), closed(a.clone()), true),
        (open(a), open(number), false),
    ];
    for (old, new, expected) in cases {
        let [one, other] = [&old, &new].map(|schema| JsonSchema::parse(&schema.to_string(), &[]).unwrap());
        let found = differences(&one, &other, true);
        assert_eq!(found.is_empty(), expected, "{old} -> {new}: {found:?}");
        assert!(!kinds(&old, &new).is_empty());
    }
}

/// Sums of which each has the one before it twice.
fn doubling(leaf: &Value, count: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    definitions.insert("d0".to_owned(), leaf.clone());
    for number in 1..count {
        let below =
            json!({"type": "object", "properties": {"a": {"$ref": format!("#/$defs/d{}", number - 1)}}});
        let other = json!({"anyOf": [{"$ref": format!("#/$defs/d{}", number - 1)}, below]});
        definitions.insert(format!("d{number}"), json!({"oneOf": [below, other]}));
    }
    json!({"$ref": format!("#/$defs/d{}", count - 1), "$defs": definitions})
}

/// Objects of which each has the one before it as a property.
fn chain(leaf: &Value, count: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    definitions.insert("d0".to_owned(), leaf.clone());
    for number in 1..count {
        let below = json!({"$ref": format!("#/$defs/d{}", number - 1)});
        let object = json!({"type": "object", "properties": {"a": below}, "additionalProperties": false});
        definitions.insert(format!("d{number}"), object);
    }
    json!({"$ref": format!("#/$defs/d{}", count - 1), "$defs": definitions})
}

#[test]
fn deep_schemas_take_a_bounded_stack() {
    let compare = || {
        let [string, integer] = [json!({"type": "string"}), json!({"type": "integer"})];
        assert_eq!(kinds(&chain(&string, 1_000), &chain(&integer, 1_000)), ["TOO_LARGE"]);
        assert_eq!(kinds(&chain(&string, 30), &chain(&integer, 30)), ["TYPE_CHANGED"]);
    };
    // Half of that of the threads which serve requests.
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(compare).unwrap().join().unwrap();
}

#[test]
fn hostile_schemas_take_bounded_work() {
    let found =
        kinds(&doubling(&json!({"type": "string"}), 200), &doubling(&json!({"type": "integer"}), 200));
    assert!((1..=MAX_DIFFERENCES).contains(&found.len()), "{found:?}");
    let cyclic = json!({"allOf": [{"$ref": "#"}]});
    assert!(!kinds(&cyclic, &json!({"type": "string"})).is_empty());
    let exclusive = json!({"not": {"$ref": "#"}});
    assert!(kinds(&exclusive, &exclusive).len() <= 1);
    let many = |first: usize| {
        let members: Vec<Value> = (first..first + 1_000).map(|value| json!({"const": value})).collect();
        json!({"oneOf": members})
    };
    assert_eq!(kinds(&many(0), &many(500)), ["TOO_LARGE"]);
    let patterns: serde_json::Map<String, Value> =
        (0..5_000).map(|number| (format!("^p{number}"), json!({}))).collect();
    let patterned = json!({"type": "object", "patternProperties": patterns, "properties": {"a": {}}});
    assert_eq!(kinds(&patterned, &patterned), ["TOO_LARGE"]);
    let deep = format!("{}{}", r#"{"not":"#.repeat(10_000), "}".repeat(10_000));
    assert!(JsonSchema::parse(&deep, &[]).unwrap_err().contains("recursion limit"));
}

//! Proves: data of older and newer writers' schemas are read with the reader's schema, also within one column.
//! Each result is what Java's `GenericDatumReader` gives.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;

use crate::support::*;

fn record(fields: &str) -> String {
    format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#)
}

#[test]
fn fields_are_added_removed_reordered_renamed_and_promoted() {
    let old = record(
        r#"{"name": "a", "type": "int"}, {"name": "gone", "type": {"type": "map", "values": "string"}},
           {"name": "old", "type": "string"}"#,
    );
    let new = record(
        r#"{"name": "new", "type": "string", "aliases": ["old"]}, {"name": "a", "type": "double"},
           {"name": "added", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
           {"name": "text", "type": ["null", "string"], "default": null}"#,
    );
    let mut decoder = decoder(&new, &[(1, &old), (2, &new)]);
    let gone = [long(1), bytes(b"k"), bytes(b"v"), long(0)].concat();
    let older = with_id(1, &[&long(3), &gone, &bytes(b"x")]);
    let newer = with_id(2, &[&bytes(b"y"), &2.5_f64.to_le_bytes(), &long(0), &long(0)]);
    let rows = [Some(older.clone()), Some(newer), None, Some(older)];
    let column = decode_struct(&mut decoder, &rows);
    let texts: Vec<_> = column.column(0).as_string::<i32>().iter().collect();
    assert_eq!(texts, [Some("x"), Some("y"), None, Some("x")]);
    let numbers = column.column(1).as_primitive::<Float64Type>();
    assert_eq!((numbers.value(0), numbers.value(1)), (3.0, 2.5));
    let added = column.column(2).as_list::<i32>();
    assert_eq!(added.value(0).as_primitive::<Int32Type>().values(), &[1, 2]);
    assert_eq!(added.value(1).len(), 0);
}

#[test]
fn nested_records_evolve_in_arrays_maps_and_unions() {
    let inner_old = r#"{"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}"#;
    let inner_new = r#"{"type": "record", "name": "I", "fields": [
        {"name": "y", "type": "string", "default": "d"}, {"name": "x", "type": "long"}]}"#;
    let outer = |inner: &str| {
        record(&format!(
            r#"{{"name": "list", "type": {{"type": "array", "items": {inner}}}}},
               {{"name": "map", "type": {{"type": "map", "values": "I"}}}},
               {{"name": "maybe", "type": ["null", "I"]}}"#
        ))
    };
    let mut decoder = decoder(&outer(inner_new), &[(1, &outer(inner_old))]);
    let list = [long(2), long(7), long(8), long(0)].concat();
    let map = [long(1), bytes(b"k"), long(9), long(0)].concat();
    let column = decode_struct(&mut decoder, &[Some(with_id(1, &[&list, &map, &long(1), &long(10)])), None]);
    let list = column.column(0).as_list::<i32>().value(0);
    assert_eq!(list.as_struct().column(1).as_primitive::<Int64Type>().values(), &[7, 8]);
    assert_eq!(list.as_struct().column(0).as_string::<i32>().value(1), "d");
    let map = column.column(1).as_map().value(0);
    assert_eq!(map.column(0).as_string::<i32>().value(0), "k");
    assert_eq!(map.column(1).as_struct().column(1).as_primitive::<Int64Type>().value(0), 9);
    let maybe = column.column(2).as_struct();
    assert_eq!(maybe.column(1).as_primitive::<Int64Type>().value(0), 10);
}

#[test]
fn enums_and_unions_evolve() {
    let symbols = |symbols: &str, default: &str| {
        record(&format!(
            r#"{{"name": "e", "type": {{"type": "enum", "name": "E", "symbols": {symbols}{default}}}}}"#
        ))
    };
    let reader = symbols(r#"["B", "A", "UNKNOWN"]"#, r#", "default": "UNKNOWN""#);
    let mut reordered = decoder(&reader, &[(1, &symbols(r#"["A", "B", "C"]"#, ""))]);
    let rows: Vec<_> = (0..3).map(|symbol| Some(with_id(1, &[&long(symbol)]))).collect();
    let column = decode_struct(&mut reordered, &rows);
    let values: Vec<_> = column.column(0).as_string::<i32>().iter().flatten().collect();
    assert_eq!(values, ["A", "B", "UNKNOWN"]);
    let mut strict = decoder(&symbols(r#"["A"]"#, ""), &[(1, &symbols(r#"["A", "B"]"#, ""))]);
    let decoded = decode(&mut strict, &rows[..2]);
    assert_eq!(only_error(&decoded).0, 1);

    let field = |ty: &str| record(&format!(r#"{{"name": "u", "type": {ty}}}"#));
    let mut nullable = decoder(&field(r#"["null", "long"]"#), &[(1, &field(r#""int""#))]);
    let column = decode_struct(&mut nullable, &[Some(with_id(1, &[&long(4)]))]);
    assert_eq!(column.column(0).as_primitive::<Int64Type>().value(0), 4);
    let mut required = decoder(&field(r#""long""#), &[(1, &field(r#"["null", "long"]"#))]);
    let rows = [Some(with_id(1, &[&long(1), &long(4)])), Some(with_id(1, &[&long(0)]))];
    let decoded = decode(&mut required, &rows);
    assert_eq!(only_error(&decoded).0, 1, "a null where the reader has none");
}

#[test]
fn a_schema_that_does_not_match_is_an_error_of_its_rows() {
    let reader = record(r#"{"name": "a", "type": "int"}"#);
    for (writer, expected) in [
        (
            record(r#"{"name": "b", "type": "int"}"#),
            "the reader's field R.a is not written and has no default",
        ),
        (record(r#"{"name": "a", "type": "string"}"#), "R.a: the writer has string, the reader int"),
        (record(r#"{"name": "a", "type": "long"}"#), "R.a: the writer has long, the reader int"),
        (r#""int""#.to_owned(), "the writer has int, the reader R"),
        ("{".to_owned(), "not a valid Avro schema"),
    ] {
        let mut decoder = decoder(&reader, &[(1, &writer), (2, &reader)]);
        let decoded = decode(&mut decoder, &[Some(with_id(1, &[&long(1)])), Some(with_id(2, &[&long(2)]))]);
        let (row, reason) = only_error(&decoded);
        assert_eq!(row, 0);
        assert!(reason.starts_with("schema 1: ") && reason.contains(expected), "{reason}");
        assert_eq!(decoded.array.as_struct().column(0).as_primitive::<Int32Type>().value(1), 2);
    }
}

#[test]
fn an_alias_does_not_win_over_the_exact_name() {
    let a = r#"{"name": "a", "type": "int"}"#;
    let b = r#"{"name": "b", "type": "int", "default": 7, "aliases": ["a"]}"#;
    for fields in [[a, b], [b, a]] {
        let mut decoder = decoder(&record(&fields.join(", ")), &[(1, &record(a))]);
        let column = decode_struct(&mut decoder, &[Some(with_id(1, &[&long(5)]))]);
        let value = |name| column.column_by_name(name).unwrap().as_primitive::<Int32Type>().value(0);
        assert_eq!((value("a"), value("b")), (5, 7));
    }
    // The writer has the alias and the name.
    let both = record(&format!(r#"{a}, {{"name": "b", "type": "int"}}"#));
    let mut renamed = decoder(&record(b), &[(1, &both)]);
    let column = decode_struct(&mut renamed, &[Some(with_id(1, &[&long(5), &long(6)]))]);
    assert_eq!(column.column(0).as_primitive::<Int32Type>().values(), &[6]);
    // Types, too: the alias of one is the name of another one.
    let of = |first: &str, second: &str| {
        record(&format!(r#"{{"name": "u", "type": ["null", {first}, {second}]}}"#))
    };
    let fixed = |name: &str, size: usize, more: &str| {
        format!(r#"{{"type": "fixed", "name": "{name}", "size": {size}{more}}}"#)
    };
    let reader = of(&fixed("N", 2, r#", "aliases": ["O"]"#), &fixed("O", 2, ""));
    let mut decoder = decoder(&reader, &[(1, &of(&fixed("P", 3, ""), &fixed("O", 2, "")))]);
    let column = decode_struct(&mut decoder, &[Some(with_id(1, &[&long(2), b"xy"]))]);
    let members = column.column(0).as_struct();
    assert_eq!((members.column(0).null_count(), members.column(1).null_count()), (1, 0));
}

//! Proves: an inferred type is that of all samples, and holds them.

use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field};
use ottla_schema::infer_json_field;

use crate::support::*;

fn infer(samples: &[&str]) -> Field {
    infer_json_field(samples.iter().map(|sample| sample.as_bytes())).unwrap()
}

/// A short form: `t` is JSON text.
fn form(field: &Field) -> String {
    let inner = match field.data_type() {
        DataType::Utf8 if !field.metadata().is_empty() => "t".to_owned(),
        DataType::Utf8 => "s".to_owned(),
        DataType::Int64 => "i".to_owned(),
        DataType::Float64 => "f".to_owned(),
        DataType::Boolean => "b".to_owned(),
        DataType::List(item) => format!("[{}]", form(item)),
        DataType::Struct(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|field| format!("{}:{}", field.name(), form(field))).collect();
            format!("{{{}}}", fields.join(","))
        }
        other => panic!("{other}"),
    };
    assert!(field.is_nullable());
    inner
}

#[test]
fn a_type_is_what_samples_have_in_common() {
    for (samples, expected) in [
        (&["1", "null", "-2"][..], "i"),
        (&["1", "2.0"], "f"),
        (&["1.5", "1"], "f"),
        (&["9223372036854775808", "1"], "t"),
        (&["9223372036854775808", "1.5", "1"], "f"),
        (&["1e400"], "t"),
        (&["true", "false"], "b"),
        (&[r#""a""#], "s"),
        (&["null"], "t"),
        (&["1", r#""a""#], "t"),
        (&["true", "1"], "t"),
        (&["{}"], "t"),
        (&["[]"], "[t]"),
        (&["[1]", "[null, 2.5]", "[]"], "[f]"),
        (&["[1]", "{}"], "t"),
        (&["[1]", "7"], "t"),
        (&[r#"{"b": 1, "a": null}"#, r#"{"c": "x", "a": [true]}"#], "{b:i,a:[b],c:s}"),
        (&[r#"{"a": {"x": 1}}"#, r#"{"a": {"y": {}}}"#, "null"], "{a:{x:i,y:t}}"),
        (&[r#"{"a": 1}"#, r#"{"a": {"x": 1}}"#], "{a:t}"),
        // What is not JSON is left out.
        (&["{", "1", "x"], "i"),
    ] {
        let field = infer(samples);
        assert_eq!(form(&field), expected, "{samples:?}");
        let mut decoder = new_json(&field).unwrap();
        let good: Vec<&str> = samples.iter().copied().filter(|sample| !["{", "x"].contains(sample)).collect();
        decode_good(&mut decoder, &good);
    }
}

#[test]
fn values_of_several_types_keep_their_text() {
    let samples = [r#"{"a": 1}"#, r#"{"a": "x"}"#, r#"{"a": [1.0]}"#];
    let mut decoder = new_json(&infer(&samples)).unwrap();
    let array = decode_good(&mut decoder, &samples);
    let texts: Vec<_> = array.as_struct().column(0).as_string::<i32>().iter().flatten().collect();
    assert_eq!(texts, ["1", r#""x""#, "[1.0]"]);
}

#[test]
fn samples_are_bounded() {
    let infer = |sample: &str| infer_json_field([sample.as_bytes()]);
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let field = infer(&deep).unwrap();
    assert_eq!(form(&field).matches('[').count(), 59);
    let mut decoder = new_json(&field).unwrap();
    decode_good(&mut decoder, &[&deep]);
    let wide: Vec<String> = (0..10_001).map(|at| format!("\"k{at}\": 1")).collect();
    let error = infer(&format!("{{{}}}", wide.join(","))).unwrap_err().to_string();
    assert!(error.contains("more than 10000 types"), "{error}");
    assert!(infer_json_field([]).unwrap_err().to_string().contains("there are no samples"));
    assert!(infer("{").unwrap_err().to_string().contains("no sample is JSON; the first one: it ends"));
}

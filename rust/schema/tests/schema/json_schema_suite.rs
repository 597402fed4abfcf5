//! Proves: what the official test suite of JSON Schema calls valid is decoded, and encoded to the same value.
//!
//! Here a JSON Schema is a type, so that values that the suite calls invalid may be decoded, too. The suite is that
//! of Python's package jsonschema, whose authors maintain it.

use std::path::Path;

use ottla_schema::{ColumnDecoder, Header, RegisteredSchema, SchemaType, WireFormat};
use serde_json::Value;

use crate::encode_support::{encode, encoder};
use crate::support::*;

const DRAFTS: [&str; 5] = ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"];

/// A case of the suite: a schema with values.
struct Case {
    name: String,
    schema: Value,
    valid: Vec<(String, Value)>,
}

fn cases() -> Vec<Case> {
    let Ok(dir) = std::env::var("OTTLA_ORACLE_DIR") else {
        panic!("OTTLA_ORACLE_DIR is not set: run `make test`, which fetches the suite");
    };
    // The path may be relative to the top of the project.
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(dir).join("json-schema");
    let mut cases = Vec::new();
    for draft in DRAFTS {
        let files = std::fs::read_dir(dir.join(draft));
        let files = files.unwrap_or_else(|e| panic!("{}: {e}: run `make oracle`", dir.display()));
        let mut files: Vec<_> =
            files.map(|file| file.unwrap().path()).filter(|path| path.is_file()).collect();
        files.sort();
        for file in files {
            let groups: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            for group in groups.as_array().unwrap() {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let tests = group["tests"].as_array().unwrap().iter();
                let valid = tests.filter(|test| test["valid"] == true);
                cases.push(Case {
                    name: format!(
                        "{draft}/{}: {}",
                        file.file_name().unwrap().display(),
                        text(&group["description"])
                    ),
                    schema: group["schema"].clone(),
                    valid: valid.map(|test| (text(&test["description"]), test["data"].clone())).collect(),
                });
            }
        }
    }
    cases
}

/// Whether what was encoded is the value, apart from keys that the schema does not have and nulls that it leaves
/// out.
fn is_same(encoded: &Value, value: &Value) -> bool {
    match (encoded, value) {
        (Value::Object(encoded), Value::Object(value)) => {
            encoded.iter().all(|(key, member)| match value.get(key) {
                Some(given) => is_same(member, given),
                None => member.is_null(),
            })
        }
        (Value::Array(encoded), Value::Array(value)) => {
            encoded.len() == value.len() && encoded.iter().zip(value).all(|(a, b)| is_same(a, b))
        }
        (Value::Number(encoded), Value::Number(value)) => encoded.as_f64() == value.as_f64(),
        (encoded, value) => encoded == value,
    }
}

/// Why the suite's schemas are refused.
const REFUSALS: [&str; 3] = [
    // Nothing is fetched, and a registry's references have names.
    "is neither in the document nor in a reference of the schema",
    "is recursive, which Arrow has no type for",
    "allows no value",
];

#[test]
fn valid_values_of_the_suite_are_decoded_and_encoded() {
    let (mut schemas, mut values) = (0, 0);
    for case in cases() {
        let schema = RegisteredSchema::new(SchemaType::Json, case.schema.to_string());
        let mut decoder = match ColumnDecoder::new(&schema, WireFormat::None, Header::Value) {
            Ok(decoder) => decoder,
            Err(error) => {
                let error = error.to_string();
                assert!(REFUSALS.iter().any(|reason| error.contains(reason)), "{}: {error}", case.name);
                continue;
            }
        };
        schemas += 1;
        for (description, value) in case.valid {
            let name = format!("{} / {description}: {value} of {}", case.name, case.schema);
            let decoded = decode_texts(&mut decoder, &[&value.to_string()]);
            if let Some(error) = decoded.errors.first() {
                // A schema with keywords for objects or arrays is taken for one of objects or arrays, as everybody
                // means it, although it allows all other types.
                let error = error.to_string();
                let is_implied = ["expected an object, found", "expected an array, found"];
                let is_implied = is_implied.iter().any(|reason| error.starts_with(reason));
                assert!(is_implied && case.schema.get("type").is_none(), "{name}: {error}");
                continue;
            }
            values += 1;
            let encoded = encode(&encoder(&schema, &decoded.array), &decoded.array);
            let encoded =
                encoded[0].as_ref().map_or(Value::Null, |text| serde_json::from_slice(text).unwrap());
            assert!(is_same(&encoded, &value), "{name}: {encoded}");
        }
    }
    assert!(schemas >= 1_200 && values >= 2_600, "{schemas} schemas, {values} values");
}

//! Proves: data of other writers' schemas become what Avro's own Java library reads (`tests/java/avro`),
//! and what it refuses is refused, apart from the limits below.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use arrow_array::BinaryArray;
use ottla_schema::{ColumnDecoder, SchemaId};
use serde_json::Value;

use crate::avro_canonical::canonical;
use crate::support::*;

const NO_TIME: &str = "after midnight is not a time of day";

/// What Java reads and ottla refuses, only in the cases that are named for it: a part of the error, and the reason.
/// The module documentation of `avro` has the same list.
/// In which case is not known beforehand for a time of day: Java's payloads are any numbers.
const LIMITS: [(&str, &str); 16] = [
    (NO_TIME, "Java's conversion to a LocalTime refuses it, too, and Arrow has no such times"),
    ("is recursive", "Arrow has no recursive types"),
    ("items of an array take no bytes", "nothing bounds their count"),
    ("has no bytes", "Arrow's readers take a size of 0 for an error"),
    ("has no fields", "Arrow's readers do not keep the length of such structs"),
    ("type null has no column type", "Arrow's readers lack a type for it"),
    ("bytes are left after the value", "the payload is not of that schema"),
    ("a boolean is neither", "the payload is not of that schema"),
    ("more bits than its type", "the payload is not of that schema"),
    ("more digits than its precision", "Arrow has no such decimals"),
    ("a duration is longer", "Arrow has no such intervals"),
    ("is not of the type int", "Java cuts off a default that is beyond its type"),
    ("values of decimal(", "they would be wrong by a power of ten"),
    ("values of timestamp-millis are", "they would be wrong by a factor of 1000"),
    ("values of date are", "a number of days is no number of milliseconds"),
    ("values of time-millis are", "they would be wrong by a factor of 1000"),
];

/// What ottla reads and Java refuses, since there an alias wins over the name that the writer has.
const EXACT_NAMES: [&str; 1] = ["a writer with the old and the new name"];

/// The lines that Java wrote.
pub(crate) fn read() -> String {
    let Ok(dir) = std::env::var("OTTLA_ORACLE_DIR") else {
        panic!("OTTLA_ORACLE_DIR is not set: run `make test`, which runs Avro's Java classes");
    };
    // The path may be relative to the top of the project.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(dir).join("avro.jsonl");
    std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}: run `make test`, which makes Java write it", path.display()))
}

/// Decodes hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// What ottla makes of the payloads of a line: a value or an error each.
fn decode_line(line: &Value) -> Vec<Result<Value, String>> {
    let payloads = line["payloads"].as_array().unwrap();
    let rows: Vec<_> =
        payloads.iter().map(|hex| Some(with_id(1, &[&unhex(hex.as_str().unwrap())]))).collect();
    let mut decoder: ColumnDecoder = match try_decoder(&line["reader"].to_string()) {
        Ok(decoder) => decoder,
        Err(error) => return vec![Err(error.to_string()); rows.len()],
    };
    decoder.add(SchemaId::Id(1), &avro(&line["writer"].to_string()));
    let column: BinaryArray = rows.iter().map(Option::as_deref).collect();
    let decoded = decoder.decode(&column, None).unwrap();
    let mut values: Vec<_> = (0..rows.len()).map(|row| Ok(canonical(&decoded.array, row))).collect();
    for error in decoded.errors {
        values[error.row] = Err(error.to_string());
    }
    values
}

#[test]
fn values_are_those_that_java_reads() {
    let (mut report, mut differences, mut values) = (String::new(), 0, 0);
    let mut unused: BTreeSet<&str> = LIMITS.iter().map(|(part, _)| *part).collect();
    for line in read().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let theirs = line["results"].as_array().unwrap();
        let ours = decode_line(&line);
        let may_be_limited = line["name"].as_str().unwrap().starts_with("limit: ");
        assert_eq!(ours.len(), theirs.len());
        for (payload, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            values += 1;
            let refused = theirs.get("error").is_some();
            let is_same = match ours {
                Ok(_) if refused => EXACT_NAMES.contains(&line["name"].as_str().unwrap()),
                Ok(value) => value == theirs,
                Err(_) if refused => true,
                Err(reason) => {
                    let mut limits = LIMITS.iter().filter(|(part, _)| may_be_limited || *part == NO_TIME);
                    let limit = limits.find(|(part, _)| reason.contains(part));
                    limit.inspect(|(part, _)| _ = unused.remove(part)).is_some()
                }
            };
            if !is_same {
                differences += 1;
                if differences <= 20 {
                    let (name, payload) = (&line["name"], &line["payloads"][payload]);
                    let (reader, writer) = (&line["reader"], &line["writer"]);
                    _ = writeln!(
                        report,
                        "\n{name}\n  reader {reader}\n  writer {writer}\n  payload {payload}"
                    );
                    _ = writeln!(report, "  Java {theirs}\n  ottla {ours:?}");
                }
            }
        }
    }
    assert_eq!(differences, 0, "{differences} of {values} values differ, such as{report}");
    assert!(values > 9_000, "{values}");
    assert_eq!(unused, BTreeSet::new(), "limits that no value meets");
}

//! Compares the table of error codes with Java's `Errors`.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::error_code::Class;
use serde_json::Value as Json;

#[test]
fn error_codes_match_java() {
    let json: Vec<Json> = serde_json::from_str(&crate::support::oracle::read("errors.json")).unwrap();
    let theirs: BTreeMap<i64, (&str, Class)> = json
        .iter()
        .map(|row| {
            let class =
                match (row["retriable"].as_bool().unwrap(), row["refreshesMetadata"].as_bool().unwrap()) {
                    (_, true) => Class::Metadata,
                    (true, false) => Class::Retriable,
                    (false, false) => Class::Fatal,
                };
            (row["code"].as_i64().unwrap(), (row["name"].as_str().unwrap(), class))
        })
        .collect();
    let ours: BTreeMap<i64, (&str, Class)> =
        ErrorCode::ALL.iter().map(|e| (e.code().into(), (e.name(), e.class()))).collect();
    println!("{} error codes", theirs.len());
    for (code, row) in &theirs {
        assert_eq!(ours.get(code), Some(row), "error code {code}");
    }
    assert_eq!(ours.len(), theirs.len(), "codes that Java does not have");
    assert_eq!(ErrorCode::ALL.len(), ours.len(), "a code is listed twice");
    for error in ErrorCode::ALL {
        assert_eq!(ErrorCode::from(error.code()), *error);
        assert_eq!(error.is_retriable(), error.class() != Class::Fatal);
    }
}

#[test]
fn unknown_error_codes_are_kept() {
    let newest = ErrorCode::ALL.iter().map(|e| e.code()).max().unwrap();
    for code in [newest + 1, i16::MAX, -2, i16::MIN] {
        assert_eq!(ErrorCode::from(code), ErrorCode::Unknown(code));
        assert_eq!(ErrorCode::from(code).code(), code);
    }
}

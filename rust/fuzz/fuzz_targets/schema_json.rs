//! Fuzzes `bodies::schema_json`, which asserts the invariants.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::schema_json(data));

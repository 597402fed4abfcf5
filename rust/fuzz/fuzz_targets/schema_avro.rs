//! Fuzzes `bodies::schema_avro`, which asserts the invariants.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::schema_avro(data));

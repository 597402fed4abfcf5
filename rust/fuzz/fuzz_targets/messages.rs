//! Fuzzes `bodies::messages`, which asserts the invariants.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::messages(data));

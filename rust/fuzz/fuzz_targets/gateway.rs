//! Fuzzes `bodies::gateway`, which asserts the invariants.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::gateway(data));

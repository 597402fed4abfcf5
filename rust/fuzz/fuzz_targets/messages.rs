//! Fuzzes `bodies::messages`, which says what must hold.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::messages(data));

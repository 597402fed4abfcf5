//! All tests of the protocol in one program; each module states at its top what it tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod decompressor_memory;
mod first_versions;
mod fuzz_corpus;
mod hostile_cases;
mod hostile_messages;
mod layout;
mod open_batch;
mod oracle_errors;
mod oracle_schemas;
mod oracle_vectors;
mod otlp;
mod records_golden;
mod records_hostile;
mod records_plain;
mod records_roundtrip;
mod support;
mod uuid;
mod varint;
mod xxh32;

//! All tests of bytes and messages in one program: a module proves one thing, and says what at its top.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod fuzz_corpus;
mod hostile_cases;
mod hostile_messages;
mod oracle_errors;
mod oracle_schemas;
mod oracle_vectors;
mod records_golden;
mod records_hostile;
mod records_memory;
mod records_plain;
mod records_roundtrip;
mod support;

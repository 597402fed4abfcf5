//! All tests of the conversion between records and Arrow, in one program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod columns;
mod decode;
mod decode_buffer_pool;
mod decode_paths;
mod decode_steps;
mod exported_reader;

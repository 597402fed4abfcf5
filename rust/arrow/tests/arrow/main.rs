//! All tests of the way from records to Arrow in one program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod columns;
mod decode;
mod decode_memory;
mod decode_paths;

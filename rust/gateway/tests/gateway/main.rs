//! All tests of the gateway in one program. Each module proves one thing, which its head names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod clients;
mod closing;
mod seeing;
mod server_names;
mod support;
mod topology;

//! Proves: whatever pieces a connection's bytes arrive in, requests and responses reach the other side, responses with
//! the gateway's addresses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod addresses;
mod fuzz_corpus;
mod requests;
mod responses;

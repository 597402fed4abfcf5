//! All tests of the gateway in one program. Each module proves one thing, which its head names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod clients;
mod closing;
mod fault_hits;
mod fault_routes;
mod fault_support;
mod faults;
mod limits;
mod link_faults;
mod login_bytes;
mod logins;
mod logins_without_headers;
mod marks;
mod reloads;
mod seeing;
mod server_names;
mod support;
mod topology;

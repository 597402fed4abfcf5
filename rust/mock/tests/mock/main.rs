//! All tests of the cluster in the process, in one program: a module an API or a concern.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod admin;
mod brokers;
mod consumer_groups;
mod faults;
mod fetch_sessions;
mod groups;
mod identities;
mod log;
mod offsets;
mod replicas;
mod support;
mod transactions;

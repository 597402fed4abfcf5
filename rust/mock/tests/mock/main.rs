//! All tests of the mock cluster, in one program: a module per API or concern.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod acls;
mod admin;
mod admin_faults;
mod brokers;
mod classic_group_members;
mod classic_groups;
mod client_quotas;
mod cluster_state;
mod configs;
mod consumer_group_requests;
mod consumer_groups;
mod delegation_tokens;
mod discovery;
mod elections;
mod faults;
mod features;
mod fetch_sessions;
mod log;
mod offsets;
mod other_configs;
mod reassignments;
mod replicas;
mod schema_registry;
mod schema_registry_routes;
mod scram_credentials;
mod share_fetch;
mod share_groups;
mod support;
mod transactions;

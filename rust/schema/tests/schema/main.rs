//! Tests of typed columns, as their users call them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod avro;
mod avro_canonical;
mod avro_encode;
mod avro_encode_java;
mod avro_evolution;
mod avro_hostile;
mod avro_java;
mod budget;
mod encode_support;
mod fuzz_corpus;
mod json;
mod json_encode;
mod json_generator;
mod json_hostile;
mod json_inferred;
mod json_random;
mod json_rows;
mod json_schema;
mod json_schema_suite;
mod nesting;
mod projection;
mod projection_random;
mod projection_support;
mod protobuf;
mod protobuf_differential;
mod protobuf_encode;
mod protobuf_encode_random;
mod protobuf_evolution;
mod protobuf_hostile;
mod protobuf_prefixes;
mod protobuf_random;
mod protobuf_support;
mod protobuf_well_known;
mod references;
mod support;

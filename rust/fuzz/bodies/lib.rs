//! The bodies of all fuzz targets. The tests of each crate include those of their crate by path.

#[path = "mod.rs"]
mod protocol;
mod schema;

// The body is beside the streams, which are private.
pub use ottla_gateway::rewriting as gateway;
pub use protocol::{batches, decompress, frames, messages};
pub use schema::{schema_avro, schema_json, schema_protobuf};

//! The bodies of all fuzz targets. The tests of each crate include those of their crate by path.

#[path = "mod.rs"]
mod protocol;
mod schema;

pub use protocol::{batches, decompress, frames, messages};
pub use schema::{schema_avro, schema_json, schema_protobuf};

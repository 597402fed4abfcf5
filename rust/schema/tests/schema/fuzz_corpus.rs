//! Replays the seeds of the fuzz targets of schemas through the targets' bodies.

#[path = "../../../fuzz/bodies/schema.rs"]
#[allow(unreachable_pub, reason = "shared with the fuzz targets")]
pub(crate) mod bodies;

#[path = "../../../fuzz/replay.rs"]
#[allow(unreachable_pub, reason = "shared by several crates")]
mod replay;

use replay::replay;

#[test]
fn schema_avro() {
    replay("schema_avro", bodies::schema_avro);
}

#[test]
fn schema_json() {
    replay("schema_json", bodies::schema_json);
}

#[test]
fn schema_protobuf() {
    replay("schema_protobuf", bodies::schema_protobuf);
}

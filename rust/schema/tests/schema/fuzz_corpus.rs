//! Replays the seeds of the fuzz targets of schemas through the targets' bodies.

#[path = "../../../fuzz/bodies/schema.rs"]
#[allow(unreachable_pub, reason = "shared with the fuzz targets")]
mod bodies;

use std::path::Path;

fn replay(target: &str, body: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(&seeds).unwrap() {
        let path = entry.unwrap().path();
        // A panic does not name the file.
        println!("{}", path.display());
        body(&std::fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count >= 10, "only {count} seeds in {}", seeds.display());
}

#[test]
fn schema_avro() {
    replay("schema_avro", bodies::schema_avro);
}

#[test]
fn schema_protobuf() {
    replay("schema_protobuf", bodies::schema_protobuf);
}

//! Replays the seeds of every fuzz target through the target's body.

#[path = "../../../fuzz/bodies/mod.rs"]
#[allow(unreachable_pub, reason = "shared with the fuzz targets")]
mod bodies;

#[path = "../../../fuzz/replay.rs"]
#[allow(unreachable_pub, reason = "shared by several crates")]
mod replay;

use replay::replay;

#[test]
fn messages() {
    replay("messages", bodies::messages);
}

#[test]
fn frames() {
    replay("frames", bodies::frames);
}

#[test]
fn batches() {
    replay("batches", bodies::batches);
}

#[test]
fn decompress() {
    replay("decompress", bodies::decompress);
}

//! Proves: the seeds of the fuzz target `gateway` break no invariant.

#[path = "../../../../fuzz/replay.rs"]
#[allow(unreachable_pub, reason = "shared by several crates")]
mod replay;

#[test]
fn the_seeds_break_no_invariant() {
    replay::replay("gateway", crate::stream::fuzzing::rewriting);
}

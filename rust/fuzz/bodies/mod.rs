//! What each fuzz target does with an input. Shared by the targets and by the test that replays
//! their seeds, so that a finding stays found.

mod frames;
mod messages;
mod records;

pub use frames::frames;
pub use messages::messages;
pub use records::{batches, decompress};

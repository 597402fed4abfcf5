//! The body of each fuzz target of the protocol, shared with the test that replays the seeds as regression tests.

mod frames;
mod messages;
mod records;

pub use frames::frames;
pub use messages::messages;
pub use records::{batches, decompress};

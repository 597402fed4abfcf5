//! Tasks and threads: a panic as an error, work that blocks, and how often a task walks over its partitions.

pub mod blocking;
pub(crate) mod duty_cycle;
pub mod panics;

//! Helpers for tasks: panics as errors, blocking work, and a limit on passes over many partitions.

pub mod blocking;
pub(crate) mod duty_cycle;
pub mod panics;

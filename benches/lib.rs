//! Inputs shared by the benchmark scenarios.

"""Benchmarks: Rust scenarios (criterion) and the same work done by other clients."""

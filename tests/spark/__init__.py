"""Spark: unit tests with a fake client, and parity tests with Spark's own connector."""

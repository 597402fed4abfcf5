"""Spark: the reader's pure parts with a fake client, and parity with Spark's own connector."""

"""Benchmarks of ottla against Spark's own Kafka connector."""

"""Compares ottla in Spark with Spark's own Kafka connector."""

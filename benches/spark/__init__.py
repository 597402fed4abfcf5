"""Spark and Kafka: ottla beside the connector that Spark has itself."""

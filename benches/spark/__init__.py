"""Spark reading Kafka: ottla beside the connector that Spark has itself."""

"""Compares ottla with other Kafka clients on real brokers."""

"""Test infrastructure: real Kafka brokers, networks, Spark, subprocesses and golden texts."""

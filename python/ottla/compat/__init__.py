"""Stand-ins for other Kafka clients."""

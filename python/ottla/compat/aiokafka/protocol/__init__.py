"""The Kafka protocol, of which only what instrumentation imports is here."""

"""What tests stand on: real Kafka brokers and the jars they come from."""

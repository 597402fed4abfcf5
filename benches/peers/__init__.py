"""The same produce and consume work, done by ottla and by other clients on real brokers."""

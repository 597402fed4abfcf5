"""The suite, in tiers: unit, mock, cluster (real Kafka), fault, spark, network."""

"""`ottla.compat.confluent_kafka` of control runs: confluent-kafka itself."""

from confluent_kafka import Consumer, Producer

__all__ = ["Consumer", "Producer"]

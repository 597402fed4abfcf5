"""All suites, in the order in which they run; one module for each client or framework."""

from __future__ import annotations

from collections.abc import Sequence

from tests.peer_suites.suite import Suite
from tests.peer_suites.suites import aiokafka, confluent_kafka, faststream, kafka_python, registry

SUITES: Sequence[Suite] = (
    *kafka_python.SUITES,
    *aiokafka.SUITES,
    *confluent_kafka.SUITES,
    *registry.SUITES,
    *faststream.SUITES,
)

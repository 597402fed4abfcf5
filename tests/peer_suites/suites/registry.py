"""confluent-kafka's own suite of the schema registry: clients, serializers and rules.

The executors of rules are those of the installed confluent-kafka with both.
"""

from __future__ import annotations

from tests.peer_suites.suite import Broker, Difference, Suite
from tests.peer_suites.suites.confluent_kafka import CHECKOUT, ENVIRONMENT, OPTIONS

_PATCHES = Difference("replaces private functions of the client by name")
_BEARER = "test_bearer_field_provider.py::test_generate_token_retry_logic"

SUITES = (
    Suite(
        name="registry-unit",
        title="confluent-kafka: schema registry, unit tests",
        layer="confluent_kafka",
        source=CHECKOUT,
        venv="confluent-kafka",
        paths=("tests/schema_registry", "tests/avro"),
        goal=0.95,
        plugins=("peer_registry",),
        options=OPTIONS,
        expected={
            f"tests/schema_registry/_async/{_BEARER}": _PATCHES,
            f"tests/schema_registry/_sync/{_BEARER}": _PATCHES,
        },
    ),
    Suite(
        name="registry",
        title="confluent-kafka: schema registry and serializers, integration",
        layer="confluent_kafka",
        source=CHECKOUT,
        venv="confluent-kafka",
        paths=("tests/integration/schema_registry",),
        goal=0.95,
        plugins=("peer_registry", "peer_confluent_kafka"),
        options=OPTIONS,
        environment=ENVIRONMENT,
        broker=Broker(),
    ),
)

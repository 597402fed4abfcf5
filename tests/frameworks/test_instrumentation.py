"""OpenTelemetry's and ddtrace's instrumentation makes the spans that it makes of the originals.

`instrumented` has the programs, which know nothing of ottla. Each span of a record has its topic,
and the header that the producer's instrumentation adds joins it with the consumer's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import Broker
from tests.support.frameworks import Client, Framework, Way

FRAMEWORK = "instrumentation"
PROGRAMS = Path(__file__).with_name("instrumented")

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

Span = dict[str, Any]


def spans(
    framework: Framework, broker: Broker, way: Way, program: str, client: Client
) -> list[Span]:
    """Return the spans of an exchange, with numbers for ids and `topic` for the topic's name."""
    topic = broker.topic("spans")
    output = framework.run(
        way, client, program, client, broker.bootstrap, topic, directory=PROGRAMS
    )
    [line] = [line for line in output.splitlines() if line.startswith("[{")]
    found: list[Span] = json.loads(line.replace(topic, "topic"))
    numbers: dict[int, int] = {}
    for span in found:
        for name in ("trace", "id"):
            numbers.setdefault(span[name], len(numbers))
    return [
        {
            **span,
            "trace": numbers[span["trace"]],
            "id": numbers[span["id"]],
            "parent": numbers.get(span["parent"]),
            "links": [numbers[link] for link in span["links"]],
        }
        for span in found
    ]


@pytest.mark.parametrize(
    ("program", "client", "missing"),
    [
        ("opentelemetry_spans.py", "confluent_kafka", ()),
        ("opentelemetry_spans.py", "aiokafka", ()),
        ("opentelemetry_spans.py", "kafka", ()),
        ("ddtrace_spans.py", "confluent_kafka", ()),
        # ddtrace sends a request of its own for it, with aiokafka's internals.
        ("ddtrace_spans.py", "aiokafka", ("kafka.cluster_id",)),
    ],
)
def test_the_spans_are_those_of_the_original(
    framework: Framework, broker: Broker, program: str, client: Client, missing: tuple[str, ...]
) -> None:
    expected = spans(framework, broker, "original", program, client)
    for span in expected:
        for attribute in missing:
            del span["attributes"][attribute]
    assert spans(framework, broker, "command", program, client) == expected
    produced = [span for span in expected if span["kind"] == "producer"]
    consumed = [span for span in expected if span["kind"] == "consumer"]
    joined = {origin for span in consumed for origin in (span["parent"], *span["links"])}
    assert len(produced) == 2
    for span in produced:
        assert "topic" in span["attributes"].values()
        assert span["id"] in joined

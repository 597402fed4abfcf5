"""Print the spans of an exchange that OpenTelemetry's instrumentation of a client makes, as JSON.

python opentelemetry_spans.py CLIENT BOOTSTRAP TOPIC
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from exchange import EXCHANGES  # type: ignore[import-not-found]  # from this directory
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

INSTRUMENTORS = {
    "confluent_kafka": "ConfluentKafkaInstrumentor",
    "aiokafka": "AIOKafkaInstrumentor",
    "kafka": "KafkaInstrumentor",
}


def described(span: ReadableSpan) -> dict[str, Any]:
    """Return what the test looks at."""
    return {
        "name": span.name,
        "kind": span.kind.name.lower(),
        "attributes": dict(span.attributes or {}),
        "trace": span.context.trace_id,
        "id": span.context.span_id,
        "parent": None if span.parent is None else span.parent.span_id,
        "links": [link.context.span_id for link in span.links],
    }


client, bootstrap, topic = sys.argv[1:]
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
instrumentation = import_module(f"opentelemetry.instrumentation.{client}")
# Otherwise it looks for the distribution of the client.
getattr(instrumentation, INSTRUMENTORS[client])().instrument(
    tracer_provider=provider, skip_dep_check=True
)
EXCHANGES[client](bootstrap, topic)
print(json.dumps([described(span) for span in exporter.get_finished_spans()]))

"""Print the spans of an exchange that ddtrace's patch of a client makes, as JSON.

python ddtrace_spans.py CLIENT BOOTSTRAP TOPIC
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any

from exchange import EXCHANGES  # type: ignore[import-not-found]  # from this directory

# No agent, no telemetry, and no spans of polls without a message, whose number is chance.
os.environ |= {
    "DD_KAFKA_PROPAGATION_ENABLED": "true",
    "DD_KAFKA_EMPTY_POLL_ENABLED": "false",
    "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false",
    "DD_REMOTE_CONFIGURATION_ENABLED": "false",
    "DD_CRASHTRACKING_ENABLED": "false",
}

# ddtrace's names for the clients.
PATCHES = {"confluent_kafka": "kafka", "aiokafka": "aiokafka"}
TAGS = ("kafka.", "messaging.", "span.kind", "component", "error")

ddtrace: Any = import_module("ddtrace")
trace: Any = import_module("ddtrace.trace")
spans: list[dict[str, Any]] = []


class Collector(trace.TraceFilter):  # type: ignore[misc]  # its base has no types here
    """Keeps finished spans, and sends none to an agent."""

    def process_trace(self, finished: Any) -> None:
        """Note the spans of a trace."""
        for span in finished:
            tags = {**span.get_tags(), **span.get_metrics()}
            spans.append(
                {
                    "name": span.name,
                    "kind": span.get_tag("span.kind"),
                    "attributes": {name: tags[name] for name in tags if name.startswith(TAGS)},
                    "trace": span.trace_id,
                    "id": span.span_id,
                    "parent": span.parent_id or None,
                    "links": [link.span_id for link in span._get_links()],
                }
            )


client, bootstrap, topic = sys.argv[1:]
trace.tracer.configure(trace_processors=[Collector()])
ddtrace.patch(**{PATCHES[client]: True})
EXCHANGES[client](bootstrap, topic)
trace.tracer.flush()
print(json.dumps(spans))

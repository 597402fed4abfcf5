"""The traces that the scenarios had with kafka-python itself, and how a trace becomes JSON.

``python -m tests.cluster.kafka_python_layer`` writes ``traces.json``, where kafka-python is
installed. Invariant: a trace has no name that a run has made up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("traces.json")

# Of the topic of each scenario. Records have old timestamps.
PARTITIONS = 4
CONFIG = {"retention.ms": "-1"}


def normalized(trace: list[Any], topic: str) -> Any:
    """Return a trace as JSON has it, with ``topic`` as the topic's name."""
    return json.loads(json.dumps(trace, default=repr).replace(topic, "topic"))


def recorded() -> dict[str, Any]:
    """Return the original's traces, by scenario."""
    traces: dict[str, Any] = json.loads(FILE.read_text())["traces"]
    return traces

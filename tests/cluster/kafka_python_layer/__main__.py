"""Record the original's traces: ``python -m tests.cluster.kafka_python_layer localhost:9092``."""

from __future__ import annotations

import json
import sys
import uuid
from importlib import import_module
from importlib.metadata import version
from typing import Any

from tests.cluster.kafka_python_layer.scenarios import SCENARIOS
from tests.cluster.kafka_python_layer.traces import CONFIG, FILE, PARTITIONS, normalized


def main(bootstrap: str) -> None:
    """Run the scenarios with kafka-python, and write what they return."""
    kafka: Any = import_module("kafka")
    admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
    traces = {}
    for name, scenario in SCENARIOS.items():
        topic = f"{name}-{uuid.uuid4().hex[:8]}"
        new_topic = import_module("kafka.admin").NewTopic(
            topic, PARTITIONS, 1, topic_configs=CONFIG
        )
        admin.create_topics([new_topic])
        traces[name] = normalized(scenario(kafka, bootstrap, topic, f"g-{topic}"), topic)
    admin.close()
    recorded = {"kafka-python": version("kafka-python"), "traces": traces}
    FILE.write_text(json.dumps(recorded, indent=1) + "\n")


main(sys.argv[1])

"""Write the original's traces: ``python -m tests.cluster.aiokafka_layer localhost:9092``."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.cluster.aiokafka_layer.scenarios import SCENARIOS


async def main(bootstrap: str) -> None:
    """Run the scenarios with aiokafka, and write what they return."""
    aiokafka: Any = import_module("aiokafka")
    admin_module: Any = import_module("aiokafka.admin")
    admin = admin_module.AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    traces = {}
    for scenario in SCENARIOS:
        topic = f"{scenario.__name__}-{uuid.uuid4().hex[:8]}"
        configs = {"retention.ms": "-1"}
        new_topics = [
            admin_module.NewTopic(topic, 2, 1, topic_configs=configs),
            admin_module.NewTopic(f"{topic}-out", 1, 1, topic_configs=configs),
        ]
        await admin.create_topics(new_topics)
        traces[scenario.__name__] = await scenario(aiokafka, bootstrap, topic)
    await admin.close()
    text = json.dumps(
        traces, indent=1, default=lambda x: x.decode() if isinstance(x, bytes) else str(x)
    )
    Path(__file__).with_name("traces.json").write_text(text + "\n")


asyncio.run(main(sys.argv[1]))

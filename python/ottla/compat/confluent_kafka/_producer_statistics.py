"""The statistics of a producer as librdkafka's JSON (``stats_cb``).

Invariant: ``msg_cnt`` and ``msg_size`` are what ``len(producer)`` counts.
"""

from __future__ import annotations

import json

import ottla
from ottla.compat.confluent_kafka._producer_queue import ProducerQueue
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._statistics import (
    broker_statistics,
    client_statistics,
    window,
)


def producer_statistics(
    settings: Settings, name: str, started: float, producer: ottla.Producer, queue: ProducerQueue
) -> str:
    """Return the statistics of a producer as JSON."""
    found = client_statistics(settings, name, started, producer.metrics())
    found["msg_cnt"], found["msg_size"] = len(queue), queue.size
    found["msg_max"] = settings.queue_max_messages
    found["msg_size_max"] = settings.queue_max_bytes
    found["brokers"] = broker_statistics(settings, producer.connections())
    for topic, metrics in producer.topic_metrics().items():
        found["topics"][topic] = {
            "topic": topic,
            "age": 0,
            "metadata_age": 0,
            "batchsize": window(None),
            "batchcnt": window(None),
            "txmsgs": int(metrics.get("record-send-total") or 0),
            "txbytes": int(metrics.get("byte-total") or 0),
            "partitions": {},
        }
    return json.dumps(found)

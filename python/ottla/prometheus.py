"""The metrics of clients in Prometheus' text format.

    ottla.prometheus.render({"orders": producer, "billing": consumer})

Names are those of the Java client with the prefix ``kafka_producer_``, ``kafka_consumer_`` or
``kafka_client_``; those of ``ottla.processing`` have ``kafka_processor_``. Invariant: rendering
waits for nothing.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from ottla._core import AsyncClient, AsyncProducer, Client, Producer
from ottla._core import ConsumerBase as _ConsumerBase
from ottla._internal.exposition import Family, exposition
from ottla._internal.metrics import Metrics, ProducerMetrics, TopicMetrics
from ottla.errors import ClosedError

__all__ = ["CONTENT_TYPE", "MeasuredClient", "render"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of the response to a scrape."""

if TYPE_CHECKING:
    from ottla.processing.processor_base import ProcessorBase

MeasuredClient = Client | AsyncClient | Producer | AsyncProducer | _ConsumerBase
"""Any client, producer or consumer."""

_NODE_METRICS = {
    "node-connected": "Whether the connection is open: 1 or 0.",
    "node-requests-in-flight": "Requests that are in flight.",
    "node-round-trip-time-seconds": "Smoothed round-trip time in seconds, without fetches.",
}
_LAG = "Records between the consumer's position and the end of the partition."


def render(clients: Mapping[str, MeasuredClient | ProcessorBase]) -> str:
    """Return the metrics of clients as text, without waiting.

    Values that were not measured yet, and clients that were closed, are left out.

    Args:
        clients: the clients or processors, each by the value of its label ``client_id``.

    Returns:
        The text of a response with the content type ``CONTENT_TYPE``. Samples have the labels
        ``client_id`` and, where they apply, ``topic``, ``partition``, ``node_id`` and ``role``.
    """
    families: dict[str, Family] = {}
    for client_id, client in clients.items():
        try:
            if _is_processor(client):
                prefix, samples = "kafka_processor", list(_processed(client))
            else:
                measured = cast("MeasuredClient", client)
                prefix, samples = _prefix(measured), list(_samples(measured))
        except ClosedError:
            continue
        for name, text, labels, value in samples:
            if math.isnan(value):
                continue
            kind = "counter" if name.endswith("-total") else "gauge"
            family = families.setdefault(
                f"{prefix}_{name.replace('-', '_')}", Family(text or name, kind)
            )
            family.samples.append(({"client_id": client_id, **labels}, value))
    return exposition(families)


def _prefix(client: MeasuredClient) -> str:
    if isinstance(client, (Producer, AsyncProducer)):
        return "kafka_producer"
    return "kafka_consumer" if isinstance(client, _ConsumerBase) else "kafka_client"


def _is_processor(client: object) -> TypeGuard[ProcessorBase]:
    # Without an import: whoever has a processor has imported its module.
    module = sys.modules.get("ottla.processing.processor_base")
    return module is not None and isinstance(client, module.ProcessorBase)


def _processed(client: ProcessorBase) -> Iterator[tuple[str, str, dict[str, str], float]]:
    from ottla.processing.processing_metrics import ProcessingMetrics

    texts = _help(ProcessingMetrics)
    for name, value in _items(client.metrics()):
        yield name, texts[name], {}, value


def _samples(client: MeasuredClient) -> Iterator[tuple[str, str, dict[str, str], float]]:
    """Return the name, the help, the labels and the value of each sample of a client."""
    texts = {**_help(Metrics), **_help(ProducerMetrics)}
    for name, value in _items(client.metrics()):
        yield name, texts.get(name, ""), {}, value
    if isinstance(client, (Producer, AsyncProducer)):
        topic_texts = _help(TopicMetrics)
        for topic, measured in client.topic_metrics().items():
            for name, value in _items(measured):
                yield f"topic-{name}", topic_texts.get(name, ""), {"topic": topic}, value
    if isinstance(client, _ConsumerBase):
        for (topic, partition), lag in client.lag().items():
            if lag is not None:
                yield "records-lag", _LAG, {"topic": topic, "partition": str(partition)}, lag
    for connection in client.connections():
        # Several bootstrap servers would have the same labels.
        if connection.role == "bootstrap":
            continue
        values = (
            float(connection.state == "connected"),
            connection.in_flight,
            connection.round_trip_time,
        )
        labels = {"node_id": str(connection.broker), "role": connection.role}
        for (name, text), number in zip(_NODE_METRICS.items(), values, strict=True):
            if number is not None:
                yield name, text, labels, number


def _items(measured: Any) -> Iterator[tuple[str, float]]:
    return iter(cast("dict[str, float]", measured).items())


@cache
def _help(metrics: type) -> Mapping[str, str]:
    """Return the descriptions of metrics, which the docstring of their type holds."""
    pairs = re.findall(r"^ +([a-z0-9-]+): (.+)$", metrics.__doc__ or "", re.MULTILINE)
    return {name: text[0].upper() + text[1:] for name, text in pairs}

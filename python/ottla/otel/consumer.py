"""The interceptor of consumers: a span for each poll that returns records, linked to their senders.

Invariant: a span has at most ``max_links`` links, whatever the number of records.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind

from ottla import interceptors
from ottla.otel import semantics
from ottla.otel.propagation import creation_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla._core import Record, RecordBatch

_MAX_LINKS = 128


class ConsumerInterceptor(interceptors.ConsumerInterceptor):
    """Traces the polls of one consumer, and measures them.

    Each poll that returns records gets a span ``poll <topic>`` of kind CONSUMER and type
    ``receive``, from the call on, with links to the spans that sent the records. An iteration gets
    one for each record. Polls without records get none, and spans of ``poll_arrow`` have neither
    links nor a topic. To process records in their own traces, use ``ottla.otel.extract``.

    The metrics are ``messaging.client.consumed.messages`` and
    ``messaging.client.operation.duration``.

    Args:
        tracer_provider: Default: the global one.
        meter_provider: Default: the global one.
        max_links: the maximum number of links of a span. Default: 128, also the SDK's limit.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        max_links: int = _MAX_LINKS,
    ) -> None:
        self._telemetry = semantics.Telemetry("poll", "receive", tracer_provider, meter_provider)
        self._consumed = self._telemetry.meter.create_counter(
            "messaging.client.consumed.messages",
            "{message}",
            "Number of messages that were delivered to the application.",
        )
        self._max_links = max_links
        self._started = (time.time_ns(), time.perf_counter())

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the client's id, group and address for the attributes."""
        self._telemetry.configure(configs)

    def on_poll(self) -> None:
        """Remember when the poll began."""
        self._started = (time.time_ns(), time.perf_counter())

    def on_consume(self, records: list[Record[Any, Any]]) -> list[Record[Any, Any]]:
        """Make a span of the poll; the records stay the same."""
        if records:
            topic_partitions = {(record.topic, record.partition) for record in records}
            attributes: semantics.Attributes = {}
            if len(topic_partitions) == 1:
                attributes[semantics.PARTITION] = str(records[0].partition)
            if len(records) == 1:
                attributes[semantics.OFFSET] = records[0].offset
            self._report(Counter(record.topic for record in records), attributes, records)
        return records

    def on_consume_arrow(self, batch: RecordBatch) -> None:
        """Make a span of the poll."""
        self._report({None: batch.num_rows}, {}, [])

    def _links(self, records: list[Record[Any, Any]]) -> list[trace.Link]:
        links: list[trace.Link] = []
        for record in records:
            if len(links) >= self._max_links:
                break
            created = creation_context(record.headers)
            if created is not None:
                links.append(trace.Link(created))
        return links

    def _report(
        self,
        counts: Mapping[str, int] | Mapping[None, int],
        attributes: semantics.Attributes,
        records: list[Record[Any, Any]],
    ) -> None:
        started_at, started = self._started
        topic = next(iter(counts)) if len(counts) == 1 else None
        destination: semantics.Attributes = {} if topic is None else {semantics.DESTINATION: topic}
        span = self._telemetry.tracer.start_span(
            "poll" if topic is None else f"poll {topic}",
            kind=SpanKind.CONSUMER,
            attributes={
                **self._telemetry.span,
                **destination,
                **attributes,
                semantics.MESSAGE_COUNT: sum(counts.values()),
            },
            links=self._links(records),
            start_time=started_at,
        )
        span.end()
        current = trace.set_span_in_context(span)
        for name, count in counts.items():
            named = {} if name is None else {semantics.DESTINATION: name}
            self._consumed.add(count, {**self._telemetry.metric, **named}, current)
        seconds = time.perf_counter() - started
        self._telemetry.duration.record(seconds, {**self._telemetry.metric, **destination}, current)

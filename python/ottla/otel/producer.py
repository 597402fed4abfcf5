"""The interceptor of producers: a span for each record, from ``send`` to its acknowledgement.

Invariant: each span ends once, when its record is acknowledged or fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from opentelemetry import context, metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from ottla.interceptors import ProducerRecord, RecordTracker
from ottla.otel import semantics
from ottla.otel.propagation import creation_context, header_pairs, inject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla._core import RecordMetadata


class ProducerInterceptor(RecordTracker):
    """Traces the records of one producer, and measures its sends.

    Each record gets a span ``send <topic>`` of kind PRODUCER, and its context as headers. A record
    that carries a context already keeps it, and its span links to that context.

    The metrics are ``messaging.client.sent.messages`` and ``messaging.client.operation.duration``.

    Args:
        tracer_provider: Default: the global one.
        meter_provider: Default: the global one.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._telemetry = semantics.Telemetry("send", "send", tracer_provider, meter_provider)
        self._sent = self._telemetry.meter.create_counter(
            "messaging.client.sent.messages",
            "{message}",
            "Number of messages producer attempted to send to the broker.",
        )

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the client's id and address for the attributes."""
        self._telemetry.configure(configs)

    def track(
        self, record: ProducerRecord
    ) -> tuple[ProducerRecord, Callable[[RecordMetadata, BaseException | None], None]]:
        """Start a span, and inject its context."""
        headers = header_pairs(record.headers)
        created = creation_context(headers)
        attributes: dict[str, str | int | bool] = {
            **self._telemetry.span,
            semantics.DESTINATION: record.topic,
        }
        if record.value is None:
            attributes[semantics.TOMBSTONE] = True
        started = time.perf_counter()
        span = self._telemetry.tracer.start_span(
            f"send {record.topic}",
            kind=SpanKind.PRODUCER,
            attributes=attributes,
            links=None if created is None else [trace.Link(created)],
        )
        try:
            if created is None:
                headers = inject(headers, span)
            record = replace(record, headers=headers)
        except BaseException:
            span.end()
            raise
        # Exemplars of metrics refer to the span.
        current = trace.set_span_in_context(span)
        topic = record.topic
        return record, lambda metadata, error: self._end(current, topic, started, metadata, error)

    def _end(
        self,
        current: context.Context,
        topic: str,
        started: float,
        metadata: RecordMetadata,
        error: BaseException | None,
    ) -> None:
        span = trace.get_current_span(current)
        attributes = {**self._telemetry.metric, semantics.DESTINATION: topic}
        if metadata.partition >= 0:
            span.set_attribute(semantics.PARTITION, str(metadata.partition))
        if metadata.offset is not None:
            span.set_attribute(semantics.OFFSET, metadata.offset)
        if error is not None:
            attributes[semantics.ERROR_TYPE] = semantics.error_type(error)
            span.set_attribute(semantics.ERROR_TYPE, semantics.error_type(error))
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, str(error)))
        span.end()
        self._sent.add(1, attributes, current)
        self._telemetry.duration.record(time.perf_counter() - started, attributes, current)

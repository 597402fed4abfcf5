"""The interceptor of processors: metrics of what came of records, and of the handler's duration.

Invariant: a metric of the conventions has its name and meaning; others begin with ``ottla.``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from opentelemetry import metrics

from ottla.otel import processor_gauges, semantics
from ottla.processing import observing

if TYPE_CHECKING:
    from ottla.processing import HandledRecords, ProcessingMetrics

# Seconds; a handler may take much longer than an operation of a client.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class ProcessorInterceptor(observing.ProcessorInterceptor):
    """Measures what came of the records of one processor.

    The metrics of the conventions are ``messaging.process.duration``, the time that the handler
    takes, and ``messaging.client.consumed.messages``. There is none for the others, which are
    ``ottla.processor.handled.messages``, ``.retried.messages``, ``.dead_lettered.messages``,
    ``.aborted.transactions``, ``.waiting.messages``, ``.blocked.partitions`` and
    ``.retry.wait_time``.

    Args:
        meter_provider: Default: the global one.
    """

    def __init__(self, *, meter_provider: metrics.MeterProvider | None = None) -> None:
        self._provider = meter_provider
        self._meter = semantics.meter(meter_provider)
        self._metric: semantics.Attributes = {}
        self._duration = self._meter.create_histogram(
            "messaging.process.duration",
            "s",
            "Duration of processing operation.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )
        self._consumed = self._meter.create_counter(
            "messaging.client.consumed.messages",
            "{message}",
            "Number of messages that were delivered to the application.",
        )
        self._handled = self._counter("handled.messages", "Number of messages that were handled.")
        self._retried = self._counter(
            "retried.messages", "Number of messages that failed and wait for another attempt."
        )
        self._dead_lettered = self._counter(
            "dead_lettered.messages", "Number of messages that were written to dead letters."
        )
        self._aborted = self._meter.create_counter(
            "ottla.processor.aborted.transactions",
            "{transaction}",
            "Number of transactions that failed and were repeated.",
        )

    def configure(
        self, configs: Mapping[str, str], metrics: Callable[[], ProcessingMetrics]
    ) -> None:
        """Take the group and address for the attributes, and measure what waits."""
        self._metric = {
            semantics.SYSTEM: "kafka",
            semantics.OPERATION_NAME: "process",
            **semantics.identity(configs),
        }
        processor_gauges.measure(self._provider, metrics, self._metric)

    def on_handled(self, handled: HandledRecords) -> None:
        """Measure a call of the handler."""
        attributes: semantics.Attributes = {
            **self._metric,
            semantics.DESTINATION: handled.topic,
        }
        self._handled.add(handled.succeeded, attributes)
        self._retried.add(handled.retried, attributes)
        self._dead_lettered.add(handled.dead_lettered, attributes)
        if handled.is_aborted:
            self._aborted.add(1, attributes)
        if handled.error is not None:
            attributes = {**attributes, semantics.ERROR_TYPE: semantics.error_type(handled.error)}
        if handled.records:
            self._duration.record(handled.seconds, attributes)
            self._consumed.add(handled.records, attributes)

    def _counter(self, name: str, text: str) -> metrics.Counter:
        return self._meter.create_counter(f"ottla.processor.{name}", "{message}", text)

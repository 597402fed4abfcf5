"""OpenTelemetry's SDK in memory: the spans and metrics of a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler

from ottla import otel


class _Started(SpanProcessor):
    """Counts the spans that were started."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        self.count += 1


class Telemetry:
    """Providers for the interceptors, and what they recorded."""

    def __init__(self, sampler: Sampler = ALWAYS_ON) -> None:
        self._exporter = InMemorySpanExporter()
        self._started = _Started()
        self._reader = InMemoryMetricReader()
        self.tracer_provider = TracerProvider(sampler=sampler)
        self.tracer_provider.add_span_processor(self._started)
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meter_provider = MeterProvider([self._reader])
        self.tracer = self.tracer_provider.get_tracer("test")

    def producer(self) -> otel.ProducerInterceptor:
        """Return an interceptor for a producer."""
        return otel.ProducerInterceptor(
            tracer_provider=self.tracer_provider, meter_provider=self.meter_provider
        )

    def consumer(self, **options: Any) -> otel.ConsumerInterceptor:
        """Return an interceptor for a consumer."""
        return otel.ConsumerInterceptor(
            tracer_provider=self.tracer_provider, meter_provider=self.meter_provider, **options
        )

    def processor(self) -> otel.ProcessorInterceptor:
        """Return an interceptor for a processor."""
        return otel.ProcessorInterceptor(meter_provider=self.meter_provider)

    def spans(self, prefix: str = "") -> Sequence[ReadableSpan]:
        """Return the ended spans whose names begin with a prefix, in the order of their starts."""
        ended = self._exporter.get_finished_spans()
        ended = tuple(sorted(ended, key=lambda span: span.start_time or 0))
        return [span for span in ended if span.name.startswith(prefix)]

    def open_spans(self) -> int:
        """Return the number of spans that were started and have not ended."""
        return self._started.count - len(self._exporter.get_finished_spans())

    def points(self, name: str) -> list[Any]:
        """Return the data points of a metric."""
        data = self._reader.get_metrics_data()
        metrics = (
            metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        )
        return [
            point for metric in metrics if metric.name == name for point in metric.data.data_points
        ]


def context(span: ReadableSpan) -> tuple[int, int]:
    """Return the ids of a span's trace and of the span."""
    found = span.context
    assert found is not None
    return found.trace_id, found.span_id


def linked(span: ReadableSpan) -> list[tuple[int, int]]:
    """Return the ids of a span's links, as ``context`` does."""
    return [(link.context.trace_id, link.context.span_id) for link in span.links]

"""OpenTelemetry for producers, consumers and processors, as interceptors; needs ``ottla[otel]``.

    ottla.Producer("kafka:9092", interceptors=[ottla.otel.ProducerInterceptor()])
    ottla.Consumer("kafka:9092", interceptors=[ottla.otel.ConsumerInterceptor()])
    ottla.processing.Processor(..., interceptors=[ottla.otel.ProcessorInterceptor()])

Spans, attributes and metrics follow OpenTelemetry's conventions for messaging. The context of a
trace travels in the headers of records, in the format of the configured propagator: W3C's
``traceparent`` by default. Keys and values never become part of a span.

- ``semantics``: names, attributes and instruments; ``propagation``: contexts in headers.
- ``producer``, ``consumer``, ``processor``: the interceptors; ``processor_gauges``: what waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla._internal.extras import require
from ottla._internal.loading import load_later

if TYPE_CHECKING:
    from ottla.otel.consumer import ConsumerInterceptor
    from ottla.otel.processor import ProcessorInterceptor
    from ottla.otel.producer import ProducerInterceptor
    from ottla.otel.propagation import extract

require("ottla.otel", "otel")

__all__ = ["ConsumerInterceptor", "ProcessorInterceptor", "ProducerInterceptor", "extract"]

if not TYPE_CHECKING:  # type checkers would take every name as defined
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "ConsumerInterceptor": "consumer",
            "ProcessorInterceptor": "processor",
            "ProducerInterceptor": "producer",
            "extract": "propagation",
        },
        extra="otel",
    )

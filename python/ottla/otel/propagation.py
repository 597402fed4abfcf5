"""Contexts of traces in the headers of records, by the configured propagator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry import propagate, trace
from opentelemetry.context import Context, get_current

from ottla._core import Record


def extract(record: Record[Any, Any]) -> Context:
    """Return the context that a record carries, to process the record in a span of its trace.

    Args:
        record: a consumed record.

    Returns:
        The context of the span that sent it, for ``start_as_current_span(context=...)``; the
        current context if the record carries none.
    """
    return propagate.extract(_carrier(record.headers), get_current())


def header_pairs(headers: Any) -> list[tuple[str, Any]]:
    """Return the headers of a record to send as a list, which can be read more than once."""
    return list(headers.items() if isinstance(headers, Mapping) else headers or ())


def creation_context(headers: Sequence[tuple[str, Any]]) -> trace.SpanContext | None:
    """Return the context in which a record was created, if its headers carry a valid one."""
    carrier = _carrier(headers)
    if not carrier:
        return None
    # Without an empty context, the current span would be the default.
    context = trace.get_current_span(propagate.extract(carrier, Context())).get_span_context()
    return context if context.is_valid else None


def inject(headers: Sequence[tuple[str, Any]], span: trace.Span) -> list[tuple[str, Any]]:
    """Return the headers with the context of a span, in place of an earlier one."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier, trace.set_span_in_context(span))
    kept = [(name, value) for name, value in headers if name not in carrier]
    return [*kept, *((name, value.encode()) for name, value in carrier.items())]


def _carrier(headers: Sequence[tuple[str, Any]]) -> dict[str, str]:
    """Return the headers that the propagator reads; the last one of each name, as in Java."""
    if not headers:
        return {}
    fields = propagate.get_global_textmap().fields
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value
        for name, value in headers
        if name in fields and isinstance(value, (bytes, str))
    }

"""The options of a write: where records go, the producer's settings, and what is refused.

Called by ``source`` wherever Spark builds a writer, so parsing is pure and cheap. Invariant: an
option that is not understood is an error, never ignored; a ``kafka.*`` value, which may be a
secret, appears in no message and no ``repr``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.spark.options.option_values import (
    BOOTSTRAP,
    QUERY_OPTIONS,
    check_names,
    flag,
    kafka_config,
    lowered,
    row_of,
    text_of,
)

SINK_OPTIONS = (
    BOOTSTRAP,
    "topic",
    "includeTimestamp",
    "reportPath",
    # Without effect: headers are written if their column is there, as by Spark's sink.
    "includeHeaders",
    *QUERY_OPTIONS,
)

_MEANT = {
    "topics": "topic",
    "subscribe": "topic",
    "path": "topic",
    "servers": BOOTSTRAP,
}

# A task writes much at once, and a flush ends it, which waits for no linger: large batches cost
# nothing but memory, of which buffer.memory remains the bound.
_BULK = {"batch.size": "500000", "linger.ms": "100"}

_REFUSED = {
    "key.serializer": "keys are written as the bytes or the text that they are",
    "value.serializer": "values are written as the bytes or the text that they are",
    "interceptor.classes": "records are written as they are",
    "transactional.id": "a write is at-least-once, without a transaction",
}


@dataclass(frozen=True)
class SinkOptions:
    """A write, of a batch or of a stream."""

    kafka: Mapping[str, str] = field(repr=False)
    topic: str | None = None
    include_timestamp: bool = False
    report_path: str | None = None


def parse_sink(options: Mapping[str, str]) -> SinkOptions:
    """Everything a write needs, or a ConfigError that names the option at fault."""
    values = lowered(options)
    check_names(values, SINK_OPTIONS, _MEANT)
    flag(values, "includeHeaders", default=False)
    return SinkOptions(
        kafka=_with_bulk(kafka_config(values, _REFUSED)),
        topic=text_of(values, "topic"),
        include_timestamp=flag(values, "includeTimestamp", default=False),
        report_path=text_of(values, "reportPath"),
    )


def _with_bulk(kafka: Mapping[str, str]) -> dict[str, str]:
    # A setting may have another client's name.
    given = {row_of(name) for name in kafka}
    return {**{name: value for name, value in _BULK.items() if name not in given}, **kafka}

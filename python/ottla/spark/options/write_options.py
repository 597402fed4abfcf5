"""The options of a write: the topic, the producer's settings, and settings that are rejected.

Called by ``source`` each time Spark creates a writer, so parsing is pure and cheap. Invariant: an
option that is not understood is an error, never ignored; no message and no ``repr`` contains a
``kafka.*`` value, which may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.spark.options.option_values import (
    BOOTSTRAP_SERVERS,
    QUERY_OPTION_NAMES,
    canonical_key,
    check_option_names,
    kafka_config,
    normalize_options,
    parse_bool,
    parse_text,
)

WRITE_OPTION_NAMES = (
    BOOTSTRAP_SERVERS,
    "topic",
    "includeTimestamp",
    "reportPath",
    # No effect: headers are written if the frame has the column, as by Spark's sink.
    "includeHeaders",
    *QUERY_OPTION_NAMES,
)

_SUGGESTIONS = {
    "topics": "topic",
    "subscribe": "topic",
    "path": "topic",
    "servers": BOOTSTRAP_SERVERS,
}

# A task writes many rows and ends with a flush, which does not wait for linger.ms. Large batches
# cost only memory, and buffer.memory still bounds that.
_DEFAULTS = {"batch.size": "500000", "linger.ms": "100"}

_UNSUPPORTED = {
    "key.serializer": "keys are written as they are, as bytes or text",
    "value.serializer": "values are written as they are, as bytes or text",
    "interceptor.classes": "records are written unchanged",
    "transactional.id": "a write is at-least-once, without a transaction",
}


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write, of a batch or of a stream."""

    kafka: Mapping[str, str] = field(repr=False)
    topic: str | None = None
    include_timestamp: bool = False
    report_path: str | None = None


def parse_write_options(options: Mapping[str, str]) -> WriteOptions:
    """Parse the options of a write; a ConfigError names the option at fault."""
    values = normalize_options(options)
    check_option_names(values, WRITE_OPTION_NAMES, _SUGGESTIONS)
    parse_bool(values, "includeHeaders", default=False)
    return WriteOptions(
        kafka=_with_defaults(kafka_config(values, _UNSUPPORTED)),
        topic=parse_text(values, "topic"),
        include_timestamp=parse_bool(values, "includeTimestamp", default=False),
        report_path=parse_text(values, "reportPath"),
    )


def _with_defaults(kafka: Mapping[str, str]) -> dict[str, str]:
    # A setting may have another client's name.
    explicit = {canonical_key(name) for name in kafka}
    return {**{name: value for name, value in _DEFAULTS.items() if name not in explicit}, **kafka}

"""The options of a write: the topic, the producer's settings, and settings that are rejected.

Called by ``source`` each time Spark creates a writer, so parsing is pure and cheap. Invariant: an
option that is not understood is an error, never ignored; no message and no ``repr`` contains a
``kafka.*`` value, which may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.errors import ConfigError
from ottla.spark.options.option_values import (
    BOOTSTRAP_SERVERS,
    KAFKA_PREFIX,
    QUERY_OPTION_NAMES,
    canonical_key,
    check_option_names,
    check_transactions,
    invalid_value,
    kafka_config,
    normalize_options,
    parse_bool,
    parse_text,
)
from ottla.spark.options.typed_columns import REGISTRY_PREFIX, UNTYPED, TypedColumns
from ottla.spark.options.typed_writes import TYPED_WRITE_OPTION_NAMES, parse_typed_writes

WRITE_OPTION_NAMES = (
    BOOTSTRAP_SERVERS,
    "topic",
    "includeTimestamp",
    "reportPath",
    "exactlyOnce",
    "exactlyOnceId",
    "exactlyOnceTopic",
    # No effect: headers are written if the frame has the column, as by Spark's sink.
    "includeHeaders",
    *TYPED_WRITE_OPTION_NAMES,
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
    "key.serializer": "keys are bytes or text, or encoded with the option key.format",
    "value.serializer": "values are bytes or text, or encoded with the option value.format",
    "interceptor.classes": "records are written unchanged",
    "transactional.id": "exactlyOnce=true gives each task one; otherwise a write is at-least-once",
}


# Brokers allow 15 minutes by default (transaction.max.timeout.ms), and a batch may take long.
_TRANSACTION_TIMEOUT = "transaction.timeout.ms"
_EXACTLY_ONCE_DEFAULTS = {_TRANSACTION_TIMEOUT: "900000"}
# Reads between the transactions must only see committed records.
_EXACTLY_ONCE_FIXED = {"isolation.level": "read_committed"}
_DEFAULT_TOPIC = "ottla-exactly-once"


@dataclass(frozen=True)
class ExactlyOnceOptions:
    """The options of an exactly-once write.

    Attributes:
        topic: the topic of decisions and markers.
        id: of a batch query, the same each time it is run; None for a stream.
    """

    topic: str = _DEFAULT_TOPIC
    id: str | None = None


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write, of a batch or of a stream."""

    kafka: Mapping[str, str] = field(repr=False)
    topic: str | None = None
    include_timestamp: bool = False
    report_path: str | None = None
    exactly_once: ExactlyOnceOptions | None = None
    typed: TypedColumns = UNTYPED

    @property
    def transaction_timeout(self) -> float:
        """Seconds that a transaction of an exactly-once write may stay open."""
        by_name = {canonical_key(name): value for name, value in self.kafka.items()}
        return int(by_name[_TRANSACTION_TIMEOUT]) / 1000


def parse_write_options(options: Mapping[str, str]) -> WriteOptions:
    """Parse the options of a write; a ConfigError names the option at fault."""
    values = normalize_options(options)
    check_option_names(values, WRITE_OPTION_NAMES, _SUGGESTIONS, (KAFKA_PREFIX, REGISTRY_PREFIX))
    parse_bool(values, "includeHeaders", default=False)
    exactly_once = _parse_exactly_once(values)
    kafka = _with_defaults(kafka_config(values, _UNSUPPORTED), _DEFAULTS)
    if exactly_once is not None:
        check_transactions(kafka)
        kafka = {**_with_defaults(kafka, _EXACTLY_ONCE_DEFAULTS), **_EXACTLY_ONCE_FIXED}
    return WriteOptions(
        kafka=kafka,
        exactly_once=exactly_once,
        topic=parse_text(values, "topic"),
        include_timestamp=parse_bool(values, "includeTimestamp", default=False),
        report_path=parse_text(values, "reportPath"),
        typed=parse_typed_writes(values),
    )


def _parse_exactly_once(values: Mapping[str, str]) -> ExactlyOnceOptions | None:
    topic, query = parse_text(values, "exactlyOnceTopic"), parse_text(values, "exactlyOnceId")
    if not parse_bool(values, "exactlyOnce", default=False):
        for name, value in (("exactlyOnceTopic", topic), ("exactlyOnceId", query)):
            if value is not None:
                raise ConfigError(f"option {name} needs exactlyOnce=true")
        return None
    if query is not None and not re.fullmatch(r"[A-Za-z0-9._-]{1,200}", query):
        raise invalid_value("exactlyOnceId", query, "1 to 200 letters, digits, '.', '_' and '-'")
    return ExactlyOnceOptions(topic or _DEFAULT_TOPIC, query)


def _with_defaults(kafka: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    # A setting may have another client's name.
    explicit = {canonical_key(name) for name in kafka}
    return {**{name: value for name, value in defaults.items() if name not in explicit}, **kafka}

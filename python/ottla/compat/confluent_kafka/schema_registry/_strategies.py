"""The names of subjects: from the topic, from the record, or from both."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ottla.compat.confluent_kafka.schema_registry._schema_documents import SchemaReference
from ottla.compat.confluent_kafka.serialization import SerializationContext


class SubjectNameStrategyType(str, Enum):
    """The strategies by name, as a configuration has them."""

    NONE = "NONE"
    TOPIC = "TOPIC"
    RECORD = "RECORD"
    TOPIC_RECORD = "TOPIC_RECORD"
    ASSOCIATED = "ASSOCIATED"


def _need(ctx: SerializationContext | None, strategy: str) -> SerializationContext:
    if ctx is None:
        raise ValueError(
            f"SerializationContext is required for {strategy}: pass one, or use"
            " record_subject_name_strategy"
        )
    return ctx


def topic_subject_name_strategy(
    ctx: SerializationContext | None, record_name: str | None
) -> str | None:
    """Return the topic's name, followed by ``-key`` or ``-value``."""
    context = _need(ctx, "topic_subject_name_strategy")
    return context.topic + "-" + context.field


def topic_record_subject_name_strategy(
    ctx: SerializationContext | None, record_name: str | None
) -> str | None:
    """Return the names of the topic and the record, with a hyphen between them."""
    context = _need(ctx, "topic_record_subject_name_strategy")
    return None if record_name is None else f"{context.topic}-{record_name}"


def record_subject_name_strategy(
    ctx: SerializationContext | None, record_name: str | None
) -> str | None:
    """Return the record's name."""
    return record_name


def reference_subject_name_strategy(
    ctx: SerializationContext | None, schema_ref: SchemaReference
) -> str | None:
    """Return the name of a referenced schema."""
    return schema_ref.name


STRATEGY_TYPE_MAP: dict[SubjectNameStrategyType, Callable[..., str | None]] = {
    SubjectNameStrategyType.TOPIC: topic_subject_name_strategy,
    SubjectNameStrategyType.RECORD: record_subject_name_strategy,
    SubjectNameStrategyType.TOPIC_RECORD: topic_record_subject_name_strategy,
}


def strategy_type(value: object, key: str) -> SubjectNameStrategyType:
    """Return the strategy of a configuration's value."""
    try:
        return SubjectNameStrategyType(str(getattr(value, "value", value)).upper())
    except ValueError:
        valid = ", ".join(item.value for item in SubjectNameStrategyType)
        raise ValueError(f"Invalid {key}: {value}. Valid values are: {valid}") from None

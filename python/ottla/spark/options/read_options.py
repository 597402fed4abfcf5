"""The options of ``format("ottla")``: their names, values, defaults and what is refused.

Called by ``source`` wherever Spark builds a reader, so parsing is pure and cheap. Invariant: an
option that is not understood is an error, never ignored; a ``kafka.*`` value, which may be a
secret, appears in no message and no ``repr``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.errors import ConfigError
from ottla.spark.options.offset_limits import (
    EARLIEST,
    LATEST,
    Everywhere,
    OffsetLimit,
    check_batch_limits,
    offset_limit,
)
from ottla.spark.options.option_values import (
    BOOTSTRAP,
    INT32_MAX,
    Value,
    check_names,
    duration,
    flag,
    kafka_config,
    lowered,
    number,
    seconds,
    text_of,
    wrong,
)
from ottla.spark.options.subscription import APPEARS_WITHIN, Subscription, parse_subscription

GENERAL_OPTIONS = (
    BOOTSTRAP,
    "assign",
    "subscribe",
    "subscribePattern",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "minPartitions",
    "maxRecordsPerPartition",
    "targetBytesPerPartition",
    "includeHeaders",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
ENDING_OPTIONS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
BATCH_OPTIONS = (*ENDING_OPTIONS, "pushFilters")
STREAM_OPTIONS = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxBytesPerTrigger",
    "commitGroupId",
)

_MEANT = {
    "topic": "subscribe",
    "topics": "subscribe",
    "path": "subscribe",
    "pattern": "subscribePattern",
    "servers": BOOTSTRAP,
}

_REFUSED = {
    "auto.offset.reset": "set startingOffsets to say where to start",
    "key.deserializer": "keys are bytes; decode them with DataFrame operations",
    "value.deserializer": "values are bytes; decode them with DataFrame operations",
    "enable.auto.commit": "Spark keeps the offsets",
    "interceptor.classes": "records are handed over as they are",
}


@dataclass(frozen=True)
class SourceOptions:
    """What batch and streaming reads have in common."""

    subscription: Subscription
    kafka: Mapping[str, str] = field(repr=False)
    include_headers: bool = False
    fail_on_data_loss: bool = True
    latest_on_no_match: bool = False
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    target_bytes_per_partition: int | None = None
    offset_attempts: int = 3
    offset_retry_interval: float = 1.0
    warnings: tuple[str, ...] = ()

    @property
    def isolation_level(self) -> str:
        """Whether offsets end at the log's end or at its last stable offset."""
        return self.kafka.get("isolation.level", "read_uncommitted")

    @property
    def topic_timeout(self) -> float:
        """Seconds after which a topic that is still unknown does not exist."""
        # What is not a number is for the client to refuse.
        stated = self.kafka.get("default.api.timeout.ms", "")
        return min(APPEARS_WITHIN, int(stated) / 1000) if stated.isdecimal() else APPEARS_WITHIN


@dataclass(frozen=True)
class BatchOptions:
    """A batch read: the common part, and where to start and to end."""

    source: SourceOptions
    start: OffsetLimit
    end: OffsetLimit
    push_filters: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class StreamOptions:
    """A streaming read: the common part, where to start, and the limits of a micro-batch."""

    source: SourceOptions
    start: OffsetLimit
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    max_trigger_delay: float = 900.0
    commit_group_id: str | None = None


def parse_batch(options: Mapping[str, Value]) -> BatchOptions:
    """Everything a batch read needs, or a ConfigError that names the option at fault."""
    values = lowered(options)
    source = parse_source(values)
    start = offset_limit(values, "starting", Everywhere(EARLIEST))
    end = offset_limit(values, "ending", Everywhere(LATEST))
    check_batch_limits(start, end)
    ignored = tuple(
        f"option {name} is for streaming and is ignored in a batch query"
        for name in STREAM_OPTIONS
        if name.lower() in values
    )
    push = flag(values, "pushFilters", default=False)
    return BatchOptions(source, start, end, push, source.warnings + ignored)


def parse_stream(options: Mapping[str, str]) -> StreamOptions:
    """Everything a streaming read needs, or a ConfigError that names the option at fault."""
    values = lowered(options)
    source = parse_source(values)
    for name in ENDING_OPTIONS:
        if name.lower() in values:
            raise ConfigError(f"option {name} is not valid in a streaming query, which has no end")
    if "pushfilters" in values:
        raise ConfigError("option pushFilters is not valid in a streaming query: Spark pushes none")
    return StreamOptions(
        source,
        offset_limit(values, "starting", Everywhere(LATEST)),
        max_offsets_per_trigger=number(values, "maxOffsetsPerTrigger"),
        min_offsets_per_trigger=number(values, "minOffsetsPerTrigger", minimum=0),
        max_bytes_per_trigger=number(values, "maxBytesPerTrigger"),
        max_trigger_delay=duration(values, "maxTriggerDelay", default=900.0),
        commit_group_id=text_of(values, "commitGroupId"),
    )


def parse_batch_or_stream(options: Mapping[str, str]) -> SourceOptions:
    """The common part; refuses what neither a batch nor a stream can have."""
    try:
        return parse_batch(options).source
    except ConfigError as of_batch:
        try:
            return parse_stream(options).source
        except ConfigError as of_stream:
            streams = {name.lower() for name in STREAM_OPTIONS}
            meant = of_batch if streams.isdisjoint(map(str.lower, options)) else of_stream
            raise meant from None


def parse_source(options: Mapping[str, str]) -> SourceOptions:
    """The part that does not depend on batch or streaming; checks every option's name."""
    values = lowered(options)
    check_names(values, (*GENERAL_OPTIONS, *BATCH_OPTIONS, *STREAM_OPTIONS), _MEANT)
    kafka, warnings = _without_group(kafka_config(values, _REFUSED), values)
    _check_trigger_limits(values)
    _check_forms(values)
    # Checked for its form alone: no wait here is without a deadline of the client's own.
    number(values, "kafkaConsumer.pollTimeoutMs", minimum=0)
    return SourceOptions(
        subscription=parse_subscription(values),
        kafka=kafka,
        include_headers=flag(values, "includeHeaders", default=False),
        fail_on_data_loss=flag(values, "failOnDataLoss", default=True),
        latest_on_no_match=_latest_on_no_match(values),
        min_partitions=number(values, "minPartitions", maximum=INT32_MAX),
        max_records_per_partition=number(values, "maxRecordsPerPartition"),
        target_bytes_per_partition=number(values, "targetBytesPerPartition"),
        offset_attempts=number(values, "fetchOffset.numRetries", maximum=INT32_MAX) or 3,
        offset_retry_interval=seconds(values, "fetchOffset.retryIntervalMs", default=1.0),
        warnings=warnings,
    )


def _without_group(
    config: dict[str, str], values: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    warnings = []
    # A read joins no group, so a group's name has nothing to act on.
    if config.pop("group.id", None) is not None:
        warnings.append("option kafka.group.id has no effect: a read joins no consumer group")
    if "groupidprefix" in values:
        warnings.append("option groupIdPrefix has no effect: a read joins no consumer group")
    return config, tuple(warnings)


def _check_trigger_limits(values: Mapping[str, str]) -> None:
    least = number(values, "minOffsetsPerTrigger", minimum=0)
    most = number(values, "maxOffsetsPerTrigger", minimum=0)
    if least is not None and most is not None and least > most:
        raise ConfigError(
            f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})"
        )


def _check_forms(values: Mapping[str, str]) -> None:
    # What readers look at again: which of them it will be is not known yet, and a value that makes
    # no sense to either is told at load(). A delay is not here, for batches pass over any.
    offset_limit(values, "starting", Everywhere(LATEST))
    offset_limit(values, "ending", Everywhere(LATEST))
    flag(values, "pushFilters", default=False)
    number(values, "maxBytesPerTrigger")
    text_of(values, "commitGroupId")


def _latest_on_no_match(values: Mapping[str, str]) -> bool:
    name = "startingOffsetsByTimestampStrategy"
    value = values.get(name.lower(), "error").strip().lower()
    if value not in ("error", "latest"):
        raise wrong(name, values[name.lower()], "error or latest")
    return value == "latest"

"""The options of reads: names, values, defaults, and combinations that are rejected.

Called by ``source`` each time Spark creates a reader, so parsing is pure and cheap. Invariant: an
option that is not understood is an error, never ignored; no message and no ``repr`` contains a
``kafka.*`` value, which may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.errors import ConfigError
from ottla.spark.options.offset_limits import (
    EARLIEST,
    LATEST,
    GlobalOffset,
    OffsetRangeLimit,
    check_batch_limits,
    parse_offset_range_limit,
)
from ottla.spark.options.option_values import (
    BOOTSTRAP_SERVERS,
    INT32_MAX,
    KAFKA_PREFIX,
    OptionValue,
    check_option_names,
    invalid_value,
    kafka_config,
    normalize_options,
    parse_bool,
    parse_duration,
    parse_int,
    parse_millis,
    parse_text,
)
from ottla.spark.options.subscription import (
    UNKNOWN_TOPIC_TIMEOUT,
    Subscription,
    parse_subscription,
)
from ottla.spark.options.typed_columns import (
    REGISTRY_PREFIX,
    TYPED_OPTION_NAMES,
    UNTYPED,
    TypedColumns,
    parse_typed_columns,
)

COMMON_OPTION_NAMES = (
    BOOTSTRAP_SERVERS,
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
    *TYPED_OPTION_NAMES,
)
ENDING_OPTION_NAMES = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
BATCH_OPTION_NAMES = (*ENDING_OPTION_NAMES, "pushFilters")
STREAM_OPTION_NAMES = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxBytesPerTrigger",
    "commitGroupId",
)

_SUGGESTIONS = {
    "topic": "subscribe",
    "topics": "subscribe",
    "path": "subscribe",
    "pattern": "subscribePattern",
    "servers": BOOTSTRAP_SERVERS,
}

_UNSUPPORTED = {
    "auto.offset.reset": "set startingOffsets to choose where to start",
    "key.deserializer": "keys are bytes, or typed columns with the option key.format",
    "value.deserializer": "values are bytes, or typed columns with the option value.format",
    "enable.auto.commit": "Spark stores the offsets",
    "interceptor.classes": "records are passed to Spark unchanged",
}


@dataclass(frozen=True)
class CommonOptions:
    """The options that batch and streaming reads share."""

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
    typed: TypedColumns = UNTYPED
    warnings: tuple[str, ...] = ()

    @property
    def isolation_level(self) -> str:
        """``read_uncommitted``: logs end at the high watermark; else at the last stable offset."""
        return self.kafka.get("isolation.level", "read_uncommitted")

    @property
    def topic_timeout(self) -> float:
        """Seconds after which a topic that is still unknown is taken not to exist."""
        # The client reports a value that is not a number.
        api_timeout_ms = self.kafka.get("default.api.timeout.ms", "")
        if not api_timeout_ms.isdecimal():
            return UNKNOWN_TOPIC_TIMEOUT
        return min(UNKNOWN_TOPIC_TIMEOUT, int(api_timeout_ms) / 1000)


@dataclass(frozen=True)
class BatchReadOptions:
    """The options of a batch read: the common ones, where it starts, and where it ends."""

    common: CommonOptions
    start: OffsetRangeLimit
    end: OffsetRangeLimit
    push_filters: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class StreamReadOptions:
    """The options of a streaming read: the common ones, its start, and micro-batch limits."""

    common: CommonOptions
    start: OffsetRangeLimit
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    max_trigger_delay: float = 900.0
    commit_group_id: str | None = None


def parse_batch_options(options: Mapping[str, OptionValue]) -> BatchReadOptions:
    """Parse the options of a batch read; a ConfigError names the option at fault."""
    values = normalize_options(options)
    common = parse_common_options(values)
    start = parse_offset_range_limit(values, "starting", GlobalOffset(EARLIEST))
    end = parse_offset_range_limit(values, "ending", GlobalOffset(LATEST))
    check_batch_limits(start, end)
    ignored = tuple(
        f"option {name} is for streaming and is ignored in a batch query"
        for name in STREAM_OPTION_NAMES
        if name.lower() in values
    )
    push_filters = parse_bool(values, "pushFilters", default=False)
    return BatchReadOptions(common, start, end, push_filters, common.warnings + ignored)


def parse_stream_options(options: Mapping[str, str]) -> StreamReadOptions:
    """Parse the options of a streaming read; a ConfigError names the option at fault."""
    values = normalize_options(options)
    common = parse_common_options(values)
    for name in ENDING_OPTION_NAMES:
        if name.lower() in values:
            raise ConfigError(f"option {name} is not valid in a streaming query, which has no end")
    if "pushfilters" in values:
        raise ConfigError(
            "option pushFilters is not valid in a streaming query: Spark pushes no filters to one"
        )
    return StreamReadOptions(
        common,
        parse_offset_range_limit(values, "starting", GlobalOffset(LATEST)),
        max_offsets_per_trigger=parse_int(values, "maxOffsetsPerTrigger"),
        min_offsets_per_trigger=parse_int(values, "minOffsetsPerTrigger", minimum=0),
        max_bytes_per_trigger=parse_int(values, "maxBytesPerTrigger"),
        max_trigger_delay=parse_duration(values, "maxTriggerDelay", default=900.0),
        commit_group_id=parse_text(values, "commitGroupId"),
    )


def parse_batch_or_stream_options(options: Mapping[str, str]) -> CommonOptions:
    """Parse the common options; raise if they are valid neither for a batch nor for a stream."""
    try:
        return parse_batch_options(options).common
    except ConfigError as batch_error:
        try:
            return parse_stream_options(options).common
        except ConfigError as stream_error:
            stream_names = {name.lower() for name in STREAM_OPTION_NAMES}
            is_batch = stream_names.isdisjoint(map(str.lower, options))
            raise (batch_error if is_batch else stream_error) from None


def parse_common_options(options: Mapping[str, str]) -> CommonOptions:
    """Parse the options that batches and streams share, and check the names of all options."""
    values = normalize_options(options)
    check_option_names(
        values,
        (*COMMON_OPTION_NAMES, *BATCH_OPTION_NAMES, *STREAM_OPTION_NAMES),
        _SUGGESTIONS,
        (KAFKA_PREFIX, REGISTRY_PREFIX),
    )
    kafka, warnings = _drop_group_id(kafka_config(values, _UNSUPPORTED), values)
    _check_trigger_limits(values)
    _check_values(values)
    # Only validated: the client's own timeouts bound every wait.
    parse_int(values, "kafkaConsumer.pollTimeoutMs", minimum=0)
    subscription = parse_subscription(values)
    return CommonOptions(
        subscription=subscription,
        kafka=kafka,
        typed=parse_typed_columns(values, subscription),
        include_headers=parse_bool(values, "includeHeaders", default=False),
        fail_on_data_loss=parse_bool(values, "failOnDataLoss", default=True),
        latest_on_no_match=_latest_on_no_match(values),
        min_partitions=parse_int(values, "minPartitions", maximum=INT32_MAX),
        max_records_per_partition=parse_int(values, "maxRecordsPerPartition"),
        target_bytes_per_partition=parse_int(values, "targetBytesPerPartition"),
        offset_attempts=parse_int(values, "fetchOffset.numRetries", maximum=INT32_MAX) or 3,
        offset_retry_interval=parse_millis(values, "fetchOffset.retryIntervalMs", default=1.0),
        warnings=warnings,
    )


def _drop_group_id(
    config: dict[str, str], values: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    warnings = []
    if config.pop("group.id", None) is not None:
        warnings.append("option kafka.group.id has no effect: a read joins no consumer group")
    if "groupidprefix" in values:
        warnings.append("option groupIdPrefix has no effect: a read joins no consumer group")
    return config, tuple(warnings)


def _check_trigger_limits(values: Mapping[str, str]) -> None:
    minimum = parse_int(values, "minOffsetsPerTrigger", minimum=0)
    maximum = parse_int(values, "maxOffsetsPerTrigger", minimum=0)
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ConfigError(
            f"minOffsetsPerTrigger ({minimum}) is higher than maxOffsetsPerTrigger ({maximum})"
        )


def _check_values(values: Mapping[str, str]) -> None:
    # Readers parse these again. Whether this is a batch or a stream is not known yet, and load()
    # should report values that are valid for neither. Batches ignore maxTriggerDelay: not checked.
    parse_offset_range_limit(values, "starting", GlobalOffset(LATEST))
    parse_offset_range_limit(values, "ending", GlobalOffset(LATEST))
    parse_bool(values, "pushFilters", default=False)
    parse_int(values, "maxBytesPerTrigger")
    parse_text(values, "commitGroupId")


def _latest_on_no_match(values: Mapping[str, str]) -> bool:
    name = "startingOffsetsByTimestampStrategy"
    value = values.get(name.lower(), "error").strip().lower()
    if value not in ("error", "latest"):
        raise invalid_value(name, values[name.lower()], "error or latest")
    return value == "latest"

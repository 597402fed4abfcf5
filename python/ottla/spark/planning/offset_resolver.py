"""Resolves an offset range limit to an offset of each partition, by asking the cluster.

Called by the planners on the driver, with a connected client.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ottla.errors import ConfigError, KafkaError, UnknownTopicError
from ottla.spark.options.offset_limits import (
    LATEST,
    GlobalOffset,
    GlobalTimestamp,
    OffsetRangeLimit,
    SpecificOffsets,
    SpecificTimestamps,
    format_partition,
    format_partitions,
)
from ottla.spark.options.read_options import CommonOptions
from ottla.spark.options.subscription import UNKNOWN_TOPIC_TIMEOUT
from ottla.spark.protocols import Client, Offsets, TopicPartition

log = logging.getLogger(__name__)

T = TypeVar("T")


def with_retries(common: CommonOptions, request: Callable[[], T]) -> T:
    """Call ``request``, and retry retriable errors as the ``fetchOffset.…`` options say."""
    for attempt in range(1, common.offset_attempts + 1):
        try:
            return request()
        except TimeoutError:
            # The client has retried until its own deadline; another attempt would double it.
            raise
        except KafkaError as error:
            # The client has waited for a named topic already. One that matched a pattern was
            # deleted since, and the next attempt does not list it.
            is_unknown = isinstance(error, UnknownTopicError)
            retriable = common.subscription.by_pattern if is_unknown else error.retriable
            if attempt == common.offset_attempts or not retriable:
                raise
            log.warning("looking up offsets failed at attempt %d, retrying: %s", attempt, error)
            time.sleep(common.offset_retry_interval)
    raise AssertionError("unreachable: there is at least one attempt")


class OffsetResolver:
    """Resolves a limit to an offset, LATEST or EARLIEST of every partition."""

    def __init__(
        self, client: Client, common: CommonOptions, partitions: Iterable[TopicPartition]
    ) -> None:
        self._client = client
        self._common = common
        self._partitions = frozenset(partitions)

    def resolve(self, side: str, limit: OffsetRangeLimit) -> Offsets:
        """Return the offset, LATEST or EARLIEST of each partition.

        Args:
            side: ``starting`` or ``ending``.
            limit: the limit of that side.

        Raises:
            ConfigError: the limit does not fit the partitions or their records.
        """
        match limit:
            case GlobalOffset(sentinel):
                return dict.fromkeys(self._partitions, sentinel)
            case SpecificOffsets(offsets):
                self._check_partitions(f"{side}Offsets", offsets, "-1 is latest, -2 is earliest")
                return dict(offsets)
            case GlobalTimestamp(timestamp):
                return self._by_timestamp(side, dict.fromkeys(self._partitions, timestamp))
            case SpecificTimestamps(timestamps):
                self._check_partitions(f"{side}OffsetsByTimestamp", timestamps, "at this moment")
                return self._by_timestamp(side, dict(timestamps))

    def _by_timestamp(self, side: str, timestamps: Offsets) -> Offsets:
        offsets = list_offsets(self._client, self._common, timestamps)
        for partition, offset in offsets.items():
            if offset >= 0:
                continue
            if side == "starting" and not self._common.latest_on_no_match:
                raise ConfigError(
                    f"{format_partition(partition)} has no record at or after timestamp "
                    f"{timestamps[partition]}; set startingOffsetsByTimestampStrategy to latest "
                    "to start such partitions at their end"
                )
            offsets[partition] = LATEST
        return offsets

    def _check_partitions(
        self, option: str, offsets: Mapping[TopicPartition, int], note: str
    ) -> None:
        named = offsets.keys()
        if named != self._partitions:
            raise ConfigError(
                f"{option} must name exactly the partitions that are read ({note}); "
                f"missing: {format_partitions(self._partitions - named)}, "
                f"not read: {format_partitions(named - self._partitions)}"
            )


def list_offsets(
    client: Client, common: CommonOptions, spec: dict[TopicPartition, str] | Offsets
) -> Offsets:
    """Look up the offsets at ``"earliest"``, ``"latest"`` or a timestamp.

    The offset is -1 where no record is at or after the timestamp.
    """
    if not spec:
        return {}

    def request(timeout: float | None = None) -> Offsets:
        response = client.list_offsets(
            dict(spec), isolation_level=common.isolation_level, timeout=timeout
        )
        offsets = {partition: response[partition].offset for partition in spec}
        return {place: -1 if offset is None else offset for place, offset in offsets.items()}

    if not common.subscription.by_pattern:
        return request()
    try:
        # A topic that matched the pattern may be deleted by now: do not wait for it as long as for
        # a named one.
        return request(common.topic_timeout)
    except TimeoutError:
        if common.topic_timeout < UNKNOWN_TOPIC_TIMEOUT:
            raise
        # The cluster is slow: use the client's own, longer timeout.
        return request()

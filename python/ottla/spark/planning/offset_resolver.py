"""Resolve an offset range limit to an offset of each partition, by asking the cluster.

Called by the planners on the driver, with a live client.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ottla.errors import ConfigError, KafkaError, UnknownTopicError
from ottla.spark.options.offset_limits import (
    LATEST,
    Everywhere,
    GlobalTimestamp,
    OffsetLimit,
    SpecificOffsets,
    SpecificTimestamps,
    show,
    show_all,
)
from ottla.spark.options.read_options import SourceOptions
from ottla.spark.options.subscription import APPEARS_WITHIN
from ottla.spark.protocols import Client, Offsets, TopicPartition

log = logging.getLogger(__name__)

T = TypeVar("T")


def retrying(source: SourceOptions, ask: Callable[[], T]) -> T:
    """Ask the cluster, again after a passing failure, as often as the options say."""
    for attempt in range(1, source.offset_attempts + 1):
        try:
            return ask()
        except TimeoutError:
            # The client has tried until its deadline, which another attempt would only double.
            raise
        except KafkaError as error:
            # A topic that was named has been waited for; of a pattern, one was deleted since.
            is_gone = isinstance(error, UnknownTopicError)
            may_pass = source.subscription.finds if is_gone else error.retriable
            if attempt == source.offset_attempts or not may_pass:
                raise
            log.warning("asking for offsets failed at attempt %d, trying again: %s", attempt, error)
            time.sleep(source.offset_retry_interval)
    raise AssertionError("unreachable: there is at least one attempt")


class Resolver:
    """Turns one side's limit into an offset or sentinel for every partition."""

    def __init__(
        self, client: Client, source: SourceOptions, partitions: Iterable[TopicPartition]
    ) -> None:
        self._client = client
        self._source = source
        self._partitions = frozenset(partitions)

    def sentinels(self, side: str, limit: OffsetLimit) -> Offsets:
        """The offset, LATEST or EARLIEST for each partition."""
        match limit:
            case Everywhere(sentinel):
                return dict.fromkeys(self._partitions, sentinel)
            case SpecificOffsets(offsets):
                self._check_named(f"{side}Offsets", offsets, "-1 is latest, -2 is earliest")
                return dict(offsets)
            case GlobalTimestamp(timestamp):
                return self._at(side, dict.fromkeys(self._partitions, timestamp))
            case SpecificTimestamps(timestamps):
                self._check_named(f"{side}OffsetsByTimestamp", timestamps, "as of now")
                return self._at(side, dict(timestamps))

    def _at(self, side: str, timestamps: Offsets) -> Offsets:
        offsets = look_up(self._client, self._source, timestamps)
        for partition, offset in offsets.items():
            if offset >= 0:
                continue
            if side == "starting" and not self._source.latest_on_no_match:
                raise ConfigError(
                    f"{show(partition)} has no record at or after timestamp "
                    f"{timestamps[partition]}; set startingOffsetsByTimestampStrategy to latest "
                    "to start such partitions at their end"
                )
            offsets[partition] = LATEST
        return offsets

    def _check_named(self, option: str, offsets: Mapping[TopicPartition, int], note: str) -> None:
        named = offsets.keys()
        if named != self._partitions:
            raise ConfigError(
                f"{option} must name exactly the partitions that are read ({note}); "
                f"missing: {show_all(self._partitions - named)}, "
                f"not read: {show_all(named - self._partitions)}"
            )


def look_up(
    client: Client, source: SourceOptions, spec: dict[TopicPartition, str] | Offsets
) -> Offsets:
    """The offsets at ``"earliest"``, ``"latest"`` or a timestamp; -1 where no record is as late."""
    if not spec:
        return {}

    def ask(timeout: float | None = None) -> Offsets:
        answer = client.list_offsets(
            dict(spec), isolation_level=source.isolation_level, timeout=timeout
        )
        return {partition: answer[partition].offset for partition in spec}

    if not source.subscription.finds:
        return ask()
    try:
        # One of the topics found may be gone by now, and is not waited for as one that was named.
        return ask(source.topic_timeout)
    except TimeoutError:
        if source.topic_timeout < APPEARS_WITHIN:
            raise
        # It is the cluster that is slow: calls may take longer.
        return ask()

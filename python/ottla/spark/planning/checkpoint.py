"""Offsets in a stream's checkpoint, as JSON in the format of Spark's Kafka source.

Called by ``stream_reader`` and ``stream_lag``. Spark stores the end of every micro-batch before it
runs, but not the start of a query: it asks for that again when it has to repeat the first
micro-batch. By then ``latest`` has moved, and there may be more partitions. So a query starts at
UNRESOLVED_START, and the end of its first micro-batch also stores the start, as offsets of topics
whose names end in ``@start`` (no topic name contains an @). Invariant: a start that was stored is
read from the checkpoint, whatever the options and the log are now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.spark.protocols import TopicPartition

Json = dict[str, Any]

_START_SUFFIX = "@start"

UNRESOLVED_START: Json = {_START_SUFFIX: {}}
"""The start of a query whose first micro-batch is not planned yet."""


def offsets_to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Return offsets in the format of Spark's source, sorted: Spark compares them as strings."""
    nested: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested


def offsets_from_json(nested: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """Return the offsets in a checkpoint, without the query's start."""
    return {key: offset for key, offset in _flatten(nested) if not key[0].endswith(_START_SUFFIX)}


def first_batch_end(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> Json:
    """Return the end of a query's first micro-batch, which stores its start as well.

    Both have the same partitions.
    """
    starts = {
        (topic + _START_SUFFIX, partition): offset for (topic, partition), offset in start.items()
    }
    return offsets_to_json({**end, **starts})


def first_batch_start(end: Json) -> dict[TopicPartition, int] | None:
    """Return the start stored in the end of a first micro-batch; None if there is none."""
    starts = {
        (topic.removesuffix(_START_SUFFIX), partition): offset
        for (topic, partition), offset in _flatten(end)
        if topic.endswith(_START_SUFFIX)
    }
    return starts if starts.keys() == offsets_from_json(end).keys() else None


def _flatten(nested: Mapping[str, Mapping[str, int]]) -> list[tuple[TopicPartition, int]]:
    return [
        ((topic, int(partition)), offset)
        for topic, partitions in nested.items()
        for partition, offset in partitions.items()
    ]

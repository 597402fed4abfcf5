"""Offsets as a stream's checkpoint has them: JSON in the shape of Spark's own source.

Called by ``stream_reader`` and ``stream_lag``. Spark keeps the end of every micro-batch before it
runs, but nowhere where a query starts: it asks for that again when it has to run the first
micro-batch again, and by then ``latest`` is elsewhere, and there may be more partitions. So a query
starts at UNSETTLED, and the end of its first micro-batch also tells where that starts: as offsets
of topics whose names end in ``@start``, which no topic's name can. Invariant: what was settled once
is read from the checkpoint, whatever the options and the log have come to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.spark.protocols import TopicPartition

Json = dict[str, Any]

_START = "@start"

UNSETTLED: Json = {_START: {}}
"""Where a query starts of whose first micro-batch nothing is known yet."""


def nested_offsets(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """The connector's shape, in a fixed order: Spark compares offsets as strings."""
    nested: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested


def offsets_of(nested: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """The offsets in what comes back from Spark's checkpoint, without where the query started."""
    return {key: offset for key, offset in _flat(nested) if not key[0].endswith(_START)}


def first_end(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> Json:
    """The end of a query's first micro-batch; both name the same partitions."""
    starts = {(topic + _START, partition): offset for (topic, partition), offset in start.items()}
    return nested_offsets({**end, **starts})


def settled_start(end: Json) -> dict[TopicPartition, int] | None:
    """Where a first micro-batch with this end starts; None if the checkpoint does not say."""
    starts = {
        (topic.removesuffix(_START), partition): offset
        for (topic, partition), offset in _flat(end)
        if topic.endswith(_START)
    }
    return starts if starts.keys() == offsets_of(end).keys() else None


def _flat(nested: Mapping[str, Mapping[str, int]]) -> list[tuple[TopicPartition, int]]:
    return [
        ((topic, int(partition)), offset)
        for topic, partitions in nested.items()
        for partition, offset in partitions.items()
    ]

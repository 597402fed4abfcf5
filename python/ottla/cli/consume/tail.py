"""The start offsets of the last records of partitions, for ``-o -N`` and ``--last N``.

Offsets do not count records: transaction markers, aborted records and compaction leave gaps.
Invariant: partitions are read backwards, in windows that grow until they have enough records, so
few offsets before the first requested record are read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from ottla import Client

_GROWTH = 4
_ROWS = 10_000

_TopicPartition = tuple[str, int]


def tail_starts(
    client: Client,
    first: Mapping[_TopicPartition, int],
    last: Mapping[_TopicPartition, int],
    count: int,
) -> dict[_TopicPartition, int]:
    """Return the start offset of the last ``count`` records of each partition, or of all records.

    Args:
        client: the client. Its isolation level determines which records count.
        first: the first offset of each partition.
        last: the end offset of each partition.
        count: the number of records in each partition, at least 1.
    """
    starts = dict(last)
    missing = dict.fromkeys(last, count)
    ends = dict(last)
    window = count
    while True:
        ranges: list[tuple[str, int, int, int | None]] = [
            (*topic_partition, max(first[topic_partition], end - window), end)
            for topic_partition, end in ends.items()
            if missing[topic_partition] > 0 and first[topic_partition] < end
        ]
        if not ranges:
            return starts
        topic_partitions = [(topic, partition) for topic, partition, _, _ in ranges]
        found: dict[_TopicPartition, deque[int]] = {
            each: deque(maxlen=missing[each]) for each in topic_partitions
        }
        columns = ["topic", "partition", "offset"]
        with client.scan(ranges, columns=columns, max_rows=_ROWS, fail_on_data_loss=False) as scan:
            for batch in scan:
                for topic, partition, offset in batch.rows():
                    found[topic, partition].append(offset)
        for topic_partition, offsets in found.items():
            missing[topic_partition] -= len(offsets)
            if offsets:
                starts[topic_partition] = offsets[0]
        ends |= {(topic, partition): start for topic, partition, start, _ in ranges}
        window *= _GROWTH

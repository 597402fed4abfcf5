"""Partitions by topic and number, for operations that change single ones.

Invariant: each partition that was asked for exists, or the error names the one that does not.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla._core import error_of_code
from ottla.admin.destinations import TopicPartition, partitions_by_topic
from ottla.admin.items import settle
from ottla.admin.operation_call import Call
from ottla.admin.topics import PartitionDescription, describe_topics
from ottla.error_code import ErrorCode


async def describe_partitions(
    call: Call, topic_partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, PartitionDescription]:
    """Describe partitions.

    Raises:
        UnknownTopicError: one does not exist.
    """
    wanted = list(topic_partitions)
    names = dict.fromkeys(topic for topic, _ in wanted)
    topics = settle(await describe_topics(call, names, authorized_operations=False), "raise")
    known = {
        (topic.name, each.partition): each for topic in topics.values() for each in topic.partitions
    }
    for topic, partition in wanted:
        if (topic, partition) not in known:
            raise error_of_code(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic=topic, partition=partition
            )
    return {topic_partition: known[topic_partition] for topic_partition in wanted}


def brokers_text(brokers: Iterable[int]) -> str:
    """Return the ids of brokers, for plans."""
    return ", ".join(map(str, brokers))


def partitions_text(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions in short: ``orders 0-3,7 payments 0``."""
    by_topic = partitions_by_topic(sorted(partitions))
    return " ".join(f"{topic} {_numbers(numbers)}" for topic, numbers in by_topic.items())


def _numbers(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)

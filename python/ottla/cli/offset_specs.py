"""Offsets as arguments: ``earliest``, ``latest``, a number, a time, or a duration ago.

Invariant: numbers are not checked; if a partition lacks an offset, the broker reports the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from ottla import Admin
from ottla._internal.text import counted
from ottla.admin.offsets import OffsetSpec
from ottla.cli.parsing import parse_ago, parse_partition, parse_time
from ottla.cli.partial import each_alone, split
from ottla.cli.suggestions import with_topics
from ottla.errors import ConfigError, KafkaError, UnknownTopicError

SPEC_HELP = "earliest, latest, an offset, a time (2026-11-24T10:00:00Z), or how long ago (12h)"


def partitions_of(client: Admin, texts: Iterable[str]) -> list[tuple[str, int]]:
    """Return the partitions that ``TOPIC`` and ``TOPIC:PARTITION`` name, sorted."""
    given = [parse_partition(each) for each in texts]
    topics = dict.fromkeys(each if isinstance(each, str) else each[0] for each in given)
    described = client.describe_topics(topics)
    topic_partitions: set[tuple[str, int]] = set()
    for each in given:
        if isinstance(each, str):
            topic_partitions |= {(each, known.partition) for known in described[each].partitions}
        else:
            known = {found.partition for found in described[each[0]].partitions}
            if each[1] not in known:
                raise UnknownTopicError(
                    f"partition {each[1]} of topic {each[0]} does not exist: the topic has "
                    f"{counted(len(known), 'partition')}"
                )
            topic_partitions.add(each)
    return sorted(topic_partitions)


def known_partitions(
    client: Admin, texts: Iterable[str]
) -> tuple[list[tuple[str, int]], list[KafkaError]]:
    """Return the partitions that exist, as ``partitions_of``, and the errors of the others."""
    found, failed = each_alone(texts, lambda text: partitions_of(client, [text]))
    partitions = {each for partitions in found.values() for each in partitions}
    return sorted(partitions), [with_topics(client, error) for error in failed.values()]


def parse_spec(text: str) -> OffsetSpec:
    """Parse an offset specification: a name, a number or a time. Numbers are offsets, not times."""
    if text in {"earliest", "latest"}:
        return text  # type: ignore[return-value]  # the literals of OffsetSpec
    with suppress(ConfigError):
        return parse_ago(text)
    with suppress(ConfigError):
        return parse_time(text)
    raise ConfigError(f"{text!r} is not an offset: expected {SPEC_HELP}")


def offsets_at(
    client: Admin, topic_partitions: Sequence[tuple[str, int]], text: str
) -> dict[tuple[str, int], int]:
    """Return the offsets that an argument means. A time after all records means the end offset.

    Raises:
        KafkaError: the first one of a partition whose offset could not be looked up.
    """
    found, failed = known_offsets_at(client, topic_partitions, text)
    for error in failed.values():
        raise error
    return found


def known_offsets_at(
    client: Admin, topic_partitions: Sequence[tuple[str, int]], text: str
) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int], KafkaError]]:
    """Return the offsets as ``offsets_at``, and the errors of those that could not be looked up."""
    if text.isdecimal():
        return dict.fromkeys(topic_partitions, int(text)), {}
    specs = dict.fromkeys(topic_partitions, parse_spec(text))
    found, failed = split(client.list_offsets(specs, errors="return"))
    late = [topic_partition for topic_partition, each in found.items() if each.offset is None]
    ends, late_failed = (
        split(client.list_offsets(dict.fromkeys(late, "latest"), errors="return"))
        if late
        else ({}, {})
    )
    known = found | ends
    offsets = {
        each: known[each].offset or 0
        for each in topic_partitions
        if each in known and each not in late_failed
    }
    return offsets, failed | late_failed

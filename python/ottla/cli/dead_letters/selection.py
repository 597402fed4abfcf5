"""Which dead letters a command reads: topics, partitions, times, offsets and reasons.

Invariants: the end of each partition is fixed before reading, so that letters that a replay causes
are not read by it; a batch is in memory at a time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from datetime import datetime

from ottla import Admin, Client
from ottla.admin.destinations import TopicPartition
from ottla.cli.dead_letters.letters import Letter, read_letter
from ottla.cli.offset_specs import all_offsets_at, known_partitions
from ottla.cli.parsing import add_partitions, parse_ago, parse_time
from ottla.cli.partial import print_errors
from ottla.errors import ConfigError

_COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "headers"]
# A letter may be large, and rows are objects.
_MAX_ROWS = 500
ISOLATION = {"isolation.level": "read_committed"}
"""Letters of aborted transactions were never there."""


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select letters."""
    add_partitions(parser)
    parser.add_argument("--reason", metavar="TEXT", help="only exceptions or texts that contain it")
    parser.add_argument(
        "--origin", metavar="TOPIC", help="only records that were first read from this topic"
    )
    parser.add_argument(
        "--since", metavar="TIME", help="only letters from this time on, or 12h ago"
    )
    parser.add_argument("--until", metavar="TIME", help="only letters before this time, or 12h ago")
    parser.add_argument(
        "--offset",
        type=int,
        action="append",
        metavar="N",
        help="only the letter at this offset of the topic of dead letters; may be repeated",
    )


def is_filtered(arguments: argparse.Namespace) -> bool:
    """Return whether the arguments select single letters of a partition."""
    given = (arguments.reason, arguments.origin, arguments.since, arguments.until)
    return any(each is not None for each in (*given, arguments.offset))


class Selection:
    """The letters that the arguments select."""

    def __init__(self, client: Client, admin: Admin, arguments: argparse.Namespace) -> None:
        partitions, errors = known_partitions(admin, arguments.partitions)
        bounds, failed = all_offsets_at(admin, partitions, ["earliest", "latest"])
        self.code = print_errors([*errors, *failed])
        self._client, self._arguments = client, arguments
        self.ranges = {where: (first, end) for where, (first, end) in bounds.items()}
        self._since, self._until = _time(arguments.since), _time(arguments.until)

    def read(self, starts: Mapping[TopicPartition, int] | None = None) -> Iterator[Letter]:
        """Yield the letters.

        Args:
            starts: the first offsets, by partition. Default: those of the logs.
        """
        ranges = []
        for (topic, partition), (first, end) in sorted(self.ranges.items()):
            start = max(first, (starts or {}).get((topic, partition), first))
            if start < end:
                ranges.append((topic, partition, start, end))
        if not ranges:
            return
        with self._client.scan(ranges, columns=_COLUMNS, max_rows=_MAX_ROWS) as scan:
            for batch in scan:
                for row in batch.rows():
                    letter = read_letter(row)
                    if self._matches(letter):
                        yield letter

    def _matches(self, letter: Letter) -> bool:
        arguments = self._arguments
        # As everywhere in Kafka, a record without a time is older than any.
        at = -1 if letter.timestamp is None else letter.timestamp
        if self._since is not None and at < self._since:
            return False
        if self._until is not None and at >= self._until:
            return False
        if arguments.offset and letter.offset not in arguments.offset:
            return False
        if arguments.origin is not None and letter.origin != arguments.origin:
            return False
        texts = (letter.exception or "", letter.message or "", letter.reason)
        return arguments.reason is None or any(arguments.reason in each for each in texts)


def _time(text: str | None) -> float | None:
    """Return a time, or how long ago, in milliseconds since 1970."""
    if text is None:
        return None
    try:
        when: datetime = parse_ago(text)
    except ConfigError:
        when = parse_time(text)
    return when.timestamp() * 1000

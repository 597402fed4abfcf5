"""``ottla dead-letters replay``: write dead letters back to the topic that they are from.

Invariants: without ``--yes`` nothing is written; with ``--group``, the group's offset of a
partition passes a letter only once it is acknowledged, so that a later replay goes on behind it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ottla import Admin, Client, Producer
from ottla._internal.text import counted
from ottla.admin import Plan, PlannedChange
from ottla.admin.destinations import TopicPartition
from ottla.cli.dead_letters.letters import REPLAY, Letter
from ottla.cli.dead_letters.originals import with_record
from ottla.cli.dead_letters.selection import ISOLATION, Selection, add_selection, is_filtered
from ottla.cli.messages import say_error
from ottla.cli.options import connect
from ottla.cli.partial import print_errors, split
from ottla.cli.produce.failures import LENGTH
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    confirm,
    print_plan,
    report,
)
from ottla.errors import ConfigError, KafkaError

# The number of letters that are in flight.
_WINDOW = 500
# The number of letters that fail whose errors are printed one by one.
_SHOWN = 10


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "replay",
        run,
        "write dead letters back to the topic that they are from",
        details="The letters stay. Key, value, own headers and the timestamp are written, and "
        "headers that say which letter it was.",
        confirmed=True,
    )
    add_selection(parser)
    parser.add_argument("--to", metavar="TOPIC", help="write to this topic instead")
    parser.add_argument(
        "--group",
        metavar="GROUP",
        help="replay what this group has not replayed yet, and commit the progress to it",
    )
    add_dry_run(parser, "only show how many letters would be written where")


def run(arguments: argparse.Namespace) -> int:
    """Replay letters; return the exit code."""
    if arguments.group and is_filtered(arguments):
        raise ConfigError(
            "--group commits one offset for each partition, so it takes no single letters: leave "
            "out --group, or --reason, --origin, --since, --until and --offset"
        )
    with connect(arguments, defaults=ISOLATION) as client:
        admin = Admin(client)
        selection = Selection(client, admin, arguments)
        if arguments.to in {topic for topic, _ in selection.ranges}:
            raise ConfigError(
                f"--to {arguments.to} is a topic of the letters: each replay would double them"
            )
        starts = _progress(admin, arguments.group)
        counts: Counter[str] = Counter()
        homeless = 0
        for letter in selection.read(starts):
            if target := arguments.to or letter.origin:
                counts[target] += 1
            else:
                homeless += 1
        if homeless:
            say_error(
                f"{counted(homeless, 'letter')} cannot be replayed: no header names the topic that "
                "they are from; name one with --to",
                name="ConfigError",
            )
        code = 1 if homeless else selection.code
        refused = _refused(admin, counts)
        code = max(code, print_errors(refused.values()))
        plan = Plan(
            [
                PlannedChange("replay", f"to topic {topic}", counted(count, "letter"))
                for topic, count in sorted(counts.items())
                if topic not in refused
            ]
        )
        if arguments.dry_run or not plan:
            print_plan(plan)
            return code
        if not confirm(arguments, plan):
            return 1
        return max(code, _replay(client, admin, selection, arguments, starts, refused))


def _refused(admin: Admin, topics: Iterable[str]) -> dict[str, KafkaError]:
    """Return why no letter is written to a topic, by topic.

    A header is no reason to create a topic, nor to wait for one with each letter.
    """
    found, failed = split(admin.describe_topics(topics, errors="return"))
    for topic, described in found.items():
        if described.is_internal:
            failed[topic] = ConfigError(f"{topic} is an internal topic: name another with --to")
    return failed


def _progress(admin: Admin, group: str | None) -> dict[TopicPartition, int]:
    if group is None:
        return {}
    committed = admin.list_group_offsets([group])[group]
    return {where: each.offset for where, each in committed.items()}


def _replay(
    client: Client,
    admin: Admin,
    selection: Selection,
    arguments: argparse.Namespace,
    starts: dict[TopicPartition, int],
    refused: Mapping[str, KafkaError],
) -> int:
    writer = _Writer(client, arguments.to, refused)
    if arguments.group:
        # A group that takes no progress, as with members, must be known before the first letter is
        # written: all would be written again by the next replay.
        writer.passed = {
            where: max(first, starts.get(where, first))
            for where, (first, _) in selection.ranges.items()
        }
        _commit(admin, arguments.group, writer)
    with writer.producer:
        for letter in selection.read(starts):
            writer.send(letter)
            if len(writer.window) >= _WINDOW:
                writer.settle()
                _commit(admin, arguments.group, writer)
        writer.settle()
        if arguments.group:
            for where, (_, end) in selection.ranges.items():
                # Behind the last letter there may be the end of a transaction.
                if where not in writer.stopped and starts.get(where, -1) < end:
                    writer.passed[where] = end
            _commit(admin, arguments.group, writer)
    if writer.failed > _SHOWN:
        say_error(f"{writer.failed} letters were not replayed", name="ReplayFailed")
    results: dict[str, Any] = dict.fromkeys(sorted(writer.written))
    report(
        results,
        "replayed",
        lambda topic: f"{counted(writer.written[topic], 'letter')} to topic {topic}",
        noun="topic",
    )
    return 1 if writer.failed else 0


def _commit(admin: Admin, group: str | None, writer: _Writer) -> None:
    if group and writer.passed:
        admin.alter_group_offsets(group, dict(writer.passed))
        writer.passed.clear()


class _Writer:
    """Writes letters, a window at a time."""

    def __init__(self, client: Client, to: str | None, refused: Mapping[str, KafkaError]) -> None:
        self._client, self.producer = client, Producer(client)
        self._to, self._refused = to, refused
        self.window: list[tuple[Letter, Any]] = []
        self.written: Counter[str] = Counter()
        self.failed = 0
        # The offsets that a group may continue at, and partitions with a letter that failed.
        self.passed: dict[TopicPartition, int] = {}
        self.stopped: set[TopicPartition] = set()

    def send(self, letter: Letter) -> None:
        """Send a letter."""
        try:
            self.window.append((letter, self._send(letter)))
        except KafkaError as error:
            self.window.append((letter, error))

    def settle(self) -> None:
        """Wait for the letters of the window."""
        for letter, sent in self.window:
            error = sent if isinstance(sent, KafkaError) else sent.exception()
            where = (letter.topic, letter.partition)
            if error is not None:
                self.failed += 1
                self.stopped.add(where)
                if self.failed <= _SHOWN:
                    place = {"topic": letter.topic, "partition": letter.partition}
                    name = f"{letter.topic}-{letter.partition} at offset {letter.offset}"
                    text = f"the letter of {name} was not replayed: {str(error)[:LENGTH]}"
                    item = {**place, "offset": letter.offset}
                    say_error(text, name=type(error).__name__, item=item)
                continue
            self.written[sent.topic] += 1
            if where not in self.stopped:
                self.passed[where] = letter.offset + 1
        self.window.clear()

    def _send(self, letter: Letter) -> Any:
        target = self._to or letter.origin
        if target is None:
            raise ConfigError("no header names the topic that it is from; name one with --to")
        if error := self._refused.get(target):
            raise error
        letter = with_record(self._client, letter)
        place = {"topic": letter.topic, "partition": letter.partition, "offset": letter.offset}
        headers = [(REPLAY + name, str(value).encode()) for name, value in place.items()]
        timestamp = letter.timestamp if letter.origin_timestamp is None else letter.origin_timestamp
        return self.producer.send(
            target,
            letter.value,
            letter.key,
            headers=[*letter.headers, *headers],
            timestamp=timestamp if timestamp is not None and timestamp >= 0 else None,
            partition=self._partition(target, letter),
        )

    def _partition(self, target: str, letter: Letter) -> int | None:
        """Return the partition that the record was read from, if it still exists."""
        if target != letter.origin or letter.origin_partition is None:
            return None
        known = self.producer.partitions_for(target)
        return letter.origin_partition if letter.origin_partition in known else None

"""``ottla groups clone``: give a group without members the committed offsets of another group.

Invariant: without ``--yes``, no offset that the new group has committed is replaced.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from ottla import Admin
from ottla.admin import CommittedOffset
from ottla.admin.destinations import TopicPartition
from ottla.cli.messages import say
from ottla.cli.parsing import parse_partition
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    admin,
    confirm,
    joined,
    partition_name,
    print_plan,
    report,
)
from ottla.cli.suggestions import suggest_group
from ottla.errors import ConfigError, KafkaError


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "clone",
        run,
        "give a group the committed offsets of another one",
        details="The new group is created if it does not exist; it must not have members. Offsets "
        "that it has in other partitions stay.",
    )
    parser.add_argument("source", metavar="SOURCE", help="the id of the group to copy from")
    parser.add_argument("name", metavar="NEW", help="the id of the group without members")
    parser.add_argument(
        "-t",
        "--topic",
        action="append",
        metavar="TOPIC[:PARTITION]",
        help="only these; may be repeated (all with a committed offset)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="also replace offsets that the new group has committed"
    )
    add_dry_run(parser, "only show the offsets")


def run(arguments: argparse.Namespace) -> int:
    """Clone a group; return the exit code, 1 if an offset was not copied."""
    if arguments.source == arguments.name:
        raise ConfigError("a group cannot be cloned to itself: name another one")
    with admin(arguments) as client, suggest_group(client, arguments.source):
        committed = client.list_group_offsets([arguments.source, arguments.name])
        wanted = _wanted(arguments, committed[arguments.source])
        deleted = _deleted(client, wanted)
        kept = {where: each for where, each in wanted.items() if where not in deleted}
        plan = client.alter_group_offsets(arguments.name, kept, dry_run=True)
        changed = {
            where: each
            for where, each in kept.items()
            if committed[arguments.name].get(where) != each
        }
        if deleted:
            gone = joined([partition_name(each) for each in sorted(deleted)])
            say(f"not copied, the topic does not exist: {gone}", "warning")
        code = 1 if deleted else 0
        if arguments.dry_run or not changed:
            print_plan(plan)
            return code
        is_replaced = any(where in committed[arguments.name] for where in changed)
        if is_replaced and not confirm(arguments, plan):
            return 1
        altered = client.alter_group_offsets(arguments.name, changed, errors="return")
    of = f" of group {arguments.source} to group {arguments.name}"
    return max(code, report(altered, "copied the offset of", partition_name, of))


def _wanted(
    arguments: argparse.Namespace, committed: Mapping[TopicPartition, CommittedOffset]
) -> dict[TopicPartition, CommittedOffset]:
    given = [parse_partition(each) for each in arguments.topic or ()]
    found = {
        where: each
        for where, each in sorted(committed.items())
        if not given or where in given or where[0] in given
    }
    if not found:
        which = " for these topics" if given else ": is its id right?"
        raise ConfigError(f"group {arguments.source} has no committed offsets{which}")
    return found


def _deleted(client: Admin, wanted: Mapping[TopicPartition, object]) -> set[TopicPartition]:
    """Return the partitions that do not exist any more."""
    described = client.describe_topics({topic for topic, _ in wanted}, errors="return")
    existing = {
        (name, each.partition)
        for name, topic in described.items()
        if not isinstance(topic, KafkaError)
        for each in topic.partitions
    }
    return {*wanted} - existing

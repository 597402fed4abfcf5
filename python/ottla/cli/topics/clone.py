"""``ottla topics clone``: create a topic with the partitions and the configuration of another one.

Invariant: no record is copied, and the output says so.
"""

from __future__ import annotations

import argparse

from ottla import Admin
from ottla._internal.text import clean, counted
from ottla.admin import ConfigResource, NewTopic, Plan, PlannedChange
from ottla.cli.messages import is_json
from ottla.cli.parsing import parse_pairs
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    admin,
    print_plan,
    report,
)

# They name partitions and brokers of the source.
_OWN = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "clone",
        run,
        "create a topic like another one, without its records",
        details="The new topic has the number of partitions and replicas of the source, and the "
        "configuration that is set for it. No records are copied.",
    )
    parser.add_argument("source", metavar="SOURCE", help="the topic to copy from")
    parser.add_argument("name", metavar="NEW", help="the topic to create")
    parser.add_argument("-p", "--partitions", type=int, help="number of partitions (as SOURCE)")
    parser.add_argument("-r", "--replication", type=int, help="number of replicas (as SOURCE)")
    parser.add_argument(
        "-c",
        "--set-config",
        dest="configs",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value for a key; may be repeated",
    )
    add_dry_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """Clone a topic; return the exit code."""
    given = parse_pairs(arguments.configs)
    with admin(arguments) as client:
        new = _new_topic(client, arguments, given)
        plan = client.create_topics([new], dry_run=True)
        set_keys = [
            PlannedChange("set", f"topic {new.name}", key, None, value)
            for key, value in sorted(new.configs.items())
        ]
        if arguments.dry_run:
            print_plan(Plan([*plan, *set_keys]))
            if not is_json():
                print("no records will be copied")
            return 0
        created = client.create_topics([new], errors="return")
    parts = [
        counted(new.partitions or 0, "partition"),
        counted(new.replication or 0, "replica"),
        counted(len(set_keys), "configuration key"),
    ]
    code = report(
        created, "created topic", of=f" like {arguments.source}: {', '.join(parts)}", noun="topic"
    )
    if not code and not is_json():
        print(clean(f"no records were copied from {arguments.source}"))
    return code


def _new_topic(client: Admin, arguments: argparse.Namespace, given: dict[str, str]) -> NewTopic:
    source = client.describe_topics([arguments.source])[arguments.source]
    resource = ConfigResource("topic", arguments.source)
    configs = {
        key: entry.value
        for key, entry in client.describe_configs([resource])[resource].items()
        if entry.source == "DYNAMIC_TOPIC_CONFIG" and entry.value is not None and key not in _OWN
    }
    replicas = max(len(each.replicas) for each in source.partitions)
    return NewTopic(
        arguments.name,
        arguments.partitions or len(source.partitions),
        arguments.replication or replicas,
        configs=configs | given,
    )

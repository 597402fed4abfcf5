"""``ottla topics create``: create topics."""

from __future__ import annotations

import argparse

from ottla.admin import NewTopic
from ottla.cli.parsing import parse_pairs
from ottla.cli.partial import each_alone, joined_plan, print_errors
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    admin,
    print_plan,
    report,
)
from ottla.errors import TopicExistsError


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "create",
        run,
        "create topics",
        details="Returns when all partitions have leaders.",
    )
    parser.add_argument("names", nargs="+", metavar="TOPIC", help="the name of a topic")
    parser.add_argument(
        "-p", "--partitions", type=int, help="number of partitions (num.partitions of the cluster)"
    )
    parser.add_argument(
        "-r",
        "--replication",
        type=int,
        help="number of replicas (default.replication.factor of the cluster)",
    )
    parser.add_argument(
        "-c",
        "--set-config",
        dest="configs",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a key of the topic's configuration; may be repeated",
    )
    parser.add_argument(
        "--if-not-exists", action="store_true", help="skip topics that already exist"
    )
    add_dry_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """Create topics; return the exit code."""
    configs = parse_pairs(arguments.configs)
    topics = [
        NewTopic(name, arguments.partitions, arguments.replication, configs=configs)
        for name in dict.fromkeys(arguments.names)
    ]
    with admin(arguments) as client:
        if arguments.dry_run:
            by_name = {topic.name: topic for topic in topics}
            plans, failed = each_alone(
                by_name, lambda name: client.create_topics([by_name[name]], dry_run=True)
            )
            print_plan(joined_plan(plans.values()))
            return print_errors(failed.values())
        created = client.create_topics(topics, errors="return")
    existing = {
        name: error
        for name, error in created.items()
        if arguments.if_not_exists and isinstance(error, TopicExistsError)
    }
    report(dict.fromkeys(existing), "exists: topic", noun="topic", is_unchanged=True)
    rest = {name: error for name, error in created.items() if name not in existing}
    return report(rest, "created topic", noun="topic")

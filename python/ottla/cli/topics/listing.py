"""``ottla topics list``: the topics, and which of them have unhealthy partitions."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ottla._internal.text import counted
from ottla.admin import TopicListing
from ottla.cli.parsing import add_match, matching
from ottla.cli.partial import print_errors
from ottla.cli.resources import Subcommands, add_subcommand, admin, show
from ottla.cli.tables import Table


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands, "list", run, "list the topics", positional=True, has_json=True
    )
    parser.add_argument("--internal", action="store_true", help="also list Kafka's internal topics")
    add_match(parser, "topics")
    parser.add_argument(
        "--unhealthy",
        action="store_true",
        help="only topics with partitions that lack a leader or in-sync replicas",
    )


def run(arguments: argparse.Namespace) -> int:
    """List the topics; return the exit code."""
    is_match = matching(arguments)
    with admin(arguments) as client:
        listed = client.list_topics(internal=arguments.internal)
    found = [
        each
        for each in listed
        if is_match(each.name)
        and (not arguments.unhealthy or each.without_leader or each.under_replicated)
    ]
    show(arguments, [_document(each) for each in found], [_table(found)])
    return print_errors(listed.errors)


class ListedTopic(TypedDict):
    """A topic.

    Attributes:
        name: its name.
        topic_id: its id; null if the brokers have no ids of topics.
        is_internal: whether it is one of Kafka's own.
        partition_count: the number of its partitions.
        replication_factor: the largest number of replicas that a partition has.
        without_leader_count: the number of partitions without a leader.
        under_replicated_count: the number of partitions with a replica that is not in sync.
    """

    name: str
    topic_id: str | None
    is_internal: bool
    partition_count: int
    replication_factor: int
    without_leader_count: int
    under_replicated_count: int


def _document(topic: TopicListing) -> ListedTopic:
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "partition_count": topic.partitions,
        "replication_factor": topic.replicas,
        "without_leader_count": topic.without_leader,
        "under_replicated_count": topic.under_replicated,
    }


def _table(found: list[TopicListing]) -> Table:
    rows = [[each.name, str(each.partitions), str(each.replicas), _health(each)] for each in found]
    partitions = sum(each.partitions for each in found)
    lines = [f"{counted(len(found), 'topic')}, {counted(partitions, 'partition')}"]
    return Table("", ["topic", "partitions", "replicas", ""], rows, lines)


def _health(topic: TopicListing) -> str:
    problems = []
    if topic.without_leader:
        problems.append(f"{topic.without_leader} without leader")
    if topic.under_replicated:
        problems.append(f"{topic.under_replicated} under-replicated")
    return ", ".join(problems)

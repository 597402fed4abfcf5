"""``ottla configs diff``: what differs between configurations, or from Kafka's defaults.

Invariant: the exit codes are those of ``diff``: 0 if nothing differs, 1 if something does, and 2 if
that is not known.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TypedDict

from ottla import Admin
from ottla._internal.text import counted
from ottla.admin import ConfigEntry, ConfigResource
from ottla.cli.configs.arguments import TYPES, resource_of, source_text
from ottla.cli.configs.difference import (
    ConfigDifference,
    differences,
    differences_from_defaults,
    uncompared_secrets,
)
from ottla.cli.resources import Subcommands, add_subcommand, admin, joined, show
from ottla.cli.tables import Table
from ottla.errors import AuthorizationError, ConfigError

# These differ between all brokers of a healthy cluster.
_IDENTITY = {
    "advertised.listeners",
    "broker.id",
    "broker.rack",
    "listeners",
    "node.id",
}


class ConfigsDiffDocument(TypedDict):
    """What differs between configurations, or from Kafka's defaults.

    Attributes:
        resources: the resources that were compared; a single one with Kafka's defaults.
        differences: the keys that differ, by name; the values are in the order of ``resources``,
            or the value and the default.
        not_compared: the keys that were left out: those of ``--ignore``, those that identify a
            broker, and secrets that several resources have.
    """

    resources: list[ConfigResource]
    differences: list[ConfigDifference]
    not_compared: list[str]


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "diff",
        run,
        "show what differs between configurations",
        details="One name is compared with Kafka's defaults, several with each other; `broker` "
        "without a name means all brokers. Exit codes as of diff: 0 if nothing differs, 1 if "
        "something does, 2 after an error.",
        has_json=True,
    )
    parser.add_argument("type", choices=sorted(TYPES), help="the kind of resource")
    parser.add_argument("names", nargs="*", metavar="NAME", help="names; ids for brokers")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="KEY", help="not this key; repeatable"
    )
    parser.add_argument(
        "-a", "--all", action="store_true", help="also keys that identify a broker, as node.id"
    )
    parser.set_defaults(exit_code_of_errors=2)


def run(arguments: argparse.Namespace) -> int:
    """Show the differences; return the exit code."""
    if len(set(arguments.names)) < len(arguments.names):
        raise ConfigError("a name is given twice")
    with admin(arguments) as client:
        resources = _resources(client, arguments)
        described = client.describe_configs(resources)
        inherited = _inherited(client, resources)
    configs = [described[each] for each in resources]
    found = (
        differences(configs)
        if len(configs) > 1
        else differences_from_defaults(configs[0], inherited)
    )
    left_out = {*arguments.ignore}
    if arguments.type == "broker" and not arguments.all:
        left_out |= _IDENTITY
    not_compared = sorted({each.name for each in found} & left_out | {*uncompared_secrets(configs)})
    shown = [each for each in found if each.name not in left_out]
    value = ConfigsDiffDocument(resources=resources, differences=shown, not_compared=not_compared)
    show(arguments, value, [_table(resources, shown, not_compared)])
    return 1 if shown else 0


def _inherited(client: Admin, resources: Sequence[ConfigResource]) -> Mapping[str, ConfigEntry]:
    """Return the configuration of a broker for a topic that is compared with Kafka's defaults.

    Without permission to describe it, some defaults are unknown.
    """
    if len(resources) > 1 or resources[0].type != "topic":
        return {}
    broker = ConfigResource("broker", str(client.describe_cluster().brokers[0].id))
    try:
        return client.describe_configs([broker])[broker]
    except AuthorizationError:
        return {}


def _resources(client: Admin, arguments: argparse.Namespace) -> list[ConfigResource]:
    names: Sequence[str] = arguments.names
    if not names:
        if arguments.type != "broker":
            raise ConfigError(f"name the {arguments.type}s to compare")
        names = [str(each.id) for each in client.describe_cluster().brokers]
    return [resource_of(arguments.type, name) for name in names]


def _table(
    resources: Sequence[ConfigResource],
    found: Sequence[ConfigDifference],
    not_compared: Sequence[str],
) -> Table:
    rows = [[each.name, *map(str, each.values)] for each in found]
    if len(resources) == 1:
        header = ["key", str(resources[0]), "default", "set by"]
        rows = [
            [*row, source_text(each.values[0].source)]
            for row, each in zip(rows, found, strict=True)
        ]
    else:
        header = ["key", *map(str, resources)]
    lines = [f"{counted(len(found), 'key')} differ" if len(found) > 1 else "1 key differs"]
    if not found:
        header, lines = [], ["nothing differs"]
    if not_compared:
        lines.append(f"not compared: {joined(not_compared)}")
    return Table("", header, rows, lines)

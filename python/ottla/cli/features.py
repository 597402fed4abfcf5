"""``ottla features``: the feature levels that brokers support and the cluster uses (KIP-584)."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TypedDict

from ottla._internal.text import counted
from ottla.admin import FeaturesDescription, SupportedVersionRange
from ottla.cli.metadata_releases import LEVELS, METADATA_RELEASES, METADATA_VERSION
from ottla.cli.parsing import parse_pairs
from ottla.cli.partial import broker_down, print_errors
from ottla.cli.resources import (
    Subcommands,
    add_resource,
    add_subcommand,
    admin,
    confirm,
    joined,
    report,
    show,
)
from ottla.cli.tables import Table
from ottla.errors import ConfigError


class FeaturesDescriptionDocument(TypedDict):
    """The features of a cluster.

    Attributes:
        finalized_features: the level that the cluster uses, by feature, such as
            ``transaction.version``. A feature that it lacks is off.
        finalized_features_epoch: the epoch of these levels, which grows with each change of the
            metadata; null if the brokers have none.
        supported_features: the levels that each broker supports, by broker and feature; of the
            brokers that responded.
    """

    finalized_features: dict[str, int]
    finalized_features_epoch: int | None
    supported_features: dict[int, dict[str, SupportedVersionRange]]


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    description = "list and update the features of the cluster"
    add_resource(commands, "features", description, [_add_list, _add_update])


def _add_list(subcommands: Subcommands) -> None:
    add_subcommand(
        subcommands,
        "list",
        run_list,
        "list the levels that the cluster uses and its brokers support",
        positional=True,
        has_json=True,
    )


def _add_update(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "update",
        run_update,
        "set the levels that the cluster uses",
        details="Without --yes, the controller only validates the changes, and they are shown.",
        confirmed=True,
    )
    parser.add_argument(
        "levels",
        nargs="+",
        metavar="FEATURE=LEVEL",
        help="a feature and its level; 0 is off, and for metadata.version it may be a release",
    )
    parser.add_argument(
        "--downgrade",
        choices=["no", "safe", "unsafe"],
        default="no",
        help="whether levels may be lowered: only without loss, or even if metadata is lost (no)",
    )


def run_list(arguments: argparse.Namespace) -> int:
    """List the features; return the exit code."""
    with admin(arguments) as client:
        described = client.describe_features(errors="return")
        cluster = client.describe_cluster(fenced=True)
    down = [each.id for each in cluster.brokers if each.is_fenced]
    document = FeaturesDescriptionDocument(
        finalized_features=described.finalized_features,
        finalized_features_epoch=described.finalized_features_epoch,
        supported_features=described.supported_features,
    )
    show(arguments, document, [_table(described)])
    detail = "the levels that it supports are unknown"
    return print_errors([*(broker_down(each, detail) for each in down), *described.errors])


def _table(described: FeaturesDescription) -> Table:
    names = {name for each in described.supported_features.values() for name in each}
    names.update(described.finalized_features)
    rows = []
    for name in sorted(names):
        level = _level(name, described.finalized_features.get(name, 0))
        rows += [[name, level, *cells] for cells in _supported(described, name)]
    line = counted(len(names), "feature")
    if described.finalized_features_epoch is not None:
        line += f", epoch {described.finalized_features_epoch}"
    header = ["feature", "level", "supported", "by brokers"]
    return Table("", header if rows else [], rows, [line])


def _level(name: str, level: int) -> str:
    """Return a level, with the release that Kafka names it by if it has one."""
    release = METADATA_RELEASES.get(level) if name == METADATA_VERSION else None
    return str(level) if release is None else f"{level} ({release})"


def _supported(described: FeaturesDescription, name: str) -> list[list[str]]:
    """Return the supported levels and the brokers that support them: one row if all agree."""
    brokers: dict[str, list[int]] = {}
    for broker, features in sorted(described.supported_features.items()):
        levels = features.get(name)
        shown = (
            "none"
            if levels is None
            # The release of the highest one is enough, so that a line fits into 80 columns.
            else f"{levels.min_version} to {_level(name, levels.max_version)}"
        )
        brokers.setdefault(shown, []).append(broker)
    if len(brokers) == 1 and not described.errors:
        return [[shown, "all"] for shown in brokers]
    return [[shown, joined(ids)] for shown, ids in brokers.items()]


def run_update(arguments: argparse.Namespace) -> int:
    """Set levels; return the exit code."""
    levels = _levels(arguments.levels)
    with admin(arguments) as client:
        plan = client.update_features(levels, downgrade=arguments.downgrade, dry_run=True)
        if not confirm(arguments, plan):
            return 1 if plan else 0
        updated = client.update_features(levels, downgrade=arguments.downgrade, errors="return")
    return report(
        updated, "set the level of", lambda name: f"{name} to {levels[name]}", noun="feature"
    )


def _levels(given: Iterable[str]) -> dict[str, int]:
    levels = {}
    for name, level in parse_pairs(given, "FEATURE=LEVEL").items():
        if name == METADATA_VERSION and level in LEVELS:
            levels[name] = LEVELS[level]
        elif level.isdecimal() and int(level) <= 32767:
            levels[name] = int(level)
        else:
            raise ConfigError(
                f"{name}={level}: expected a level, a number of 0 to 32767"
                + (", or a release such as 4.3-IV0" if name == METADATA_VERSION else "")
            )
    return levels

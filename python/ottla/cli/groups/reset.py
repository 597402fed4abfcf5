"""``ottla groups reset``: set the committed offsets of a group without members."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from ottla import Admin
from ottla._internal.text import reason
from ottla.admin import Shift
from ottla.admin.resetting import ResetTarget
from ottla.cli.offset_specs import parse_spec
from ottla.cli.parsing import parse_duration, parse_partition
from ottla.cli.resources import (
    Subcommands,
    add_subcommand,
    admin,
    confirm,
    partition_name,
    print_plan,
    report,
)
from ottla.cli.suggestions import suggest_group
from ottla.errors import ConfigError

_SHIFT = re.compile(r"[+-]\d+")


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "reset",
        run,
        "set the committed offsets of a group without members",
        details="An offset out of a partition's range becomes its first or its end offset.",
        confirmed=True,
    )
    parser.add_argument("name", metavar="GROUP", help="the id of the group")
    to = parser.add_mutually_exclusive_group(required=True)
    to.add_argument(
        "--to",
        metavar="TARGET",
        help="earliest, latest, current, an offset, a time (2026-11-24T10:00:00Z), how long ago "
        "(12h), or +N or -N from the committed offset (--to=-N)",
    )
    to.add_argument(
        "--from-file",
        type=Path,
        metavar="FILE",
        help="a file of offsets from `ottla groups offsets --json`",
    )
    parser.add_argument(
        "-t",
        "--topic",
        action="append",
        metavar="TOPIC[:PARTITION]",
        help="only these; may be repeated (all with a committed offset)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Reset offsets; return the exit code."""
    topics = arguments.topic and [parse_partition(each) for each in arguments.topic]
    with admin(arguments) as client, suggest_group(client, arguments.name):
        if arguments.from_file is not None:
            return _import(client, arguments)
        target = parse_target(arguments.to)
        plan = client.reset_group_offsets(arguments.name, target, topics, dry_run=not arguments.yes)
    if not confirm(arguments, plan):
        return 1 if plan else 0
    print_plan(plan, applied_to={"group_id": arguments.name})
    return 0


def parse_target(text: str) -> ResetTarget:
    """Parse the target of a reset."""
    if text == "current":
        return "current"
    if _SHIFT.fullmatch(text):
        return Shift(int(text))
    if text.isdecimal():
        return int(text)
    try:
        return parse_duration(text)
    except ConfigError:
        return parse_spec(text)  # type: ignore[return-value]  # a name or a time


def _import(client: Admin, arguments: argparse.Namespace) -> int:
    wanted = _read(arguments.from_file, arguments.name)
    if arguments.topic:
        raise ConfigError("-t and --from-file exclude each other: the file names the partitions")
    found = client.list_group_offsets([arguments.name])[arguments.name]
    changed = {
        each: offset
        for each, offset in wanted.items()
        if each not in found or found[each].offset != offset
    }
    plan = client.alter_group_offsets(arguments.name, changed, dry_run=True)
    if not confirm(arguments, plan):
        return 1 if plan else 0
    altered = client.alter_group_offsets(arguments.name, changed, errors="return")
    return report(altered, "reset", partition_name)


def _read(path: Path, group: str) -> dict[tuple[str, int], int]:
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
        [offsets] = [each["offsets"] for each in value if each["group_id"] == group]
        return {
            (str(each["topic"]), int(each["partition"])): int(each["offset"]) for each in offsets
        }
    except OSError as error:
        raise ConfigError(f"--from-file {path}: {reason(error)}") from error
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise ConfigError(
            f"--from-file {path}: expected what `ottla groups offsets {group} --json` writes: "
            f"{error}"
        ) from error

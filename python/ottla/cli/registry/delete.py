"""``ottla registry delete``: delete a subject, or a version of it.

Invariant: without ``--yes`` nothing is deleted.
"""

from __future__ import annotations

import argparse

from ottla._internal.text import counted
from ottla.admin import Plan, PlannedChange
from ottla.cli.messages import Item
from ottla.cli.registry.connection import add_registry, registry
from ottla.cli.registry.schemas import number_argument
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    confirm,
    print_plan,
    report_one,
)
from ottla.errors import SchemaError


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "delete",
        run,
        "delete a subject, or a version of it",
        details="What is deleted softly remains available by its id, and to schemas that refer to "
        "it. With --permanent it is gone, and records with its id can no longer be read unless "
        "another subject has the schema.",
        confirmed=True,
    )
    parser.add_argument("subject", metavar="SUBJECT", help="the subject")
    parser.add_argument(
        "--version", type=number_argument, metavar="N", help="delete this version only (all)"
    )
    parser.add_argument(
        "--permanent",
        action="store_true",
        help="delete for good, also what was deleted softly before",
    )
    add_registry(parser)
    add_dry_run(parser, "only show the plan")


def run(arguments: argparse.Namespace) -> int:
    """Delete a subject or a version; return the exit code."""
    subject, version = arguments.subject, arguments.version
    with registry(arguments) as client:
        found = client.versions(subject, deleted=arguments.permanent)
        if version is not None and version not in found:
            known = ", ".join(map(str, found))
            raise SchemaError(f"subject {subject} does not have version {version}: it has {known}")
        what = f"subject {subject}" if version is None else f"version {version} of {subject}"
        details = counted(len(found) if version is None else 1, "version")
        old = "exists" if not arguments.permanent else "exists, or was deleted softly"
        new = "gone for good" if arguments.permanent else "deleted softly"
        plan = Plan([PlannedChange("delete", what, details, old, new)])
        if arguments.dry_run:
            print_plan(plan)
            return 0
        if not confirm(arguments, plan):
            return 1
        if version is None:
            client.delete_subject(subject, permanent=arguments.permanent)
        else:
            client.delete_version(subject, version, permanent=arguments.permanent)
    item = Item(subject=subject)
    if version is not None:
        item["version"] = version
    return report_one(item, f"deleted {what}")

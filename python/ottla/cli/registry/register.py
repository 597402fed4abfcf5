"""``ottla registry register``: register the schema in a file.

Invariant: without ``--yes`` nothing is registered, and an incompatible schema never is.
"""

from __future__ import annotations

import argparse

from ottla._internal.text import clean
from ottla.admin import Plan, PlannedChange
from ottla.cli.messages import Item, is_json, say, say_error
from ottla.cli.output import collect_result
from ottla.cli.registry.compatibility import check
from ottla.cli.registry.connection import (
    add_registry,
    is_missing_schema,
    is_missing_subject,
    registry,
)
from ottla.cli.registry.schemas import add_file, name_of, schema_of
from ottla.cli.resources import Subcommands, add_dry_run, add_subcommand, confirm, print_plan
from ottla.cli.streams import print_done
from ottla.errors import SchemaError
from ottla.schema import Registry, Schema

_INCOMPATIBLE = "IncompatibleSchema"


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "register",
        run,
        "register the schema in a file",
        details="Shows first whether the schema is compatible with the versions of the subject.",
        confirmed=True,
    )
    parser.add_argument("subject", metavar="SUBJECT", help="by convention TOPIC-key or TOPIC-value")
    add_file(parser)
    parser.add_argument(
        "--normalize",
        action="store_true",
        help="let the registry normalize the schema first, so that another way to write a "
        "registered one is no new version",
    )
    add_registry(parser)
    add_dry_run(parser, "only show the plan")


def run(arguments: argparse.Namespace) -> int:
    """Register a schema; return the exit code."""
    schema = schema_of(arguments)
    with registry(arguments) as client:
        existing = _registered(client, arguments, schema)
        if existing is not None:
            _report(existing, "registered already:", is_unchanged=True)
            return 0
        is_compatible, messages = check(client, arguments.subject, schema)
        verdict = "compatible" if is_compatible else "incompatible"
        plan = Plan(
            [
                PlannedChange(
                    "register",
                    f"schema in subject {arguments.subject}",
                    f"{schema.type}, {verdict}",
                    _latest(client, arguments.subject),
                    "a new version",
                )
            ]
        )
        for message in messages:
            say(clean(message))
        if arguments.dry_run or not is_compatible:
            print_plan(plan)
            if not is_compatible:
                say_error("nothing was registered: the schema is incompatible", name=_INCOMPATIBLE)
            return 0 if is_compatible else 1
        if not confirm(arguments, plan):
            return 1
        registered = client.register(arguments.subject, schema, normalize=arguments.normalize)
        if registered.version is None:
            # Most registries return the id alone.
            registered = client.lookup(arguments.subject, schema, normalize=arguments.normalize)
    _report(registered, "registered")
    return 0


def _report(schema: Schema, done: str, *, is_unchanged: bool = False) -> None:
    item = Item()
    if schema.subject is not None:
        item["subject"] = schema.subject
    if schema.version is not None:
        item["version"] = schema.version
    if schema.id is not None:
        item["schema_id"] = schema.id
    collect_result(item, None, is_unchanged=is_unchanged)
    if not is_json():
        print_done(clean(f"{done} {name_of(schema)}"))


def _registered(client: Registry, arguments: argparse.Namespace, schema: Schema) -> Schema | None:
    try:
        return client.lookup(arguments.subject, schema, normalize=arguments.normalize)
    except SchemaError as error:
        if not is_missing_schema(error):
            raise
        return None


def _latest(client: Registry, subject: str) -> str | None:
    try:
        return f"version {client.latest(subject).version}"
    except SchemaError as error:
        if not is_missing_subject(error):
            raise
        return None

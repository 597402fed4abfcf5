"""``ottla acls``: list, create and delete the entries of access control lists."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ottla.admin import Acl, AclFilter
from ottla.cli.partial import each_alone, print_errors
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_resource,
    add_subcommand,
    admin,
    confirm,
    print_plan,
    report,
    show,
)
from ottla.cli.tables import Table
from ottla.errors import ConfigError, KafkaError

_RESOURCES = {
    "topic": "topic",
    "group": "group",
    "transactional-id": "transactional_id",
    "delegation-token": "delegation_token",
    "user": "user",
}
_CLUSTER = "kafka-cluster"


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    description = "list, create and delete access control entries"
    add_resource(commands, "acls", description, [_add_list, _add_create, _add_delete])


def _add_resources(parser: argparse.ArgumentParser) -> None:
    for option in _RESOURCES:
        what = option.replace("-", " ")
        parser.add_argument(
            f"--{option}", metavar="NAME", action="append", help=f"a {what}, or * for any name"
        )
    parser.add_argument("--cluster", action="store_true", help="the cluster itself")


def _add_filter(parser: argparse.ArgumentParser) -> None:
    _add_resources(parser)
    parser.add_argument(
        "--principal", type=_principal, help="only entries of this principal, such as User:alice"
    )
    parser.add_argument("--host", help="only entries for this address")
    parser.add_argument("--operation", help="only entries for this operation, such as read")
    parser.add_argument("--permission", choices=["allow", "deny"], help="only these")
    parser.add_argument(
        "--affecting",
        action="store_true",
        help="all entries that apply to the resource: by its full name, a prefix, or *",
    )


def _principal(text: str) -> str:
    # Brokers refuse entries with others, and no entry can match a filter with one.
    kind, _, name = text.partition(":")
    if not kind or not name:
        raise argparse.ArgumentTypeError(f"expected a principal such as User:alice, got {text!r}")
    return text


def _add_list(subcommands: Subcommands) -> None:
    parser = add_subcommand(subcommands, "list", run_list, "list entries", has_json=True)
    _add_filter(parser)


def _add_create(subcommands: Subcommands) -> None:
    parser = add_subcommand(subcommands, "create", run_create, "create entries")
    _add_resources(parser)
    parser.add_argument(
        "--principal",
        action="append",
        required=True,
        type=_principal,
        help="such as User:alice or User:*",
    )
    permission = parser.add_mutually_exclusive_group(required=True)
    permission.add_argument(
        "--allow", metavar="OPERATIONS", help="the allowed operations, such as read,describe or all"
    )
    permission.add_argument("--deny", metavar="OPERATIONS", help="the denied operations")
    parser.add_argument("--host", action="append", help="the client address (any)")
    parser.add_argument(
        "--prefixed", action="store_true", help="for all resources whose names begin with this name"
    )
    add_dry_run(parser, "only show the entries, and create nothing")


def _add_delete(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "delete",
        run_delete,
        "delete the entries that match all given options",
        confirmed=True,
    )
    _add_filter(parser)
    parser.add_argument("--all", action="store_true", help="every entry of the cluster")


def _resources(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    named = [
        (kind, name)
        for option, kind in _RESOURCES.items()
        for name in getattr(arguments, option.replace("-", "_")) or ()
    ]
    return named + ([("cluster", _CLUSTER)] if arguments.cluster else [])


def _filters(arguments: argparse.Namespace) -> list[AclFilter]:
    resources: Sequence[tuple[str | None, str | None]] = _resources(arguments) or [(None, None)]
    if arguments.affecting and resources == [(None, None)]:
        raise ConfigError("--affecting: name a resource, such as --topic orders")
    return [
        AclFilter(
            resource_type=kind,  # type: ignore[arg-type]  # a literal
            resource_name=name,
            principal=arguments.principal,
            operation=arguments.operation,
            permission=arguments.permission,
            host=arguments.host,
            pattern_type="match" if arguments.affecting else None,
        )
        for kind, name in resources
    ]


def run_list(arguments: argparse.Namespace) -> int:
    """List entries; return the exit code."""
    with admin(arguments) as client:
        found, failed = each_alone(_filters(arguments), client.describe_acls)
    entries = sorted({acl for each in found.values() for acl in each})
    # An empty table would look like an answer.
    show(arguments, entries, [_table(entries)] if found else [])
    return print_errors(failed.values())


def _table(entries: Sequence[Acl]) -> Table:
    rows = [
        [
            each.principal,
            each.permission,
            each.operation,
            each.resource_type,
            each.resource_name + ("…" if each.pattern_type == "prefixed" else ""),
            each.host,
        ]
        for each in entries
    ]
    header = ["principal", "permission", "operation", "resource", "name", "host"]
    return Table("", header, rows, ["1 entry" if len(rows) == 1 else f"{len(rows)} entries"])


def run_create(arguments: argparse.Namespace) -> int:
    """Create entries; return the exit code."""
    resources = _resources(arguments)
    if not resources:
        raise ConfigError("name the resource, such as --topic orders, or --cluster")
    permission = "allow" if arguments.allow else "deny"
    operations = [each.strip() for each in (arguments.allow or arguments.deny).split(",")]
    entries = [
        Acl(
            kind,  # type: ignore[arg-type]  # a literal
            name,
            principal,
            operation,
            permission,  # type: ignore[arg-type]  # a literal
            host,
            "prefixed" if arguments.prefixed and kind != "cluster" else "literal",
        )
        for kind, name in resources
        for principal in arguments.principal
        for operation in operations
        for host in arguments.host or ["*"]
    ]
    with admin(arguments) as client:
        if arguments.dry_run:
            print_plan(client.create_acls(entries, dry_run=True))
            return 0
        return report(client.create_acls(entries, errors="return"), "created:")


def run_delete(arguments: argparse.Namespace) -> int:
    """Delete entries; return the exit code."""
    filters = _filters(arguments)
    if arguments.all != (filters == [AclFilter()]):
        raise ConfigError("name the entries to delete, such as --principal User:alice, or --all")
    with admin(arguments) as client:
        plan = client.delete_acls(filters, dry_run=True)
        if not confirm(arguments, plan):
            return 1 if plan else 0
        deleted = client.delete_acls(filters, errors="return")
    failed = {each: found for each, found in deleted.items() if isinstance(found, KafkaError)}
    entries = {
        acl for found in deleted.values() if not isinstance(found, KafkaError) for acl in found
    }
    report(dict.fromkeys(sorted(entries)), "deleted:")
    return report(failed, "", str)

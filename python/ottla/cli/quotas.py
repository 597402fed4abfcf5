"""``ottla quotas``: list, set and remove client quotas (KIP-546)."""

from __future__ import annotations

import argparse
import math
from typing import TypedDict

from ottla.admin import QuotaEntity
from ottla.admin.quotas import plain_number
from ottla.cli.output import plain
from ottla.cli.parsing import parse_pairs
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_resource,
    add_subcommand,
    admin,
    print_plan,
    show,
)
from ottla.cli.suggestions import unknown
from ottla.cli.tables import Table
from ottla.errors import ConfigError

_NAMES = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)
_QUOTAS = (
    "producer_byte_rate and consumer_byte_rate (bytes per second), request_percentage, "
    "controller_mutation_rate, connection_creation_rate"
)


class EntityQuotas(TypedDict):
    """The quotas of a user, a client id or an address.

    Attributes:
        user: the user; empty for all that have no quota of their own, null for any.
        client_id: the client.id, likewise.
        ip: the address, likewise.
        quotas: the values by name.
    """

    user: str | None
    client_id: str | None
    ip: str | None
    quotas: dict[str, float]


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    add_resource(
        commands, "quotas", "list, set and remove client quotas", [_add_list, _add_set, _add_unset]
    )


def _add_entity(parser: argparse.ArgumentParser) -> None:
    default = "; `default` for all that have no quota of their own"
    parser.add_argument("--user", help=f"a user{default}")
    parser.add_argument("--client-id", help=f"a client.id{default}")
    parser.add_argument("--ip", help=f"an address{default}")


def _add_list(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands, "list", run_list, "list quotas", positional=True, has_json=True
    )
    _add_entity(parser)


def _add_set(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands, "set", run_set, "set quotas", details=f"Quotas: {_QUOTAS}."
    )
    _add_entity(parser)
    parser.add_argument("quotas", nargs="+", metavar="QUOTA=NUMBER", help="a quota and its value")
    add_dry_run(parser)


def _add_unset(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands, "unset", run_unset, "remove quotas", details=f"Quotas: {_QUOTAS}."
    )
    _add_entity(parser)
    parser.add_argument("quotas", nargs="+", metavar="QUOTA", help="the name of a quota")
    add_dry_run(parser)


def _entity(arguments: argparse.Namespace) -> QuotaEntity | None:
    named = [arguments.user, arguments.client_id, arguments.ip]
    if not any(named):
        return None
    return QuotaEntity(*("" if name == "default" else name for name in named))


def run_list(arguments: argparse.Namespace) -> int:
    """List quotas; return the exit code."""
    with admin(arguments) as client:
        found = client.describe_client_quotas(_entity(arguments))
    value: list[EntityQuotas] = [
        {"user": each.user, "client_id": each.client_id, "ip": each.ip, "quotas": quotas}
        for each, quotas in found.items()
    ]
    rows = [
        [str(entity), quota, plain_number(number)]
        for entity, quotas in sorted(found.items(), key=lambda item: str(item[0]))
        for quota, number in sorted(quotas.items())
    ]
    lines = [] if rows else ["no quotas"]
    show(arguments, value, [Table("", ["for", "quota", "limit"], rows, lines)])
    return 0


def run_set(arguments: argparse.Namespace) -> int:
    """Set quotas; return the exit code."""
    values: dict[str, float | None] = {}
    for name, number in parse_pairs(arguments.quotas, "QUOTA=NUMBER").items():
        try:
            values[name] = float(number)
        except ValueError:
            values[name] = math.nan
        if not math.isfinite(values[name] or 0.0):
            raise ConfigError(f"{name}={number}: expected a number")
    return _alter(arguments, values)


def run_unset(arguments: argparse.Namespace) -> int:
    """Remove quotas; return the exit code."""
    for name in arguments.quotas:
        if name not in _NAMES:
            raise unknown("quota", name, _NAMES)
    return _alter(arguments, dict.fromkeys(arguments.quotas))


def _alter(arguments: argparse.Namespace, values: dict[str, float | None]) -> int:
    entity = _entity(arguments)
    if entity is None:
        raise ConfigError("give the owner of the quota: --user, --client-id, both, or --ip")
    with admin(arguments) as client:
        plan = client.alter_client_quotas({entity: values}, dry_run=True)
        if not arguments.dry_run:
            client.alter_client_quotas({entity: values})
    print_plan(plan, applied_to=None if arguments.dry_run else plain(entity))
    return 0

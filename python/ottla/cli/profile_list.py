"""``ottla profiles``: the profiles of the file, without their secrets."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TypedDict

from ottla._core import config_row_of
from ottla.cli.options import add_json
from ottla.cli.profiles import path, read_profiles
from ottla.cli.resources import Subcommands, show
from ottla.cli.tables import Table


class Profile(TypedDict):
    """A profile, without its secrets.

    Attributes:
        name: its name.
        bootstrap: the addresses of its cluster; empty if it has none.
    """

    name: str
    bootstrap: str


def add(commands: Subcommands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "profiles",
        help="list the profiles",
        description="List the profiles of the file, with the addresses of their clusters.",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List the profiles; return the exit code."""
    found = {name: servers_of_profile(keys) for name, keys in read_profiles().items()}
    value: list[Profile] = [{"name": name, "bootstrap": servers} for name, servers in found.items()]
    rows = [[name, servers] for name, servers in sorted(found.items())]
    lines = [str(path())] if rows else [f"no profiles: {path()} is missing or empty"]
    show(arguments, value, [Table("", ["profile", "servers"], rows, lines)])
    return 0


def servers_of_profile(keys: Mapping[str, str]) -> str:
    """Return the addresses of a profile, or hide them if they contain credentials."""
    rows = ("bootstrap.servers", "bootstrap.controllers")
    found = (value for key, value in keys.items() if config_row_of(key) in rows)
    servers = next(found, "")
    return "<hidden>" if "@" in servers else servers

"""``ottla users``: the SCRAM credentials of users (KIP-554).

Invariant: a password is never an argument, since other users of the machine could see it.
"""

from __future__ import annotations

import argparse
from typing import TypedDict

from ottla._internal.text import counted
from ottla.admin import DeletePassword, ScramCredential, SetPassword
from ottla.cli.passwords import add_password_file, read_password
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
from ottla.cli.suggestions import with_users
from ottla.cli.tables import Table
from ottla.errors import ConfigError, KafkaError

_MECHANISMS = ["SCRAM-SHA-256", "SCRAM-SHA-512"]


class UserCredentials(TypedDict):
    """The SCRAM credentials of a user, without passwords.

    Attributes:
        user: the name of the user.
        credentials: the mechanism and the iterations of each.
    """

    user: str
    credentials: list[ScramCredential]


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    description = "list users, set and delete their SCRAM passwords"
    add_resource(commands, "users", description, [_add_list, _add_set, _add_delete])


def _add_list(subcommands: Subcommands) -> None:
    add_subcommand(
        subcommands,
        "list",
        run_list,
        "list the users with SCRAM passwords",
        positional=True,
        has_json=True,
    )


def _add_set(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "set-password",
        run_set,
        "set the password of a user",
        details="The password is asked for, or read from the first line of a file.",
    )
    parser.add_argument("name", metavar="USER", help="the name of the user")
    add_password_file(parser)
    parser.add_argument(
        "--mechanism",
        choices=_MECHANISMS,
        default=_MECHANISMS[1],
        help="the mechanism (SCRAM-SHA-512)",
    )
    parser.add_argument(
        "--iterations", type=int, default=4096, help="how often it is hashed (4096)"
    )
    add_dry_run(parser, "only show whether it would replace another password")


def _add_delete(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "delete-password",
        run_delete,
        "delete passwords, so that the user cannot log in with them",
        confirmed=True,
    )
    parser.add_argument("name", metavar="USER", help="the name of the user")
    parser.add_argument("--mechanism", choices=_MECHANISMS, help="only this mechanism (all)")


def run_list(arguments: argparse.Namespace) -> int:
    """List the users; return the exit code."""
    with admin(arguments) as client:
        found = client.describe_user_scram_credentials()
    value: list[UserCredentials] = [
        {"user": user, "credentials": each} for user, each in sorted(found.items())
    ]
    show(arguments, value, [_table(found)])
    return 0


def _table(found: dict[str, list[ScramCredential]]) -> Table:
    rows = [
        [user, each.mechanism, str(each.iterations)]
        for user, credentials in sorted(found.items())
        for each in credentials
    ]
    header = ["user", "mechanism", "iterations"]
    return Table("", header, rows, [counted(len(found), "user")])


def run_set(arguments: argparse.Namespace) -> int:
    """Set a password; return the exit code."""
    password = read_password(arguments.name, arguments.password_file)
    secret = SetPassword(password, arguments.mechanism, arguments.iterations)
    alterations = {arguments.name: [secret]}
    with admin(arguments) as client:
        if arguments.dry_run:
            print_plan(client.alter_user_scram_credentials(alterations, dry_run=True))
            return 0
        changed = client.alter_user_scram_credentials(alterations, errors="return")
    return report(changed, "set the password of", of=f" ({arguments.mechanism})", noun="user")


def run_delete(arguments: argparse.Namespace) -> int:
    """Delete passwords; return the exit code."""
    with admin(arguments) as client:
        name = arguments.name
        found = client.describe_user_scram_credentials([name], errors="return")[name]
        if isinstance(found, KafkaError):
            raise with_users(client, found, name)
        mechanisms = [
            each.mechanism for each in found if arguments.mechanism in {None, each.mechanism}
        ]
        if not mechanisms:
            raise ConfigError(f"user {arguments.name} has no {arguments.mechanism} password")
        deletions = {arguments.name: [DeletePassword(each) for each in mechanisms]}
        if not confirm(arguments, client.alter_user_scram_credentials(deletions, dry_run=True)):
            return 1
        changed = client.alter_user_scram_credentials(deletions, errors="return")
    return report(changed, "deleted:", of=f" ({', '.join(mechanisms)})", noun="user")

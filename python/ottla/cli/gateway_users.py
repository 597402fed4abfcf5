"""``ottla gateway-users``: the entry of a user in the file of ``ottla gateway --users``.

Invariant: a password is never an argument, and never printed. The entry suffices to check the
password, and not to log in.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import os
from base64 import b64encode
from typing import Any, TypedDict

from ottla.cli.options import add_json
from ottla.cli.output import print_document
from ottla.cli.passwords import add_password_file, read_password
from ottla.errors import ConfigError

_MECHANISMS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
# What clients accept: fewer are easy to guess, and more only take time.
_ITERATIONS_MIN, _ITERATIONS_MAX = 4096, 1_000_000
_SALT_SIZE = 18


class GatewayUser(TypedDict):
    """The entry of a user in the file of ``ottla gateway --users``.

    Attributes:
        user: the name of the user.
        section: the lines for the file.
    """

    user: str
    section: str


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "gateway-users",
        help="print the entry of a user for the users file of a gateway",
        description="Print the section of a user for the file of 'ottla gateway --users': what "
        "Kafka too stores of a password, for PLAIN and both SCRAM mechanisms. The password is "
        "asked for, or read from the first line of a file.",
    )
    parser.add_argument("name", metavar="USER", help="the name of the user")
    add_password_file(parser)
    parser.add_argument(
        "--iterations", type=int, default=8192, help="how often it is hashed (8192)"
    )
    add_json(parser, "print the entry as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the entry; return the exit code."""
    name: str = arguments.name
    iterations: int = arguments.iterations
    if not name or name != name.strip() or "]" in name or not name.isprintable():
        raise ConfigError(f"{name!r} cannot be the name of a section: choose another one")
    if not _ITERATIONS_MIN <= iterations <= _ITERATIONS_MAX:
        raise ConfigError(
            f"--iterations {iterations}: expected {_ITERATIONS_MIN} to {_ITERATIONS_MAX}"
        )
    password = read_password(name, arguments.password_file)
    lines = [f"[{name}]"]
    for mechanism, algorithm in _MECHANISMS.items():
        lines.append(f"{mechanism} = {_credential(algorithm, password, iterations)}")
    section = "\n".join(lines)
    if arguments.json:
        print_document(GatewayUser(user=name, section=section))
    else:
        print(section)
    return 0


def _credential(algorithm: str, password: str, iterations: int) -> str:
    """Return the credential of SCRAM (RFC 5802), in the form in which Kafka stores it."""
    salt = os.urandom(_SALT_SIZE)
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    stored_key = hashlib.new(algorithm, client_key).digest()
    server_key = hmac.digest(salted, b"Server Key", algorithm)
    values = {"salt": salt, "stored_key": stored_key, "server_key": server_key}
    fields = [f"{name}={b64encode(value).decode()}" for name, value in values.items()]
    return ",".join([*fields, f"iterations={iterations}"])

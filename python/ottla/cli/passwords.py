"""Passwords of commands: asked for on the terminal, or read from a file.

Invariant: a password is never an argument, since other users of the machine could see it.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path

from ottla._internal.text import reason
from ottla.errors import ConfigError


def add_password_file(parser: argparse.ArgumentParser) -> None:
    """Add the argument ``--password-file``."""
    parser.add_argument(
        "--password-file", type=Path, metavar="FILE", help="a file with the password; - for stdin"
    )


def read_password(name: str, file: Path | None) -> str:
    """Return a new password.

    Args:
        name: the name of its user.
        file: the file whose first line it is; ``-`` for stdin. If None, the terminal asks for it.

    Raises:
        ConfigError: it is empty, the file cannot be read, or there is no terminal.
    """
    if file is None:
        if not sys.stdin.isatty():
            raise ConfigError(
                "no terminal to ask for the password: give --password-file (- is stdin)"
            )
        password = getpass.getpass(f"New password of {name}: ")
        if getpass.getpass("The same again: ") != password:
            raise ConfigError("the passwords differ: nothing was changed")
    elif str(file) == "-":
        try:
            password = sys.stdin.buffer.readline().decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise ConfigError("--password-file -: the password is not UTF-8") from None
    else:
        try:
            password = file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"--password-file {file}: {reason(error)}") from None
    if not password:
        raise ConfigError("the password is empty: nothing was changed")
    return password

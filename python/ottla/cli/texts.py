"""Arguments as text: UTF-8, unless an argument takes any bytes.

Invariants: a name or a setting that is not UTF-8 is an error, since it cannot be sent to a broker.
The error does not show the text, since it may be a secret.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from ottla.errors import ConfigError

# Clearer names for some arguments in error messages.
_NAMES = {"settings": "-X", "settings_of": "KEY=VALUE"}


class ByteText(str):
    """The type of an argument that may be any bytes. ``surrogateescape`` text preserves them."""

    __slots__ = ()


def as_utf8(argument: str) -> str:
    """Return an argument's UTF-8 bytes as text, even if the locale has another encoding."""
    if is_text(argument):
        return argument
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        return argument


def is_text(text: str) -> bool:
    """Return whether a text can be encoded in UTF-8: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_arguments(arguments: argparse.Namespace) -> None:
    """Check that all arguments are UTF-8, except those that take bytes or name files.

    Raises:
        ConfigError: an argument is not UTF-8.
    """
    for name, value in vars(arguments).items():
        for each in value if isinstance(value, list) else [value]:
            if _is_wrong(each):
                raise ConfigError(f"argument {_NAMES.get(name, name)}: expected UTF-8")


def _is_wrong(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, ByteText) and not is_text(value)

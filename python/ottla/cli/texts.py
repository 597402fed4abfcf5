"""Arguments as text: UTF-8, unless an argument takes any bytes.

Invariants: a name or a setting that is not UTF-8 is an error of the arguments, since no broker
could get it; the error does not show it, since it may be a secret.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from ottla.errors import ConfigError

# Where the name of an argument's value says little.
_NAMES = {"settings": "-X", "settings_of": "KEY=VALUE"}


class ByteText(str):
    """The type of an argument that may be any bytes, which its ``surrogateescape`` text keeps."""

    __slots__ = ()


def as_utf8(argument: str) -> str:
    """Return an argument whose bytes are UTF-8 as text, in locales of other encodings, too."""
    if is_text(argument):
        return argument
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        return argument


def is_text(text: str) -> bool:
    """Return whether a text has a form in UTF-8: no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_arguments(arguments: argparse.Namespace) -> None:
    """Check that all arguments are text but those that take bytes or name files.

    Raises:
        ConfigError: one is not.
    """
    for name, value in vars(arguments).items():
        for each in value if isinstance(value, list) else [value]:
            if _is_wrong(each):
                raise ConfigError(f"argument {_NAMES.get(name, name)}: expected UTF-8")


def _is_wrong(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, ByteText) and not is_text(value)

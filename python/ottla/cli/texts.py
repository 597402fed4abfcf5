"""Arguments as text and numbers: UTF-8 unless an argument takes any bytes, and not empty.

Invariants: a name or a setting that is not UTF-8 is an error, since it cannot be sent to a broker.
The error does not show the text, since it may be a secret. An empty name, as of a shell's variable
that is not set, is an error: it never means another cluster, another user, or all names.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from ottla._internal.text import is_encodable
from ottla.errors import ConfigError

# Clearer names for some arguments in error messages.
_NAMES = {"settings": "-X", "settings_of": "KEY=VALUE"}
# What may be empty, and pairs, whose errors name their form.
_MAY_BE_EMPTY = {
    "configs",
    "group_instance_id",
    "header",
    "header_as",
    "key",
    "levels",
    "prefix",
    "reason",
    "reference",
    "settings",
    "settings_of",
    "where",
}
# The numbers of Kafka's messages have 64 bits at most.
_NUMBERS = range(-(2**63), 2**63)


class ByteText(str):
    """The type of an argument that may be any bytes. ``surrogateescape`` text preserves them."""

    __slots__ = ()


def as_utf8(argument: str) -> str:
    """Return an argument's UTF-8 bytes as text, even if the locale has another encoding."""
    if is_encodable(argument):
        return argument
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        return argument


def check_arguments(arguments: argparse.Namespace) -> None:
    """Check that all arguments are UTF-8, except those that take bytes or name files.

    Raises:
        ConfigError: an argument is not UTF-8, a name is empty, or a number is out of range.
    """
    for name, value in vars(arguments).items():
        for each in value if isinstance(value, list) else [value]:
            shown = _NAMES.get(name, name)
            if _is_wrong(each):
                raise ConfigError(f"argument {shown}: expected UTF-8")
            if type(each) is str and not each and name not in _MAY_BE_EMPTY:
                raise ConfigError(
                    f"argument {shown} is empty: give a value, or check that the shell's variable "
                    "is set"
                )
            if isinstance(each, int) and each not in _NUMBERS:
                raise ConfigError(f"argument {shown}: {each} is out of range")


def _is_wrong(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, ByteText) and not is_encodable(value)

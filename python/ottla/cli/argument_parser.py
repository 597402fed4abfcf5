"""The parser of the command line, and the errors of arguments that it cannot parse.

Invariant: an error shows no value of a ``KEY=VALUE``, since that may be a secret.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from ottla.cli.messages import is_json, say_error

_JSON = "--json"
# argparse accepts any beginning of an option that is unique.
_SHORTEST = "--j"
_VALUE = re.compile(r"(?P<key>[\w.\-]+)=(?P<value>\S+)")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are JSON if the command line has ``--json``."""

    def error(self, message: str) -> NoReturn:
        """Report an error, and exit with code 2."""
        shown = _VALUE.sub(r"\g<key>=<hidden>", message)
        if not is_json():
            super().error(shown)
        say_error(shown, name="ArgumentError", remedy=f"{self.prog} --help")
        sys.exit(2)


def asks_for_json(words: Sequence[str]) -> bool:
    """Return whether arguments that are not parsed yet have ``--json`` or ``-J``."""
    for word in words:
        if word == "--":
            return False
        if word == "-J" or (word.startswith(_SHORTEST) and _JSON.startswith(word)):
            return True
    return False

"""Writes the options of ``ottla gateway`` for the program ``ottla-gateway``, which has no Python.

Called by `make docs`; tests/unit/test_gateway_options.py checks that the file is current.
Invariant: the program has every option of the command but those of profiles, with the same name,
default and help; its tests fail for an option that it does not read.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ottla.cli.gateway_arguments import add_arguments

FILE = Path(__file__).parent.parent / "rust" / "gateway" / "binary" / "src" / "options.json"
# A container has no profiles.
_LEFT_OUT = {"help", "profile"}


def text() -> str:
    """Return the options as JSON."""
    parser = add_arguments(argparse.ArgumentParser(prog="ottla").add_subparsers())
    # argparse has no public way to list what was added.
    actions = parser._actions  # noqa: SLF001
    groups = parser._mutually_exclusive_groups  # noqa: SLF001
    document = {
        "description": parser.description,
        "options": [_option(action) for action in actions if action.dest not in _LEFT_OUT],
        "exclusive": [[action.dest for action in group._group_actions] for group in groups],  # noqa: SLF001
    }
    return json.dumps(document, indent=2) + "\n"


def _option(action: argparse.Action) -> dict[str, Any]:
    is_flag = action.nargs == 0
    is_list = isinstance(action.default, list)
    return {
        "name": action.dest,
        "flags": list(action.option_strings),
        "kind": "flag" if is_flag else "list" if is_list else "value",
        "metavar": None if is_flag else action.metavar or action.dest.upper(),
        "default": None if is_flag or is_list or action.default is None else str(action.default),
        "help": action.help,
    }


def main() -> None:
    FILE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()

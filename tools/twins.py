#!/usr/bin/env python3
"""Makes one twin of a package from the other, where blocking and asyncio differ by rules alone.

The asyncio calls of Admin are made from the blocking ones, and the blocking classes of
confluent-kafka's schema registry from those for asyncio. `make docs` runs this; with `--check`,
as in `make lint`, it only reports which files are not current. Invariants: a file that is made
says so in its first line, and each file but ``__init__.py`` is made.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Twin(NamedTuple):
    """A package that is made from another, in the same folder."""

    folder: Path
    source: str
    target: str
    # Patterns and what replaces them, in this order, each line by itself.
    replaced: tuple[tuple[str, str], ...]


TWINS = (
    Twin(
        ROOT / "python/ottla/admin",
        source="blocking",
        target="asynchronous",
        replaced=(
            (r"\bBlockingCalls\b", "AsynchronousCalls"),
            (r"^class (\w+Calls)\b", r"class Async\1"),
            (r"^    def (?!_)", "    async def "),
            (r"\bself\._run\(", "await self._run("),
            (r"\bself\.(?!_)(\w+)\(", r"await self.\1("),
            (r"\bsuper\(\)\.", r"await super()."),
            (r"\b_core\.Admin\b", "_core.AsyncAdmin"),
            (r"ottla\.admin\.blocking\b", "ottla.admin.asynchronous"),
        ),
    ),
    Twin(
        ROOT / "python/ottla/compat/confluent_kafka/schema_registry",
        source="_async",
        target="_sync",
        replaced=(
            # mypy accepts the signatures of plain functions.
            (r"(\basync def .*)  # type: ignore\[\w+\]$", r"\1"),
            (r"\basync def\b", "def"),
            (r"\bawait ", ""),
            (r", metaclass=AwaitableInit\b", ""),
            (r"\bAwaitable\[([^][]+)\]", r"\1"),
            (r"^import asyncio$", "import threading\nimport time"),
            (r"\basyncio\.Lock\b", "threading.Lock"),
            (r"\basyncio\.sleep\b", "time.sleep"),
            (r"\brun_async\b", "run"),
            (r"\baclose\b", "close"),
            (r"\b__a(enter|exit)__", r"__\1__"),
            (r"\b_async\b", "_sync"),
            (r"(\b|_)async_(?=[a-z])", r"\1"),
            (r"(\b|_)Async(?=[A-Z])", r"\1"),
            (r"\basyncio\b", "blocking"),
        ),
    ),
)


def made_from(twin: Twin, path: Path) -> str:
    """Return a file's twin, in ruff's format, with sorted imports of what it uses."""
    text = path.read_text()
    for pattern, replacement in twin.replaced:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    name = str(twin.folder / twin.target / path.name)
    note = f"# Made by tools/twins.py from ../{twin.source}/{path.name}: change that file.\n"
    sorts = ("check", "--quiet", "--fix", "--select", "I,F401,RUF022")
    return _ruff(("format",), name, _ruff(sorts, name, note + text))


def _ruff(command: tuple[str, ...], name: str, text: str) -> str:
    whole = [sys.executable, "-m", "ruff", *command, "--stdin-filename", name, "-"]
    done = subprocess.run(  # noqa: S603 - the command is all ours
        whole, input=text, capture_output=True, text=True, check=True
    )
    return done.stdout


def differences(twin: Twin) -> Iterator[tuple[Path, str | None]]:
    """Return the files that are not current, with their text; None for those without a source."""
    source, target = twin.folder / twin.source, twin.folder / twin.target
    made = {path.name for path in source.glob("*.py")} - {"__init__.py"}
    for name in sorted(made):
        text = made_from(twin, source / name)
        if not (target / name).exists() or (target / name).read_text() != text:
            yield target / name, text
    for path in sorted(target.glob("*.py")):
        if path.name not in made | {"__init__.py"}:
            yield path, None


def main() -> int:
    """Write the files, or report which are not current."""
    is_check = "--check" in sys.argv
    outdated = False
    for twin in TWINS:
        for path, text in differences(twin):
            outdated = True
            if is_check:
                print(f"{path} is not current: run tools/twins.py", file=sys.stderr)
            elif text is None:
                path.unlink()
            else:
                path.write_text(text)
    return 1 if is_check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Makes the calls of AsyncAdmin, python/ottla/admin/asynchronous/, from those of Admin, blocking/.

The two differ in `async` and `await` alone. `make docs` runs this; with `--check` it only reports
whether the result is current. Invariant: a file that is made says so in its first lines.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CALLS = Path(__file__).resolve().parent.parent / "python" / "ottla" / "admin"
_NOTE = "# Made by tools/async_admin.py from ../blocking/{name}: change that file.\n"
_REPLACED = (
    (r"\bBlockingCalls\b", "AsynchronousCalls"),
    (r"^class (\w+Calls)\b", r"class Async\1"),
    (r"^    def (?!_)", "    async def "),
    (r"\bself\._run\(", "await self._run("),
    (r"\bsuper\(\)\.", r"await super()."),
    (r"\b_core\.Admin\b", "_core.AsyncAdmin"),
    (r"ottla\.admin\.blocking\b", "ottla.admin.asynchronous"),
)


def asynchronous(path: Path) -> str:
    """Return the asynchronous form of a file of blocking calls, formatted by ruff."""
    text = path.read_text()
    for pattern, replacement in _REPLACED:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    target = CALLS / "asynchronous" / path.name
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(target), "-"]
    done = subprocess.run(  # noqa: S603 - the command is all ours
        ruff,
        input=_NOTE.format(name=path.name) + text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def main() -> int:
    """Write the files, or report which are not current."""
    outdated = []
    for path in sorted((CALLS / "blocking").glob("[a-z]*.py")):
        target, text = CALLS / "asynchronous" / path.name, asynchronous(path)
        if not target.exists() or target.read_text() != text:
            outdated.append(target)
            if "--check" not in sys.argv:
                target.write_text(text)
    if outdated and "--check" in sys.argv:
        for target in outdated:
            print(f"{target} is not current: run tools/async_admin.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

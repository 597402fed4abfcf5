"""What the console of a wheel must do in a clean environment with the extra `console`.

    python tests/wheel/console_smoke.py

Run by `make wheel`. The command serves a simulation; the page and all that it loads must be part of
the wheel.
"""

from __future__ import annotations

import re
import subprocess
import sys
from urllib.request import HTTPCookieProcessor, build_opener

LOADED = re.compile(r'(?:href|src)="(/static/[^"]+)"|(?:from|import\()\s*"(\./[^"]+|\.\./[^"]+)"')


def main() -> None:
    """Start the command, and load the page as a browser does."""
    command = [sys.executable, "-m", "ottla", "console", "--simulate", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix("ottla console: ").strip()
        opener = build_opener(HTTPCookieProcessor())

        def load(path: str) -> str:
            origin = url.partition("/?")[0]
            with opener.open(url if path == "/" else origin + path, timeout=30) as response:
                body: bytes = response.read()
                return body.decode()

        seen: set[str] = set()
        wanted = {"/"}
        while wanted:
            path = wanted.pop()
            seen.add(path)
            for absolute, relative in LOADED.findall(load(path)):
                found = absolute or _resolve(path, relative)
                wanted |= {found} - seen
        assert "/static/vendor/uPlot.esm.js" in seen, seen
        assert '"simulation":true' in load("/api/about")
        print(f"the console serves {len(seen)} files")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _resolve(path: str, relative: str) -> str:
    parts = path.split("/")[:-1]
    for part in relative.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


if __name__ == "__main__":
    main()

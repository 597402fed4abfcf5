#!/usr/bin/env python3
"""Writes docs/reference/matrix.md and README's table of versions from tests/matrix/results.json.

`make docs` and the runner of the matrix call it; a test fails when the pages are not what it would
write.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.matrix.page import page, readme  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "matrix.md"
README = ROOT / "README.md"

if __name__ == "__main__":
    wanted = {PAGE: page(), README: readme(README.read_text())}
    if "--check" in sys.argv:
        stale = [path for path, text in wanted.items() if path.read_text() != text]
        sys.exit(f"run make docs: {', '.join(map(str, stale))}" if stale else 0)
    for path, text in wanted.items():
        path.write_text(text)

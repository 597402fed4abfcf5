"""Builds benches/peers/franz_go on demand, for `runner.run_go`.

A missing Go toolchain is an error that names the remedy; the client is never skipped silently.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.jars import REPOSITORY

SOURCES = REPOSITORY / "benches" / "peers" / "franz_go"
PROGRAM = REPOSITORY / ".ottla-build" / "franz_go"


def program() -> Path:
    """Return the program's path; build it first if a source file is newer."""
    sources = [path.stat().st_mtime for path in SOURCES.iterdir()]
    if not PROGRAM.is_file() or PROGRAM.stat().st_mtime < max(sources):
        _build()
    return PROGRAM


def _build() -> None:
    go = shutil.which("go")
    if go is None:
        raise SystemExit(
            "franz-go needs Go 1.26 or newer on PATH: install it from https://go.dev/dl, or run"
            " without this client: --clients ottla,confluent-kafka,Java"
        )
    # git may refuse a repository that another user owns; the program needs no version stamp.
    command = [go, "build", "-trimpath", "-buildvcs=false", "-o", str(PROGRAM), "."]
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed in {SOURCES}:\n{done.stderr}")

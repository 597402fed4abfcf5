"""The crates that are published, in the order in which crates.io can take them.

    python tools/published_crates.py

Prints a name a line. Invariant: a crate comes after those it depends on, in its tests as well; no
crate depends on one that is not published. A crate is published unless it has `publish = false`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def published(root: Path = _ROOT) -> list[str]:
    """Return the names of the published crates, in order.

    Raises:
        SystemExit: a published crate depends on one that is not, or two depend on each other.
    """
    command = ["cargo", "metadata", "--no-deps", "--locked", "--offline", "--format-version=1"]
    done = subprocess.run(  # noqa: S603 - the command is all ours
        command, cwd=root, check=True, capture_output=True, text=True
    )
    packages = json.loads(done.stdout)["packages"]
    ours = {package["name"] for package in packages}
    needs = {
        package["name"]: {
            dependency["name"]
            for dependency in package["dependencies"]
            # "*": a path without a version, which is not part of the package: a crate's own
            # features in its tests.
            if dependency["name"] in ours and dependency["req"] != "*"
        }
        for package in packages
        if package["publish"] is None
    }
    for name, others in needs.items():
        if missing := others - needs.keys():
            raise SystemExit(f"{name} is published, and depends on {', '.join(sorted(missing))}")
    order: list[str] = []
    while rest := sorted(needs.keys() - set(order)):
        ready = [name for name in rest if needs[name] <= set(order)]
        if not ready:
            raise SystemExit(f"these depend on each other: {', '.join(rest)}")
        order += ready
    return order


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}\n" for name in published()))

"""The examples of docs/guides/gateway.md, by the heading above them.

Invariant: a test runs an example's lines as they are printed, with other ports, files and hosts.
"""

from __future__ import annotations

import re
import shlex

from tests.support.jars import REPOSITORY

GUIDE = REPOSITORY / "docs" / "guides" / "gateway.md"
_BLOCK = re.compile(r"^```(?:sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def example(heading: str, number: int = 0) -> list[str]:
    """Return the lines of an example, without comments.

    Args:
        heading: the heading above it.
        number: its number under that heading, from 0.
    """
    _, found, after = GUIDE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert found, heading
    section, _, _ = after.partition("\n## ")
    lines = _BLOCK.findall(section)[number].splitlines()
    return [line for line in lines if not line.startswith("#")]


def words_of(line: str) -> list[str]:
    """Return the words of a command, without the sign that runs it in the background."""
    words = shlex.split(line)
    return words[:-1] if words[-1] == "&" else words


def gateway_arguments(line: str) -> list[str]:
    """Return the arguments of a line that starts a gateway, after the servers of the cluster."""
    words = words_of(line)
    start = words.index("gateway", 1) if words[0] == "ottla" else words.index("--") + 1
    assert words[start] == "gateway", line
    return words[start + 2 :]

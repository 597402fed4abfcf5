#!/usr/bin/env python3
"""Writes docs/configuration.md from the rows of rust/client/src/config/table.rs.

`make docs` calls it; a test fails when the page is not what it would write.
"""

from __future__ import annotations

from pathlib import Path

from ottla._core import config_rows

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"

HEAD = """# Configuration

Every key has Kafka's own name and, but for what [DESIGN.md](../DESIGN.md) says, the Java client's
default. Give it with dots in a mapping (`ottla.Client(config={"linger.ms": 5})`), with underscores
as a keyword (`ottla.Producer(..., linger_ms=5)`), or in Spark as an option with `kafka.` in front
(`.option("kafka.client.rack", "a")`). Values may be texts throughout. An unknown key or a wrong
value is an error that names the key, what was expected, and the nearest key there is. Type checkers
and editors know the keywords and their values (`ottla.config_types`).

| key | type | default | bounds | meaning |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the page's text."""
    rows = []
    for name, kind, default, bounds, doc in config_rows():
        span = f"{bounds[0]} to {bounds[1]}" if bounds else ""
        shown = f"`{default}`" if default else ""
        kinds = kind.replace("|", "\\|")
        rows.append(f"| `{name}` | {kinds} | {shown} | {span} | {doc} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page())

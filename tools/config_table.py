#!/usr/bin/env python3
"""Writes docs/reference/configuration.md from the rows of keys in rust/client/src/config.

`make docs` calls it; a test fails when the page is not what it would write.
"""

from __future__ import annotations

from pathlib import Path

from ottla._core import config_rows, foreign_config_rows

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "configuration.md"

HEAD = """# Configuration

Every key has Kafka's own name and, with the exceptions in
[DESIGN](https://github.com/ottla/ottla/blob/main/DESIGN.md#decisions), the Java client's default.
Give it

- with dots in a mapping, as the first argument
  (`ottla.Client({"bootstrap.servers": "kafka:9092"})`) or as `config=` after the addresses;
- with underscores as a keyword (`ottla.Producer(..., linger_ms=5)`);
- in Spark as an option with the prefix `kafka.` (`.option("kafka.client.rack", "a")`).

All values may be strings. An unknown key or a wrong value is an error that names the key, the
expected value, and the nearest key. Type checkers and editors know the keywords and their values
(`ottla.config_types`). Keys of other clients are [at the end](#keys-of-other-clients).

| key | type | default | bounds | meaning |
|---|---|---|---|---|
"""

FOREIGN = """
## Keys of other clients

A key of librdkafka, and so of confluent-kafka, that means the same as a key above sets it. Two
names of one key with different values are an error that names both. Any other key below is an error
that names its replacement. [Compare](../compare/index.md) describes how programs move from those
clients.

`auto.offset.reset` takes librdkafka's `smallest`, `beginning`, `largest`, `end` and `error`, and
`ssl.endpoint.identification.algorithm` its `none`.

| key | of | here |
|---|---|---|
"""


def page() -> str:
    """Return the page's text."""
    rows = []
    for name, kind, default, bounds, doc in config_rows():
        span = f"{bounds[0]} to {bounds[1]}" if bounds else ""
        shown = f"`{default}`" if default else ""
        kinds = kind.replace("|", "\\|")
        rows.append(f"| `{name}` | {kinds} | {shown} | {span} | {doc} |\n")
    text = HEAD + "".join(rows) + FOREIGN
    for name, client, _, meaning in foreign_config_rows():
        text += f"| `{name}` | {client} | {meaning} |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())

#!/usr/bin/env python3
"""Generates docs/reference/configuration.md from the tables of keys in rust/client/src/config.

`make docs` runs it; a test fails if the page is out of date.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ottla._core import (
    config_rows,
    other_client_config_rows,
    registry_config_rows,
    schema_limit_rows,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "configuration.md"

HEAD = """# Configuration

Keys have Kafka's names and, except as noted in
[DESIGN](https://github.com/ottla/ottla/blob/main/DESIGN.md#decisions), the Java client's defaults.
There are three ways to set them:

- with dots in a mapping, as the first argument
  (`ottla.Client({"bootstrap.servers": "kafka:9092"})`) or as `config=` after the addresses;
- with underscores as keyword arguments (`ottla.Producer(..., linger_ms=5)`);
- in Spark as options with the prefix `kafka.` (`.option("kafka.client.rack", "a")`).

Every value can be text. An unknown key or an invalid value is an error that names the key, what was
expected, and a similar key if there is one. Type checkers and editors know the keyword arguments
and their values (`ottla.config_types`). Below are the keys of
[schema registries](#schema-registries), the [limits of schemas](#limits-of-schemas), and
[keys of other clients](#keys-of-other-clients).

"""

TABLE = """| key | type | default | bounds | meaning |
|---|---|---|---|---|
"""

REGISTRIES = """
## Schema registries

`ottla.schema.Registry` takes these keys, with or without `schema.registry.`, and those about TLS
(`schema.registry.ssl.…`), which mean the same as a client's.

"""

LIMITS = """
## Limits of schemas

What a schema may [multiply](../guides/schemas.md#schemas-that-multiply). They are set where keys or
values get their format: `ottla.schema.Avro(…, limits={"schema.fixed.max.bytes": 33554432})`, with
or without `schema.`; as options of the same names in Spark; with `-X`, in a file or a profile of
the command line. Errors about a limit name its key.

"""

OTHER_CLIENTS = """
## Keys of other clients

Keys of librdkafka, and so of confluent-kafka, that have an equivalent are aliases of it. Setting
two names of one key to different values is an error that names both. Every other key below is an
error that says what to use instead. [Compare](../compare/index.md) describes how to port programs.

`auto.offset.reset` also accepts librdkafka's `smallest`, `beginning`, `largest`, `end` and `error`,
and `ssl.endpoint.identification.algorithm` accepts its `none`.

| key | client | meaning here |
|---|---|---|
"""


def _table(rows: Iterable[tuple[str, str, str, tuple[int, int] | None, str]]) -> str:
    text = TABLE
    for name, kind, default, bounds, doc in rows:
        span = f"{bounds[0]} to {bounds[1]}" if bounds else ""
        shown = f"`{default}`" if default else ""
        kinds = kind.replace("|", "\\|")
        text += f"| `{name}` | {kinds} | {shown} | {span} | {doc} |\n"
    return text


def page() -> str:
    """Return the page's text."""
    text = HEAD + _table(config_rows())
    text += REGISTRIES + _table(registry_config_rows()) + LIMITS + _table(schema_limit_rows())
    text += OTHER_CLIENTS
    for name, client, _, meaning in other_client_config_rows():
        text += f"| `{name}` | {client} | {meaning} |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())

#!/usr/bin/env python3
"""Writes python/ottla/config_types.py from the rows of rust/client/src/config/table.rs.

`make docs` calls it; a test fails when the module is not what it would write. Invariant: the table
has the keys of all clients first, then those of producers, then those of consumers.
"""

from __future__ import annotations

from pathlib import Path

from ottla._core import config_rows

MODULE = Path(__file__).resolve().parent.parent / "python" / "ottla" / "config_types.py"

FIRST_OF_PRODUCERS = "acks"
FIRST_OF_CONSUMERS = "check.crcs"

HEAD = '''"""The keys of the configuration as keyword arguments, for type checkers and editors.

`Client`, `AsyncClient` and `scan` take ``**kwargs`` of `ClientConfig`, producers of
`ProducerConfig`, consumers of `ConsumerConfig`, `Admin` and `diagnose` of `CommonConfig`.
docs/reference/configuration.md says what each key means. A string that is known only at run time
goes into the mapping ``config`` instead. Invariant: nothing here is used when a program runs.

Made by tools/config_types.py (`make docs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from typing import TypeAlias

    from ottla.assignors import Assignor
    from ottla.partitioners import BatchPartitioner, Partitioner

    _Number: TypeAlias = int | str | None
    _Flag: TypeAlias = bool | Literal["true", "false"] | None
    _Text: TypeAlias = str | None
    _Texts: TypeAlias = str | Sequence[str] | None
    _Expiry: TypeAlias = float | datetime | None
    _Token: TypeAlias = str | tuple[str, _Expiry] | tuple[str, _Expiry, Mapping[str, str] | None]

__all__ = ["ClientConfig", "CommonConfig", "ConsumerConfig", "ProducerConfig"]
'''

GROUPS = {
    "CommonConfig": "What every client takes: how to find and to reach the cluster.",
    "_ProducerKeys": "What concerns producers alone.",
    "_ConsumerKeys": "What concerns consumers and scans alone.",
}

TAIL = '''

class ProducerConfig(CommonConfig, _ProducerKeys, total=False):
    """The keyword arguments of a producer."""

    partitioner: str | Partitioner | BatchPartitioner | None


class ConsumerConfig(CommonConfig, _ConsumerKeys, total=False):
    """The keyword arguments of a consumer."""

    partition_assignment_strategy: str | Assignor | Sequence[str | Assignor] | None


class ClientConfig(CommonConfig, _ProducerKeys, _ConsumerKeys, total=False):
    """The keyword arguments of a client, whose producers and consumers take them from it."""

    partitioner: str | None
    partition_assignment_strategy: str | Sequence[str] | None
'''

# No row, as it is a callable; with the keys of all clients.
CALLBACK = "    sasl_oauth_token: Callable[[], _Token] | None\n"

# In TAIL, by what takes it.
OF_THEIR_OWN = {"partition.assignment.strategy"}

BY_KIND = {
    "milliseconds": "_Number",
    "int": "_Number",
    "bool": "_Flag",
    "string": "_Text",
    "password": "_Text",
    "list": "_Texts",
    "all | 1 | 0": 'Literal["all", "1", "0", "-1", 1, 0, -1] | None',
}


def annotation(kind: str) -> str:
    """Return the type of a row's values, None for its default included."""
    if kind in BY_KIND:
        return BY_KIND[kind]
    choices = kind.split(" | ")
    if any(not choice.isidentifier() for choice in choices):
        return "_Text"  # one of these names, or something else, such as a class of Java's client
    quoted = ", ".join(f'"{choice}"' for choice in choices)
    return f"Literal[{quoted}] | None"


def module() -> str:
    """Return the module's text.

    Raises:
        ValueError: the table does not have the keys that its parts begin with.
    """
    rows = [(name, kind) for name, kind, *_ in config_rows()]
    names = [name for name, _ in rows]
    producers, consumers = names.index(FIRST_OF_PRODUCERS), names.index(FIRST_OF_CONSUMERS)
    parts = (rows[:producers], rows[producers:consumers], rows[consumers:])
    text = HEAD
    for (group, doc), part in zip(GROUPS.items(), parts, strict=True):
        text += f'\n\nclass {group}(TypedDict, total=False):\n    """{doc}"""\n\n'
        for name, kind in part:
            if name not in OF_THEIR_OWN:
                text += f"    {name.replace('.', '_')}: {annotation(kind)}\n"
        if group == "CommonConfig":
            text += CALLBACK
    return text + TAIL


if __name__ == "__main__":
    MODULE.write_text(module())

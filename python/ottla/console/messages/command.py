"""A request for records as the arguments of ``ottla consume``.

Invariants: a page only chooses among the settings that the console was started with, so it cannot
name a file, a registry or a regular expression; the text of the command contains no credential.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ottla.cli.consume import add as add_consume
from ottla.cli.consume.decoding import DECODERS
from ottla.cli.consume.selection import Selection
from ottla.cli.schema_options import PARTS
from ottla.console.query import Query
from ottla.errors import ConfigError
from ottla.schema import Avro, ColumnFormat, Json, Protobuf, Registry

_FORMATS: dict[str, type[Any]] = {"avro": Avro, "protobuf": Protobuf, "json": Json}
_WHERE = re.compile(r"[^=]+=.*", re.DOTALL)
# The largest number of characters in a list of offsets, enough for thousands of partitions.
_MAX_PLACES = 60_000
_PARTITION_OFFSET = re.compile(r"(?P<partition>\d{1,10}):(?P<offset>\d{1,19})")


@dataclass(frozen=True)
class Command:
    """A command that reads records.

    Attributes:
        arguments: the arguments of ``ottla consume``.
        selection: its filters, and the formats of keys and values.
        text: the command for a shell.
        has_filter: whether filters may drop records.
        after: the offset from which to continue, by partition; empty at the beginning.
        kinds: the types of the key and the value, if the page gives them.
    """

    arguments: argparse.Namespace
    selection: Selection
    text: str
    has_filter: bool
    after: dict[int, int]
    kinds: dict[str, str]

    @property
    def last(self) -> int | None:
        """The number of newest records to read; None to read forwards."""
        last: int | None = self.arguments.last
        return last


def command_of(
    query: Query,
    cluster: Sequence[str],
    registry: Registry | None,
    limits: Mapping[str, object] | None = None,
) -> Command:
    """Return the command of a request.

    Args:
        query: its parameters: ``topic``, ``partition``, ``start`` (as ``-o``), ``last``, ``key``,
            ``value`` and ``header`` (texts to find), ``where``, ``key_as`` and ``value_as``,
            ``key_format`` and ``value_format``, ``after``, and ``follow``.
        cluster: the arguments that name the cluster.
        registry: the console's schema registry, if it has one.
        limits: the limits on what schemas multiply. Default: the defaults of the configuration
            keys.

    Raises:
        ConfigError: a parameter is wrong.
    """
    words = [f"--topic={query.required('topic')}"]
    if query.text("partition"):
        words.append(f"--partition={query.number('partition', 0, most=2**31 - 1)}")
    if query.text("last"):
        words.append(f"--last={query.number('last', 100)}")
    else:
        words.append(f"--offset={query.text('start') or 'beginning'}")
        # A page reads up to the topic's current end. A command that follows does not end there.
        words += [] if query.text("follow") else ["-e"]
    filters = list(_filters(query))
    kinds = _kinds(query)
    words += filters + [f"--{part}-as={kind}" for part, kind in kinds.items()]
    arguments = _parse([*words, "-e"])
    selection = Selection(arguments)
    formats = _formats(query, arguments.topics[0], registry, limits)
    selection.formats.update(formats)
    for part in formats:
        words.append(f"--{part}-format={query.text(f'{part}_format')}")
    if formats and registry is not None:
        words.append(f"--schema-registry={registry.urls[0]}")
    return Command(
        arguments=arguments,
        selection=selection,
        text=shlex.join(["ottla", "consume", *cluster, *words]),
        has_filter=bool(filters),
        after=_offsets_of(query.text("after", most=_MAX_PLACES)),
        kinds=kinds,
    )


def _filters(query: Query) -> list[str]:
    """Return the filters. Texts are escaped, since a costly regular expression would block."""
    words = [f"--{part}={re.escape(query.text(part))}" for part in PARTS if query.text(part)]
    if header := query.text("header"):
        name, separator, text = header.partition("=")
        words.append(f"--header={name}{separator}{re.escape(text)}")
    if where := query.text("where"):
        if not _WHERE.fullmatch(where):
            raise ConfigError(f"where {where!r}: expected FIELD=VALUE, such as customer.id=42")
        words.append(f"--where={where}")
    return words


def _kinds(query: Query) -> dict[str, str]:
    kinds = {part: query.choice(f"{part}_as", "", *sorted(DECODERS)) for part in PARTS}
    return {part: kind for part, kind in kinds.items() if kind}


def _formats(
    query: Query, topic: str, registry: Registry | None, limits: Mapping[str, object] | None
) -> dict[str, ColumnFormat]:
    formats = {}
    for part in PARTS:
        kind = query.choice(f"{part}_format", "", *_FORMATS)
        if not kind:
            continue
        if query.text(f"{part}_as"):
            raise ConfigError(f"{part}_format excludes {part}_as")
        if registry is None:
            raise ConfigError(
                f"{part}_format: this console has no schema registry: start it with "
                "--schema-registry, or serve(..., schema_registry=...)"
            )
        formats[part] = _FORMATS[kind](
            registry, subject=f"{topic}-{part}", mode="permissive", limits=limits
        )
    return formats


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    commands = parser.add_subparsers()
    add_consume(commands)
    try:
        return parser.parse_args(["consume", *words])
    except (argparse.ArgumentError, SystemExit) as error:
        raise ConfigError(f"the request is not a command of ottla consume: {error}") from None


def _offsets_of(text: str) -> dict[int, int]:
    """Parse ``PARTITION:OFFSET,…``."""
    offsets = {}
    for each in text.split(",") if text else ():
        if (match := _PARTITION_OFFSET.fullmatch(each)) is None:
            raise ConfigError(f"after: expected PARTITION:OFFSET, got {each[:40]!r}")
        offsets[int(match["partition"])] = int(match["offset"])
    return offsets

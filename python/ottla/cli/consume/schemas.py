"""Keys and values with a schema, decoded for ``ottla consume``.

``record_of`` returns the text to filter and print. Invariant: a record that cannot be decoded is
kept, with the reason; if the registry does not respond, the command fails.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import Any

from ottla.cli.consume.decoding import as_text
from ottla.cli.consume.json_values import as_json_value
from ottla.cli.formats import Record
from ottla.cli.schema_formats import formats_of
from ottla.cli.schema_options import PARTS
from ottla.errors import ConfigError
from ottla.schema import ColumnFormat


def reading_formats(arguments: argparse.Namespace) -> dict[str, ColumnFormat]:
    """Return the formats of keys and values, by ``key`` and ``value``.

    Raises:
        ConfigError: an argument is wrong, has no effect, or a registry is missing.
    """
    given = vars(arguments)
    for part in PARTS:
        if given[f"{part}_format"] is not None and given[f"{part}_as"] is not None:
            raise ConfigError(f"--{part}-format excludes --{part}-as")
    return formats_of(arguments, mode="permissive")


def record_of(row: Sequence[Any], formats: Collection[str]) -> Record:
    """Return the record of a row: the columns of a ``Record``, and the error if formats are used.

    Args:
        row: the row.
        formats: the formats of the parts that were decoded.
    """
    if not formats:
        return Record(*row)
    *columns, error = row
    record = Record(*columns)
    objects = {part: as_json_value(getattr(record, part)) for part in formats}
    key, value = (
        as_text(objects[part]) if part in objects else getattr(record, part) for part in PARTS
    )
    return record._replace(key=key, value=value, objects=objects, error=error)

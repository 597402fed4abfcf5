"""The filters of ``ottla consume``: a record is printed if it passes all of them.

Invariant: a record that a filter cannot read, such as one that is not JSON, does not pass.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from ottla.cli.formats import Record
from ottla.errors import ConfigError

Filter: TypeAlias = Callable[[Record], bool]


def filter_of(arguments: argparse.Namespace) -> Filter:
    """Return the filter that the arguments name.

    Raises:
        ConfigError: one of them is malformed.
    """
    filters: list[Filter] = []
    if arguments.key is not None:
        key = _pattern("--key", arguments.key)
        filters.append(lambda record: record.key is not None and bool(key.search(record.key)))
    if arguments.value is not None:
        value = _pattern("--value", arguments.value)
        filters.append(lambda record: record.value is not None and bool(value.search(record.value)))
    filters += [_header_filter(text) for text in arguments.header]
    filters += [_field_filter(text) for text in arguments.where]
    return lambda record: all(is_kept(record) for is_kept in filters)


def _pattern(option: str, text: str) -> re.Pattern[bytes]:
    try:
        return re.compile(text.encode(errors="surrogateescape"))
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{option} {text!r} is not a regular expression: {error}") from None


def _header_filter(text: str) -> Filter:
    name, separator, regex = text.partition("=")
    pattern = _pattern("--header", regex) if separator else None

    def is_kept(record: Record) -> bool:
        return any(
            each == name and (pattern is None or bool(pattern.search(value or b"")))
            for each, value in record.headers or ()
        )

    return is_kept


def _field_filter(text: str) -> Filter:
    """Return the filter for ``FIELD=VALUE``. Dots separate the field names and array indexes."""
    path, separator, expected = text.partition("=")
    if not separator or not path:
        raise ConfigError(f"--where {text!r}: expected FIELD=VALUE, such as customer.id=42")
    names = path.removeprefix(".").split(".")

    def is_kept(record: Record) -> bool:
        try:
            # The text of a value that is read as written begins with its type.
            is_written = "value" in (record.types or {})
            found = (
                (record.objects or {})["value"] if is_written else json.loads(record.value or b"")
            )
            for name in names:
                found = found[int(name)] if isinstance(found, list) else found[name]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            return False
        return _as_text(found) == expected

    return is_kept


def _as_text(value: Any) -> str:
    """Return strings as they are, and other values as JSON writes them."""
    return value if isinstance(value, str) else json.dumps(value)

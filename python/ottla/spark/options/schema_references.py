"""The option ``value.references``: registered schemas that the text of a schema refers to.

Called by the parsers of typed reads and writes. Invariant: parsing does no I/O, and an option
without effect is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ottla._internal.arguments import is_version
from ottla.errors import ConfigError
from ottla.spark.options.option_values import invalid_value, parse_text

Reference = tuple[str, str, int]
"""A schema that another one refers to: the name in its text, the subject, and the version."""

_EXPECTED = 'a JSON object such as {"events.Order": "orders-value:1"}, of names to SUBJECT:VERSION'


def parse_references(
    values: Mapping[str, str], column: str, schema: str | int | None, *, has_registry: bool
) -> tuple[Reference, ...]:
    """Parse the references of a column's schema, sorted by their names.

    Args:
        values: the options, with lower-case names.
        column: ``key`` or ``value``.
        schema: the schema of the column.
        has_registry: whether a schema registry is configured.
    """
    name = f"{column}.references"
    text = parse_text(values, name)
    if text is None:
        return ()
    if not isinstance(schema, str):
        raise ConfigError(f"option {name} needs {column}.schema with the text of a schema")
    if not has_registry:
        raise ConfigError(f"option {name} needs schema.registry.url, which has the schemas")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise invalid_value(name, text, _EXPECTED) from None
    if not isinstance(found, dict) or not found:
        raise invalid_value(name, text, _EXPECTED)
    references = []
    for key, place in sorted(found.items()):
        subject, _, version = place.rpartition(":") if isinstance(place, str) else ("", "", "")
        if not key or not subject or not is_version(version):
            raise invalid_value(name, text, _EXPECTED)
        references.append((key, subject, int(version)))
    return tuple(references)

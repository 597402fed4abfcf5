"""Keys and values with a schema, encoded from JSON for ``ottla produce``.

Invariant: the text has the form that ``ottla consume`` prints for the same value, and no part of it
is dropped: a key that is not a field, a duplicate key, and a number that JSON lacks are errors.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from ottla._core import encode_printed
from ottla.schema import ColumnFormat


class JsonSerializer:
    """A serializer that takes the text of values of a format.

    Args:
        format: the format.
        part: ``key`` or ``value``.
    """

    def __init__(self, format: ColumnFormat, part: str) -> None:
        self._format = format
        self._is_key = part == "key"

    def serialize(self, topic: str, value: bytes, headers: Any) -> bytes:
        """Return the bytes of a value.

        Args:
            topic: the topic.
            value: the text of the value.
            headers: the record's headers, a list that the id of the schema may be added to.

        Raises:
            ValueError: the text is not UTF-8, not JSON, or does not fit the schema.
            TypeError: a field is of another type.
            KafkaError: the errors of the schema, and of its registry.
        """
        text = value.decode()
        return encode_printed(self._format, topic, text, _parse, headers, key=self._is_key)


def _parse(text: str) -> Any:
    try:
        return json.loads(
            text,
            # A double would drop digits of a decimal.
            parse_float=Decimal,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        if not text.strip():
            raise ValueError("it is empty: -Z sends empty keys and values as null") from None
        raise ValueError(f"it is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f'{name} is not a JSON value; write the string "{name}"')


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return members

"""Keys and values of ``ottla consume`` that keep the schemas that they were written with.

A column has one type, so they are decoded one by one. Invariant: a record that cannot be decoded
is kept, with the reason; if the registry does not respond, the command fails.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.cli.consume.decoding import as_text
from ottla.cli.consume.json_values import as_json_value
from ottla.cli.formats import Record
from ottla.cli.streams import encoded
from ottla.errors import SerializationError
from ottla.schema import ColumnFormat, TypedValue

_ID_HEADERS = {"key": "__key_schema_id", "value": "__value_schema_id"}


def decode_written(record: Record, formats: Mapping[str, ColumnFormat]) -> Record:
    """Return the record with decoded keys and values, and the names of their types.

    Args:
        record: the record.
        formats: the formats of the parts to decode, by ``key`` and ``value``.
    """
    objects, types = dict(record.objects or {}), dict(record.types or {})
    texts: dict[str, bytes | None] = {"key": record.key, "value": record.value}
    for part, one in formats.items():
        data: bytes | None = getattr(record, part)
        if data is None:
            objects[part] = types[part] = None
            continue
        try:
            found: TypedValue = one.deserialize(record.topic, data, _headers(record, part))
        except SerializationError as error:
            # The record's place is named where the error is printed.
            text = str(error).removesuffix(f" [topic {record.topic}]")
            text = text.replace("the value", f"the {part}", 1)
            record = record._replace(error=record.error or text)
            # As with a column, it matches no filter, and is null in JSON.
            objects[part] = types[part] = texts[part] = None
            continue
        objects[part], types[part] = as_json_value(found.value), found.type
        text_of_value = as_text(objects[part])
        if found.type is not None:
            text_of_value = encoded(found.type) + b"\t" + (text_of_value or b"null")
        texts[part] = text_of_value
    return record._replace(objects=objects, types=types, key=texts["key"], value=texts["value"])


def _headers(record: Record, part: str) -> list[tuple[str, bytes | None]]:
    # One value is decoded as a value: a key's id is then that of the value.
    name, other = _ID_HEADERS[part], _ID_HEADERS["value"]
    kept = [(key, value) for key, value in record.headers or [] if key in (name, other)]
    return [(other, value) for key, value in kept if key == name]

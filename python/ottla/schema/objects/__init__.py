"""Objects of a type as keys and values: the schema of a type, and the conversion of its objects.

The core calls ``conversion`` with the first argument of a format, such as ``Order`` in
``Avro(Order, registry)``. A type is read once into shapes (``shape_reader.py``), of which
the schema and the conversions are made.

Invariant: no library is imported that the program has not imported; a class of pydantic, attrs or
msgspec brings its own.
"""

from __future__ import annotations

from typing import Any

from ottla.errors import SchemaError
from ottla.schema.objects.conversion import Conversion
from ottla.schema.objects.field_error import FieldError

__all__ = ["Conversion", "FieldError", "conversion"]


def conversion(schema_type: str, of: Any) -> Conversion:
    """Return how objects of a type are converted.

    Args:
        schema_type: ``AVRO``, ``JSON`` or ``PROTOBUF``.
        of: the type.

    Raises:
        SchemaError: the type has no schema of this kind; the message names the field.
    """
    if schema_type == "PROTOBUF":
        from ottla.schema.objects.protobuf import protobuf_conversion

        return protobuf_conversion(of)
    if hasattr(of, "DESCRIPTOR"):
        raise SchemaError(f"{of.__name__} is a class of Protobuf: pass it to ottla.schema.Protobuf")
    if schema_type == "AVRO":
        from ottla.schema.objects.avro import avro_conversion

        return avro_conversion(of)
    from ottla.schema.objects.json import json_conversion

    return json_conversion(of)

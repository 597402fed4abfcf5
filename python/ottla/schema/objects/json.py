"""JSON: objects of pydantic and msgspec by their own libraries, and the others by their shapes.

Invariant: JSON is what the type's library reads and writes, with its aliases and validators; the
schema is the one that it states.
"""

from __future__ import annotations

import json
import sys
import typing
from collections.abc import Callable
from typing import Any

from ottla.schema.objects.conversion import Conversion
from ottla.schema.objects.field_error import FieldError, expected, of_library
from ottla.schema.objects.json_schema import JsonSchema
from ottla.schema.objects.json_values import dumper, has_decimals, loader
from ottla.schema.objects.shape_reader import ShapeReader


def json_conversion(of: Any) -> Conversion:
    """Return how objects of a type are converted from and to JSON.

    Raises:
        SchemaError: the type has no schema; the message names the field.
    """
    libraries = _libraries(of)
    if "pydantic" in libraries:
        return _of_pydantic(of)
    if "msgspec" in libraries:
        return _of_msgspec(of)
    name = getattr(of, "__name__", "the type")
    shape = ShapeReader().shape(of, name)
    schema = JsonSchema().of_root(shape, name)
    load_value, dump_value = loader(shape), dumper(shape)
    # Numbers that a float would round.
    parse_float: Any = _decimal if has_decimals(shape) else None

    def load(payload: bytes) -> Any:
        try:
            value = json.loads(payload, parse_float=parse_float, parse_constant=_refuse_constant)
        except FieldError:
            raise
        except (ValueError, RecursionError) as error:
            raise FieldError(f"expected JSON: {error}") from error
        return load_value(value)

    def dump(value: Any) -> bytes:
        text = json.dumps(dump_value(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode()

    return Conversion(json.dumps(schema), load, dump, of_payloads=True)


def _decimal(text: str) -> Any:
    import decimal

    return decimal.Decimal(text)


def _refuse_constant(text: str) -> Any:
    raise FieldError(f"expected JSON, which has no {text}")


def _libraries(hint: Any) -> set[str]:
    """Return the libraries that a type, or the types in it, belong to."""
    cls = typing.get_origin(hint) or hint
    found = set()
    if hasattr(cls, "__pydantic_validator__") or hasattr(hint, "__pydantic_validator__"):
        found.add("pydantic")
    if hasattr(cls, "__struct_fields__"):
        found.add("msgspec")
    for each in typing.get_args(hint):
        found |= _libraries(each)
    return found


def _converted(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(value: Any) -> Any:
        try:
            return convert(value)
        except FieldError:
            raise
        except Exception as error:
            raise of_library(error) from error

    return call


def _of_pydantic(of: Any) -> Conversion:
    adapter = sys.modules["pydantic"].TypeAdapter(of)
    schema = adapter.json_schema(by_alias=True, mode="serialization")

    def dump(value: Any) -> Any:
        return adapter.dump_json(value, by_alias=True, warnings="error")

    load = _converted(adapter.validate_json)
    return Conversion(json.dumps(schema), load, _converted(dump), of_payloads=True)


def _of_msgspec(of: Any) -> Conversion:
    msgspec = sys.modules["msgspec"]
    schema = msgspec.json.schema(of)
    decoder, encoder = msgspec.json.Decoder(of), msgspec.json.Encoder()
    root = of if isinstance(of, type) and hasattr(of, "__struct_fields__") else object

    def dump(value: Any) -> Any:
        if not isinstance(value, root):
            raise expected(root.__name__, value)
        payload = encoder.encode(value)
        # The encoder does not check the types of fields, but the decoder does.
        decoder.decode(payload)
        return payload

    load = _converted(decoder.decode)
    return Conversion(json.dumps(schema), load, _converted(dump), of_payloads=True)

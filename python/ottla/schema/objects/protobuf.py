"""Generated classes of Protobuf.

Invariant: a payload is parsed by the class itself, so that fields that it does not know stay in the
message; the core has checked before that the payload is this message.
"""

from __future__ import annotations

import math
from typing import Any

from ottla.errors import SchemaError
from ottla.schema.objects.conversion import Conversion
from ottla.schema.objects.field_error import FieldError, expected

_MESSAGE_TYPE = 11
_GROUP_TYPE = 10
# Of messages in one another: the parser of Protobuf reads no more, and its writer does not count.
_MAX_LEVELS = 100


def protobuf_conversion(of: Any) -> Conversion:
    """Return how messages of a generated class are converted.

    Raises:
        SchemaError: it is no generated class.
    """
    descriptor = getattr(of, "DESCRIPTOR", None)
    if not isinstance(of, type) or not hasattr(of, "FromString") or descriptor is None:
        raise SchemaError(
            f"{getattr(of, '__name__', of)} is no class that protoc generated, such as "
            "orders_pb2.Order: dataclasses and models are for ottla.schema.Avro and Json"
        )
    cls: Any = of
    nested = _nested_fields(descriptor)

    def load(payload: bytes) -> Any:
        try:
            return cls.FromString(payload)
        except Exception as error:
            raise FieldError(f"expected a message {descriptor.full_name}: {error}") from error

    def dump(message: Any) -> bytes:
        if not isinstance(message, cls):
            raise expected(f"a message {descriptor.full_name}", message)
        if nested:
            _check_levels(message, nested)
        if not message.IsInitialized():
            missing = message.FindInitializationErrors()
            raise FieldError("missing", missing[0] if missing else "")
        data: bytes = message.SerializeToString(deterministic=True)
        return data

    return Conversion(
        schema=of,
        load=load,
        dump=dump,
        of_payloads=True,
        checked_fields=_checked_fields(descriptor),
        message_prefixes=(_indexes(descriptor), _reference(descriptor)),
    )


def _checked_fields(descriptor: Any) -> list[str]:
    """Return one field that is decoded fast, of the message or of one in it, or none."""
    found, queue = {descriptor.full_name}, [("", descriptor)]
    for prefix, message in queue:
        for each in message.fields:
            if each.type not in (_MESSAGE_TYPE, _GROUP_TYPE):
                return [f"{prefix}{each.name}"]
        for each in message.fields:
            of = each.message_type
            is_plain = not of.GetOptions().map_entry and not of.full_name.startswith("google.")
            if is_plain and of.full_name not in found:
                found.add(of.full_name)
                queue.append((f"{prefix}{each.name}.", of))
    return []


def _nested_fields(descriptor: Any) -> dict[str, dict[str, float]]:
    """Return, by the names of messages, the levels of messages that each field may add.

    They are infinite if messages may nest without an end; empty if none may. An entry of a map is
    a message.
    """
    types, inner = [descriptor], {descriptor.full_name: set[str]()}
    for each in types:
        for field in each.fields:
            if field.type in (_MESSAGE_TYPE, _GROUP_TYPE):
                inner[each.full_name].add(field.message_type.full_name)
                if field.message_type.full_name not in inner:
                    inner[field.message_type.full_name] = set()
                    types.append(field.message_type)
    levels: dict[str, int] = {}
    while ends := {
        name for name, each in inner.items() if name not in levels and each <= levels.keys()
    }:
        levels |= {name: max((levels[of] for of in inner[name]), default=0) + 1 for name in ends}
    if len(levels) == len(inner):
        return {}
    return {
        each.full_name: {
            field.name: levels.get(field.message_type.full_name, math.inf)
            for field in each.fields
            if field.type in (_MESSAGE_TYPE, _GROUP_TYPE)
        }
        for each in types
    }


def _check_levels(message: Any, nested: dict[str, dict[str, float]]) -> None:
    """Refuse a message that is nested too deep to be read, or even to be written."""
    rest = [(message, 0)]
    while rest:
        one, level = rest.pop()
        if level > _MAX_LEVELS:
            raise FieldError(
                f"messages are nested more than {_MAX_LEVELS} levels deep, where an entry of a map "
                "is one of them"
            )
        fields = nested[one.DESCRIPTOR.full_name]
        for field, value in one.ListFields():
            if level + fields.get(field.name, 0) <= _MAX_LEVELS:
                continue
            if hasattr(value, "ListFields"):
                rest.append((value, level + 1))
            elif hasattr(value, "values"):
                rest += [(each, level + 2) for each in value.values()]
            else:
                rest += [(each, level + 1) for each in value]


def _indexes(descriptor: Any) -> bytes:
    """Return Confluent's indexes: zigzag varints, which do not count the messages of maps."""
    indexes: list[int] = []
    while descriptor.containing_type is not None:
        siblings = descriptor.containing_type.nested_types
        counted = [each for each in siblings if not each.GetOptions().map_entry]
        indexes.insert(0, [each.full_name for each in counted].index(descriptor.full_name))
        descriptor = descriptor.containing_type
    roots = [each.full_name for each in descriptor.file.message_types_by_name.values()]
    indexes.insert(0, roots.index(descriptor.full_name))
    if indexes == [0]:
        return b"\0"
    data = bytearray()
    for each in (len(indexes), *indexes):
        data += _varint(2 * each)
    return bytes(data)


def _reference(descriptor: Any) -> bytes:
    """Return Apicurio's ``Ref``, whose field 1 is the name."""
    name = descriptor.name.encode()
    message = bytes((0x0A,)) + _varint(len(name)) + name
    return bytes(_varint(len(message)) + message)


def _varint(value: int) -> bytes:
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)

"""Generated classes of Protobuf.

Invariant: a payload is parsed by the class itself, so that fields that it does not know stay in the
message; the core has checked before that the payload is this message.
"""

from __future__ import annotations

from typing import Any

from ottla.errors import SchemaError
from ottla.schema.objects.conversion import Conversion
from ottla.schema.objects.field_error import FieldError, expected

_MESSAGE_TYPE = 11
_GROUP_TYPE = 10


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

    def load(payload: bytes) -> Any:
        try:
            return cls.FromString(payload)
        except Exception as error:
            raise FieldError(f"expected a message {descriptor.full_name}: {error}") from error

    def dump(message: Any) -> bytes:
        if not isinstance(message, cls):
            raise expected(f"a message {descriptor.full_name}", message)
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
    """Return one field that is decoded fast, or none if all are messages."""
    fields = [each for each in descriptor.fields if each.type not in (_MESSAGE_TYPE, _GROUP_TYPE)]
    return [each.name for each in fields[:1]]


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

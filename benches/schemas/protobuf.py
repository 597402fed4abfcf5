"""The Protobuf messages of the shapes: their classes, as protoc generates them, and conversions.

Invariant: a message has the fields of the Avro record, numbered in their order; a field that may be
null is ``optional``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.descriptor import FieldDescriptor

from benches.schemas.shapes import avro_schema, is_timestamp, split_null

_SCALARS = {
    "long": FieldDescriptor.TYPE_INT64,
    "int": FieldDescriptor.TYPE_INT32,
    "double": FieldDescriptor.TYPE_DOUBLE,
    "boolean": FieldDescriptor.TYPE_BOOL,
    "string": FieldDescriptor.TYPE_STRING,
}


def message_class(shape: str) -> Any:
    """Return the class of a shape's messages."""
    schema = avro_schema(shape)
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{shape}.proto", package="bench", syntax="proto3"
    )
    file.dependency.append(timestamp_pb2.DESCRIPTOR.name)
    _add_message(file, schema)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    found = pool.FindMessageTypeByName(f"bench.{schema['name']}")
    return message_factory.GetMessageClass(found)


def _add_message(file: Any, schema: Any) -> None:
    message = file.message_type.add(name=schema["name"])
    for number, field in enumerate(schema["fields"], 1):
        _add_field(file, message, (field["name"], number), field["type"])
    # The oneofs of optional fields, which Protobuf calls synthetic.
    for field in message.field:
        if field.proto3_optional:
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")


def _add_field(file: Any, message: Any, key: tuple[str, int], schema: Any) -> None:
    schema, optional = split_null(schema)
    name, number = key
    field = message.field.add(name=name, number=number, label=FieldDescriptor.LABEL_OPTIONAL)
    field.proto3_optional = optional
    if isinstance(schema, dict) and schema["type"] == "array":
        field.label, schema = FieldDescriptor.LABEL_REPEATED, schema["items"]
    if isinstance(schema, str):
        field.type = _SCALARS[schema]
        return
    field.type = FieldDescriptor.TYPE_MESSAGE
    if is_timestamp(schema):
        field.type_name = ".google.protobuf.Timestamp"
    elif schema["type"] == "map":
        entry = message.nested_type.add(name=f"{name.title()}Entry")
        entry.options.map_entry = True
        _add_field(file, entry, ("key", 1), "string")
        _add_field(file, entry, ("value", 2), schema["values"])
        field.label = FieldDescriptor.LABEL_REPEATED
        field.type_name = f".bench.{message.name}.{entry.name}"
    else:
        field.type_name = f".bench.{schema['name']}"
        _add_message(file, schema)


def fill(message: Any, record: dict[str, Any]) -> Any:
    """Set a message's fields to those of a record, and return it."""
    for name, value in record.items():
        target = getattr(message, name)
        if isinstance(value, datetime):
            target.FromDatetime(value)
        elif isinstance(value, dict) and hasattr(target, "update"):
            target.update(value)
        elif isinstance(value, dict):
            target.SetInParent()
            fill(target, value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    fill(target.add(), item)
                else:
                    target.append(item)
        elif value is not None:
            setattr(message, name, value)
    return message


def to_dict(shape: str) -> Callable[[Any], dict[str, Any]]:
    """Return a function from a message to a dict of Python's types.

    It is compiled from an expression that names each field, as one would write it by hand:
    ``MessageToDict`` takes several times as long, and makes strings of integers and timestamps.
    """
    expression = _expression(avro_schema(shape), "m", 0)
    made: Callable[[Any], dict[str, Any]] = eval(f"lambda m: {expression}")
    return made


def _expression(schema: Any, value: str, depth: int) -> str:
    if isinstance(schema, str):
        return value
    if is_timestamp(schema):
        return f"{value}.ToDatetime()"
    if schema["type"] == "map":
        return f"dict({value})"
    if schema["type"] == "array":
        each = f"e{depth}"
        return f"[{_expression(schema['items'], each, depth + 1)} for {each} in {value}]"
    parts = []
    for field in schema["fields"]:
        name = field["name"]
        inner, optional = split_null(field["type"])
        part = _expression(inner, f"{value}.{name}", depth)
        if optional:
            part = f"{part} if {value}.HasField({name!r}) else None"
        parts.append(f"{name!r}: {part}")
    return f"{{{', '.join(parts)}}}"

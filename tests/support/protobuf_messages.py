"""A rich schema of Protobuf: its text, google.protobuf's classes, and random messages.

protoc is not needed: the text and the descriptors come from the same table.
"""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    json_format,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import FieldDescriptor

GOOGLE = ("duration", "struct", "timestamp", "wrappers")
SCALARS = [
    *("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string"),
    *("bytes", "uint32", "sfixed32", "sfixed64", "sint32", "sint64"),
]
ENUM = {"UNKNOWN": 0, "NEW": 1, "PAID": 2, "MINUS": -3}

# Fields of messages: label and type; after a colon, the oneof.
MESSAGES: dict[str, list[tuple[str, str]]] = {
    "Order": [
        *((f"plain_{kind}", kind) for kind in SCALARS),
        *((f"optional_{kind}", f"optional {kind}") for kind in SCALARS),
        *((f"repeated_{kind}", f"repeated {kind}") for kind in SCALARS),
        ("state", "State"),
        ("maybe_state", "optional State"),
        ("states", "repeated State"),
        ("customer", "Customer"),
        ("items", "repeated Item"),
        ("counts", "map<string, sint64>"),
        ("by_number", "map<uint64, Item>"),
        ("by_flag", "map<bool, State>"),
        ("cash", "uint32:paid"),
        ("card", "string:paid"),
        ("coin", "Item:paid"),
        ("at", "google.protobuf.Timestamp"),
        ("took", "google.protobuf.Duration"),
        ("times", "repeated google.protobuf.Timestamp"),
        ("maybe_int", "google.protobuf.Int32Value"),
        ("maybe_long", "google.protobuf.UInt64Value"),
        ("maybe_text", "google.protobuf.StringValue"),
        ("maybe_flag", "google.protobuf.BoolValue"),
        ("extra", "google.protobuf.Struct"),
    ],
    "Customer": [("name", "string"), ("address", "Address"), ("notes", "repeated string")],
    "Address": [("street", "string"), ("city", "optional string"), ("zip", "fixed32")],
    "Item": [("name", "string"), ("price", "double"), ("tags", "map<string, string>")],
}


def text() -> str:
    """Return the text of the ``.proto`` file."""
    lines = ['syntax = "proto3";', "package shop;"]
    lines += [f'import "google/protobuf/{name}.proto";' for name in GOOGLE]
    values = " ".join(f"{name} = {number};" for name, number in ENUM.items())
    lines.append(f"enum State {{ {values} }}")
    for message, fields in MESSAGES.items():
        lines.append(f"message {message} {{")
        members: list[str] = []
        for number, (name, kind) in enumerate(fields, 1):
            kind, _, oneof = kind.partition(":")
            (members if oneof else lines).append(f"  {kind} {name} = {number};")
        if members:
            lines += ["  oneof paid {", *members, "  }"]
        lines.append("}")
    return "\n".join(lines)


def file_descriptor() -> descriptor_pb2.FileDescriptorProto:
    """Return the descriptor of the file, as protoc writes it."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(f"google/protobuf/{name}.proto" for name in GOOGLE)
    state = file.enum_type.add(name="State")
    for name, number in ENUM.items():
        state.value.add(name=name, number=number)
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            _add_field(message, field, number, kind)
        # Those of optional fields come after the others.
        for field in message.field:
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")
    return file


def _add_field(
    message: descriptor_pb2.DescriptorProto, name: str, number: int, declaration: str
) -> None:
    kind, _, oneof = declaration.partition(":")
    field = message.field.add(name=name, number=number, label=FieldDescriptor.LABEL_OPTIONAL)
    if kind.startswith("map<"):
        key, value = kind[4:-1].split(", ")
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _add_field(entry, "key", 1, key)
        _add_field(entry, "value", 2, value)
        field.label, field.type = FieldDescriptor.LABEL_REPEATED, FieldDescriptor.TYPE_MESSAGE
        field.type_name = f".shop.{message.name}.{entry.name}"
        return
    label, _, kind = kind.rpartition(" ")
    if label == "repeated":
        field.label = FieldDescriptor.LABEL_REPEATED
    field.proto3_optional = label == "optional"
    if kind in SCALARS:
        field.type = getattr(FieldDescriptor, f"TYPE_{kind.upper()}")
    else:
        is_enum = kind == "State"
        field.type = FieldDescriptor.TYPE_ENUM if is_enum else FieldDescriptor.TYPE_MESSAGE
        field.type_name = f".{kind}" if "." in kind else f".shop.{kind}"
    if oneof:
        if not message.oneof_decl:
            message.oneof_decl.add(name=oneof)
        field.oneof_index = 0


def classes() -> dict[str, Any]:
    """Return the classes of the messages, as generated code has them."""
    pool = descriptor_pool.DescriptorPool()
    for module in (duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file_descriptor().SerializeToString())
    found = {}
    for name in MESSAGES:
        descriptor = pool.FindMessageTypeByName(f"shop.{name}")
        found[name] = message_factory.GetMessageClass(descriptor)
    return found


def descriptor_set() -> bytes:
    """Return what ``protoc --include_imports --descriptor_set_out`` writes."""
    files = descriptor_pb2.FileDescriptorSet()
    for module in (duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2):
        files.file.add().ParseFromString(module.DESCRIPTOR.serialized_pb)
    files.file.append(file_descriptor())
    return bytes(files.SerializeToString())


_INTEGERS = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
_RANGES = {
    FieldDescriptor.TYPE_INT32: _INTEGERS["int32"],
    FieldDescriptor.TYPE_SINT32: _INTEGERS["int32"],
    FieldDescriptor.TYPE_SFIXED32: _INTEGERS["int32"],
    FieldDescriptor.TYPE_INT64: _INTEGERS["int64"],
    FieldDescriptor.TYPE_SINT64: _INTEGERS["int64"],
    FieldDescriptor.TYPE_SFIXED64: _INTEGERS["int64"],
    FieldDescriptor.TYPE_UINT32: _INTEGERS["uint32"],
    FieldDescriptor.TYPE_FIXED32: _INTEGERS["uint32"],
    FieldDescriptor.TYPE_UINT64: _INTEGERS["uint64"],
    FieldDescriptor.TYPE_FIXED64: _INTEGERS["uint64"],
}


def fill(message: Any, source: random.Random) -> Any:
    """Set some fields of a message to random values, and return it."""
    for field in message.DESCRIPTOR.fields:
        if source.random() < 0.4:
            continue
        target = getattr(message, field.name)
        if is_map(field):
            value = field.message_type.fields_by_name["value"]
            for _ in range(source.randrange(4)):
                key = _scalar(field.message_type.fields_by_name["key"], source)
                if value.message_type:
                    fill(target[key], source)
                else:
                    target[key] = _scalar(value, source)
        elif field.is_repeated and field.message_type:
            for _ in range(source.randrange(3)):
                _fill_message(target.add(), source)
        elif field.is_repeated:
            target.extend(_scalar(field, source) for _ in range(source.randrange(4)))
        elif field.message_type:
            target.SetInParent()
            _fill_message(target, source)
        else:
            setattr(message, field.name, _scalar(field, source))
    return message


def is_map(field: Any) -> bool:
    """Whether a field is a map."""
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _fill_message(message: Any, source: random.Random) -> None:
    name = message.DESCRIPTOR.full_name
    if name == "google.protobuf.Timestamp":
        message.seconds = source.randrange(-62135596800, 253402300800)
        message.nanos = source.randrange(10**9)
    elif name == "google.protobuf.Duration":
        seconds = source.randrange(-(10**9), 10**9)
        message.seconds = seconds
        message.nanos = source.randrange(10**9) * (-1 if seconds < 0 else 1)
    elif name == "google.protobuf.Struct":
        message.update({"a": source.random(), "ü": [None, True, "x\n"], "b": {"c": {}}})
    else:
        fill(message, source)


def _scalar(field: Any, source: random.Random) -> Any:
    if field.type in _RANGES:
        low, high = _RANGES[field.type]
        return source.choice([low, high, 0, 1, source.randint(low, high)])
    if field.type == FieldDescriptor.TYPE_BOOL:
        return source.random() < 0.5
    if field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        return source.choice([0.0, -1.5, float("inf"), source.uniform(-1e9, 1e9)])
    if field.type == FieldDescriptor.TYPE_STRING:
        return source.choice(["", "text", "ü€😀\x00", "x" * source.randrange(200)])
    if field.type == FieldDescriptor.TYPE_BYTES:
        return source.randbytes(source.randrange(20))
    return source.choice([*ENUM.values(), 77])


def expected(message: Any) -> dict[str, Any]:
    """Return a message as ottla decodes it."""
    result: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if is_map(field):
            parts = field.message_type.fields_by_name
            result[field.name] = {
                _expected(parts["key"], key): _expected(parts["value"], value[key]) for key in value
            }
        elif field.is_repeated:
            result[field.name] = [_expected(field, item) for item in value]
        elif field.has_presence and not message.HasField(field.name):
            result[field.name] = None
        else:
            result[field.name] = _expected(field, value)
    return result


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _expected(field: Any, value: Any) -> Any:
    if field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64):
        return Decimal(value)
    if field.enum_type:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else str(value)
    if not field.message_type:
        return value
    name = field.message_type.full_name
    if name == "google.protobuf.Timestamp":
        return EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    if name == "google.protobuf.Duration":
        return timedelta(seconds=value.seconds, microseconds=int(value.nanos / 1000))
    if name == "google.protobuf.Struct":
        return json_format.MessageToDict(value)
    if name.startswith("google.protobuf."):
        return _expected(field.message_type.fields_by_name["value"], value.value)
    return expected(value)


def read(value: dict[str, Any]) -> dict[str, Any]:
    """Return a decoded order with its JSON text parsed, which can be written in several ways."""
    if value.get("extra") is not None:
        value["extra"] = json.loads(value["extra"])
    return value

"""Protobuf schemas: generated classes to the registry's text, and the text to descriptors.

The registry's text is a file's descriptor, serialized, in base64. Files of ``google/`` and
``confluent/`` are known to every registry and are not registered.
"""

from __future__ import annotations

import base64
import importlib
from collections.abc import Sequence
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.serialization import SerializationError

PROTOBUF_TYPE = "PROTOBUF"

_BUILTIN = ("confluent/", "google/protobuf/", "google/type/")
# Each after those that it imports.
_GOOGLE = (
    "any",
    "source_context",
    "type",
    "api",
    "descriptor",
    "duration",
    "empty",
    "field_mask",
    "struct",
    "timestamp",
    "wrappers",
)
_GOOGLE_TYPE = (
    "calendar_period",
    "color",
    "date",
    "datetime",
    "dayofweek",
    "expr",
    "fraction",
    "latlng",
    "money",
    "month",
    "postal_address",
    "quaternion",
    "timeofday",
)


def _is_builtin(name: str) -> bool:
    return name.startswith(_BUILTIN)


def _builtin_modules() -> list[Any]:
    from ottla.compat.confluent_kafka.schema_registry import _protobuf_confluent

    modules = [importlib.import_module(f"google.protobuf.{name}_pb2") for name in _GOOGLE]
    for name in _GOOGLE_TYPE:
        try:
            modules.append(importlib.import_module(f"google.type.{name}_pb2"))
        except ImportError:
            # The package googleapis-common-protos has them; few schemas need it.
            break
    return [module.DESCRIPTOR for module in modules] + _protobuf_confluent.files()


def new_pool() -> Any:
    """Return a pool of descriptors that has the files that need no reference."""
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for descriptor in _builtin_modules():
        pool.AddSerializedFile(descriptor.serialized_pb)
    return pool


def _create_index_array(msg_desc: Any) -> list[int]:
    """Return where a message is in its file, from the outermost one."""
    indexes: list[int] = []
    current = msg_desc
    while current.containing_type is not None:
        parent = current.containing_type
        indexes.insert(0, _place(current, parent.nested_types))
        current = parent
    indexes.insert(0, _place(current, list(msg_desc.file.message_types_by_name.values())))
    return indexes


def _place(message: Any, messages: Sequence[Any]) -> int:
    for index, other in enumerate(messages):
        if other.full_name == message.full_name:
            return index
    raise ValueError(f"{message.full_name} is not in its own file")


def _schema_to_str(file_descriptor: Any) -> str:
    """Return the registry's text of a file."""
    return base64.standard_b64encode(file_descriptor.serialized_pb).decode("ascii")


def _str_to_proto(name: str, schema_str: str) -> Any:
    """Return the file of a registry's text, under a name."""
    from google.protobuf import descriptor_pb2
    from google.protobuf.message import DecodeError

    file = descriptor_pb2.FileDescriptorProto()
    try:
        file.ParseFromString(base64.standard_b64decode(schema_str.encode("ascii")))
    except (DecodeError, ValueError) as error:
        raise SerializationError(f"the schema is not a serialized descriptor: {error}") from error
    file.name = name
    return file


def load_file(schema: Schema, registry: Any) -> Steps[Any]:
    """Return the descriptor of a schema's file, in a pool of its own."""
    if schema.schema_str is None:
        raise ValueError("Schema string cannot be None")
    pool = new_pool()
    yield from _add_references(schema, registry, pool, set())
    file = _str_to_proto("default", schema.schema_str)
    pool.Add(file)
    return pool.FindFileByName(file.name)


def _add_references(schema: Schema, registry: Any, pool: Any, added: set[str]) -> Steps[None]:
    for reference in schema.references or []:
        if reference.name is None:
            raise ValueError("Name cannot be None")
        if _is_builtin(reference.name) or reference.name in added:
            continue
        added.add(reference.name)
        if reference.subject is None or reference.version is None:
            raise ValueError("Subject or version cannot be None")
        registered = yield registry.get_version(
            reference.subject, reference.version, True, "serialized"
        )
        if registered.schema.schema_str is None:
            raise ValueError("Schema string cannot be None")
        yield from _add_references(registered.schema, registry, pool, added)
        pool.Add(_str_to_proto(reference.name, registered.schema.schema_str))


def message_at(file: Any, indexes: Sequence[int]) -> Any:
    """Return the message at a place of a file. The indexes come from a payload."""
    from google.protobuf import descriptor_pb2

    # The order of a file's messages is that of its text, which maps of descriptors need not keep.
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    messages: Any = proto.message_type
    path: list[str] = []
    for index in indexes:
        if not 0 <= index < len(messages):
            kind = "nested" if path else "top-level"
            raise SerializationError(
                f"message index {index} out of range, there are {len(messages)} {kind} message(s)"
            )
        message = messages[index]
        path.append(message.name)
        messages = message.nested_type
    found = file.message_types_by_name[path[0]]
    for name in path[1:]:
        found = found.nested_types_by_name[name]
    return found

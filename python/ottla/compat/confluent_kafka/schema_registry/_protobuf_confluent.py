"""The descriptors of Confluent's own Protobuf files, built from their definitions.

They are in the pool of the process, as generated code would have put them there; if generated code
of the same files is loaded as well, the pool takes both, since they are equal.
"""

from __future__ import annotations

from functools import cache
from typing import Any

META = "confluent/meta.proto"
DECIMAL = "confluent/type/decimal.proto"
LEGACY_DECIMAL = "confluent/types/decimal.proto"

# The extension of each kind of options, in the order of the file.
_EXTENSIONS = (
    ("file_meta", "FileOptions"),
    ("message_meta", "MessageOptions"),
    ("field_meta", "FieldOptions"),
    ("enum_meta", "EnumOptions"),
    ("enum_value_meta", "EnumValueOptions"),
)


@cache
def file_named(name: str) -> Any:
    """Return the descriptor of one of the files."""
    from google.protobuf import descriptor_pool

    pool = descriptor_pool.Default()
    try:
        return pool.FindFileByName(name)
    except KeyError:
        pool.AddSerializedFile(_definition(name).SerializeToString())
        return pool.FindFileByName(name)


def files() -> list[Any]:
    """Return the descriptors of all files, each after those that it imports."""
    return [file_named(name) for name in (META, DECIMAL, LEGACY_DECIMAL)]


def message_class(file: str, name: str) -> Any:
    """Return the class of a message of one of the files."""
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(file_named(file).message_types_by_name[name])


def _definition(name: str) -> Any:
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto3")
    if name == LEGACY_DECIMAL:
        file_named(DECIMAL)
        file.dependency.append(DECIMAL)
        file.public_dependency.append(0)
    elif name == DECIMAL:
        file.package = "confluent.type"
        message = file.message_type.add(name="Decimal")
        _add_fields(message, (("value", "BYTES"), ("precision", "UINT32"), ("scale", "INT32")))
    else:
        _define_meta(file)
    return file


def _define_meta(file: Any) -> None:
    file.package = "confluent"
    file.dependency.append("google/protobuf/descriptor.proto")
    file.options.go_package = "../confluent"
    meta = file.message_type.add(name="Meta")
    _add_fields(meta, (("doc", "STRING"),))
    kind = meta.field.add(name="params", number=2)
    kind.label, kind.type = kind.LABEL_REPEATED, kind.TYPE_MESSAGE
    kind.type_name = ".confluent.Meta.ParamsEntry"
    tags = meta.field.add(name="tags", number=3)
    tags.label, tags.type = tags.LABEL_REPEATED, tags.TYPE_STRING
    rules = meta.field.add(name="rules", number=4)
    rules.label, rules.type = rules.LABEL_REPEATED, rules.TYPE_MESSAGE
    rules.type_name = ".confluent.Rule"
    entry = meta.nested_type.add(name="ParamsEntry")
    _add_fields(entry, (("key", "STRING"), ("value", "STRING")))
    entry.options.map_entry = True
    rule = file.message_type.add(name="Rule")
    _add_fields(rule, tuple((name, "STRING") for name in ("name", "doc", "expr", "sql")))
    for name, options in _EXTENSIONS:
        extension = file.extension.add(name=name, number=1088)
        extension.label, extension.type = extension.LABEL_OPTIONAL, extension.TYPE_MESSAGE
        extension.type_name = ".confluent.Meta"
        extension.extendee = f".google.protobuf.{options}"


def _add_fields(message: Any, fields: tuple[tuple[str, str], ...]) -> None:
    for number, (name, kind) in enumerate(fields, 1):
        field = message.field.add(name=name, number=number)
        field.label, field.type = field.LABEL_OPTIONAL, getattr(field, f"TYPE_{kind}")

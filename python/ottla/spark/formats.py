"""The formats of typed columns, one per process and kept between tasks.

Called on the driver, where the reader's schema is pinned, and in tasks. Invariant: a format is
used only in the process that created it; a query reads with the schema that was pinned when it was
planned, whatever is registered later.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ottla._internal.extras import require
from ottla.errors import SchemaError
from ottla.spark.options.typed_columns import TypedColumn

if TYPE_CHECKING:
    import pyarrow as pa

    from ottla.schema import ColumnFormat, DeadLetters, Registry, Schema
    from ottla.spark.protocols import Formats

_MAX_FORMATS = 64
_TYPES: dict[str, Literal["AVRO", "PROTOBUF", "JSON"]] = {
    "avro": "AVRO",
    "protobuf": "PROTOBUF",
    "json": "JSON",
}

_formats: OrderedDict[tuple[int, TypedColumn], ColumnFormat] = OrderedDict()
_registries: dict[tuple[int, tuple[tuple[str, str], ...]], Registry] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class PinnedSchema:
    """The reader's schema of a query, as the schema of its frame states it.

    Attributes:
        id: the id in the registry.
        description: the subject, the version and the id.
    """

    id: int
    description: str


def pinned_schema(typed: TypedColumn) -> PinnedSchema | None:
    """Return the latest schema of the subject, or None if the options name another schema."""
    if typed.schema is not None or typed.subject is None:
        return None
    # This process may be older than the query, and with it what it has cached.
    uncached = dict(typed.registry) | {"schema.registry.latest.cache.ttl.ms": "0"}
    with _lock:
        registry = _registry_for(tuple(sorted(uncached.items())))
    latest = registry.latest(typed.subject)
    if latest.id is None:
        raise SchemaError(f"the schema registry returned no id for subject {typed.subject}")
    description = f"{typed.subject}, version {latest.version}, id {latest.id}"
    return PinnedSchema(latest.id, description)


def pin(typed: TypedColumn, schema_id: int | None) -> TypedColumn:
    """Return the same column, read with this schema unless the options name one."""
    if typed.schema is not None or schema_id is None:
        return typed
    return replace(typed, schema=schema_id, subject=None)


def format_for(typed: TypedColumn) -> ColumnFormat:
    """Return this process's format of a column."""
    key = (os.getpid(), typed)
    with _lock:
        known = _formats.get(key)
    # Not within the lock: dead letters may have to connect.
    made = _make_format(typed) if known is None else known
    with _lock:
        made = _formats.setdefault(key, made)
        _formats.move_to_end(key)
        while len(_formats) > _MAX_FORMATS:
            _formats.popitem(last=False)
    return made


def formats_of(columns: Iterable[TypedColumn]) -> Formats:
    """Return this process's formats of columns, as arguments of a scan or of ``send_batch``."""
    formats: Formats = {}
    for typed in columns:
        if typed.column == "key":
            formats["key_format"] = format_for(typed)
        else:
            formats["value_format"] = format_for(typed)
    return formats


def decoded_type(typed: TypedColumn) -> pa.DataType:
    """Return the Arrow type of the decoded column."""
    import pyarrow as pa

    # Nothing is decoded here, so nothing needs the topic of dead letters.
    plain = replace(typed, mode="failfast", dead_letters=None)
    return pa.field(format_for(plain).arrow_type(key=typed.column == "key")).type


def _make_format(typed: TypedColumn) -> ColumnFormat:
    from ottla import schema

    with _lock:
        registry = _registry_for(typed.registry) if typed.registry else None
    common: dict[str, Any] = {
        "schema": _schema(typed),
        "subject": typed.subject,
        "wire_format": typed.wire_format,
        "mode": _mode(typed),
        "fields": None if typed.fields is None else list(typed.fields),
        "register": typed.registers,
        "schema_id_serializer": typed.schema_id_serializer,
        **({"subject_strategy": typed.subject_strategy} if typed.subject_strategy else {}),
        "limits": dict(typed.limits),
    }
    match typed.format:
        case "avro":
            return schema.Avro(registry, **common)
        case "protobuf":
            return schema.Protobuf(registry, message=typed.message, **common)
        case _:
            require_validator(typed)
            return schema.Json(registry, validate=typed.validates, **common)


def require_validator(typed: TypedColumn) -> None:
    """Check that this process can validate a column, if that is asked for.

    Raises:
        MissingExtraError: the package is not installed; it says where, since executors may have
            other packages than the driver.
    """
    if typed.validates:
        place = f"{sys.executable} on {socket.gethostname()}"
        require(f"option {typed.column}.validate=true, in {place},", "json-validation")


def _schema(typed: TypedColumn) -> str | int | Schema | None:
    if not typed.references:
        return typed.schema
    from ottla.schema import Schema, SchemaReference

    return Schema(
        str(typed.schema),
        _TYPES[typed.format],
        references=[SchemaReference(*reference) for reference in typed.references],
    )


def _mode(typed: TypedColumn) -> str | DeadLetters:
    letters = typed.dead_letters
    if letters is None:
        return typed.mode
    from ottla.schema import DeadLetters
    from ottla.spark.clients import client

    return DeadLetters(letters.topic, client(dict(letters.kafka)))


def _registry_for(config: tuple[tuple[str, str], ...]) -> Registry:
    from ottla.schema import Registry

    key = (os.getpid(), config)
    if key not in _registries:
        _registries[key] = Registry(dict(config))
    return _registries[key]


def _forget_inherited() -> None:
    # Only the lock: a thread of the parent may have held it.
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_inherited)

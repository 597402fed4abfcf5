"""The registry's modules have the public names and signatures of confluent-kafka's."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.support.registry_layers import ORIGINAL, OURS

PACKAGE = "schema_registry"
MODULES = [
    PACKAGE,
    *(
        f"{PACKAGE}.{name}"
        for name in (
            "avro",
            "common.serde",
            "common.schema_registry_client",
            "error",
            "json_schema",
            "protobuf",
            "rule_registry",
            "schema_registry_client",
            "serde",
            "wildcard_matcher",
        )
    ),
    "avro.cached_schema_registry_client",
    "avro.error",
    "avro.load",
    "avro.serializer",
    "avro.serializer.message_serializer",
    "serialization",
]
# What is there for the original's own use, or needs a library; and its experimental Variant.
LEFT_OUT = {
    *("ACCEPT_HDR", "ContextStringIO", "DEFAULT_SPEC", "HAS_FAST", "List", "LocalSchemaRepository"),
    *("Optional", "SchemaParseException", "Session", "Tuple", "log", "parse_schema"),
    *("protobuf_to_variant", "schemaless_reader", "schemaless_writer", "string_type"),
    "variant_to_protobuf",
}


def public(module: Any) -> list[str]:
    names = getattr(module, "__all__", None) or list(vars(module))
    return [
        name
        for name in names
        if not name.startswith("_")
        and name not in LEFT_OUT
        and not inspect.ismodule(getattr(module, name))
    ]


def parameters(value: Any) -> Any:
    """Return names and simple defaults of parameters."""
    simple = (int, str, bool, type(None))
    return [
        (item.name, item.default if isinstance(item.default, simple) else ...)
        for item in inspect.signature(value).parameters.values()
    ]


@pytest.mark.parametrize("name", MODULES)
def test_names_and_signatures_are_the_originals(name: str) -> None:
    original, ours = ORIGINAL.module(name), OURS.module(name)
    names = public(original)
    assert [item for item in names if not hasattr(ours, item)] == []
    for item in names:
        theirs, mine = getattr(original, item), getattr(ours, item)
        if inspect.isfunction(theirs):
            assert parameters(theirs) == parameters(mine), item
        elif inspect.isclass(theirs) and theirs.__module__.startswith("confluent_kafka"):
            compare_classes(theirs, mine)


def compare_classes(theirs: Any, mine: Any) -> None:
    """Compare methods; fields of documents are compared by their constructors."""
    assert issubclass(theirs, Exception) == issubclass(mine, Exception)
    # A class whose instances are awaited has its signature in __init__.
    assert parameters(theirs.__init__) == parameters(mine.__init__), theirs
    for name, member in inspect.getmembers(theirs, callable):
        if name.startswith("_") or not inspect.isfunction(member):
            continue
        assert parameters(member) == parameters(getattr(mine, name)), (theirs, name)
        if name == "build":
            # The original's is a function that returns a coroutine: both are awaited.
            continue
        coroutine = inspect.iscoroutinefunction(member)
        assert inspect.iscoroutinefunction(getattr(mine, name)) == coroutine, (theirs, name)

"""confluent-kafka's schema registry package and ottla's stand-in, under the same names."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest

NAMES = ("confluent_kafka", "ottla.compat.confluent_kafka")
both = pytest.mark.parametrize("layer", NAMES, ids=("original", "ours"))


class Layer:
    """The modules of one of both.

    Args:
        root: the name of the package.
    """

    def __init__(self, root: str) -> None:
        self.root = root

    def module(self, name: str) -> ModuleType:
        """Return a module of the package."""
        return importlib.import_module(f"{self.root}.{name}")

    def __getattr__(self, name: str) -> Any:
        for module in (
            "serialization",
            "schema_registry",
            "schema_registry.schema_registry_client",
        ):
            found = getattr(self.module(module), name, None)
            if found is not None:
                return found
        for module in ("avro", "json_schema", "protobuf", "serde", "rule_registry"):
            found = getattr(self.module(f"schema_registry.{module}"), name, None)
            if found is not None:
                return found
        raise AttributeError(name)

    def value_context(self, topic: str = "orders", headers: Any = None) -> Any:
        """Return the context of a value."""
        return self.SerializationContext(topic, self.MessageField.VALUE, headers)


ORIGINAL, OURS = (Layer(name) for name in NAMES)


def plain(value: Any) -> Any:
    """Return a result in a form that is equal for equal results of both."""
    if hasattr(value, "to_dict"):
        # A null and a missing key are the same to a registry.
        return {key: plain(item) for key, item in value.to_dict().items() if item is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "version") and hasattr(value, "subject"):
        return (value.subject, value.version)
    return value


def outcome(call: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result of a call, or the exception with what programs read of it."""
    try:
        return plain(call(*args, **kwargs))
    except Exception as error:  # noqa: BLE001 - it is the outcome
        status = getattr(error, "http_status_code", None)
        return (type(error).__name__, status, getattr(error, "error_code", None))


async def async_outcome(call: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the same for a coroutine function."""
    try:
        return plain(await call(*args, **kwargs))
    except Exception as error:  # noqa: BLE001 - it is the outcome
        status = getattr(error, "http_status_code", None)
        return (type(error).__name__, status, getattr(error, "error_code", None))

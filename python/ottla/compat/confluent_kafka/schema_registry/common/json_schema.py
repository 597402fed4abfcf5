"""JSON text of payloads, and rules on values of JSON.

orjson is used if it is installed, since it is faster; the standard library writes the same text.
"""

from __future__ import annotations

import importlib
import json
import logging
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._json_rules import (
    JsonMessage,
    JsonSchema,
    get_inline_tags,
    get_type,
    transform,
    validate_message,
)

__all__ = [
    "JSON_TYPE",
    "JsonMessage",
    "JsonSchema",
    "get_inline_tags",
    "get_type",
    "transform",
    "validate_message",
]

JSON_TYPE = "JSON"

_orjson: Any
try:
    _orjson = importlib.import_module("orjson")
except ImportError:
    _orjson = None
except Exception:
    _orjson = None
    # A broken extension must not take the deserializers with it.
    logging.getLogger(__name__).warning("orjson could not be loaded", exc_info=True)

_HAS_ORJSON = _orjson is not None


def _json_loads(data: str | bytes | bytearray) -> Any:
    return json.loads(data) if _orjson is None else _orjson.loads(data)


def _json_dumps(obj: Any) -> str:
    if _orjson is None:
        return json.dumps(obj, separators=(",", ":"), ensure_ascii=False)
    text: str = _orjson.dumps(obj).decode("utf-8")
    return text

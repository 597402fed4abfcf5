"""The registry's differences from confluent-kafka; docs/compare/stand-ins.md has their reasons."""

from __future__ import annotations

import importlib
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest

from ottla.compat.confluent_kafka.schema_registry import _rest_config
from ottla.compat.confluent_kafka.schema_registry._protobuf_schema import new_pool
from ottla.compat.confluent_kafka.schema_registry.serde import ErrorAction
from ottla.compat.confluent_kafka.serialization import SerializationError


def test_authorities_are_those_of_the_system_or_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "certifi", None)
    asked: list[Any] = []
    monkeypatch.setattr(ssl, "create_default_context", lambda **where: asked.append(where))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    _rest_config._authorities(None)
    monkeypatch.setenv("SSL_CERT_DIR", "/directory")
    _rest_config._authorities(None)
    monkeypatch.setenv("SSL_CERT_FILE", "/file")
    _rest_config._authorities(None)
    _rest_config._authorities("/configured")
    _rest_config._authorities(str(tmp_path))
    assert asked == [
        {"capath": None},
        {"capath": "/directory"},
        {"cafile": "/file"},
        {"cafile": "/configured"},
        {"capath": str(tmp_path)},
    ]


def test_the_error_of_a_rule_has_the_text_of_its_cause() -> None:
    action: Any = ErrorAction()
    with pytest.raises(SerializationError, match="ids are positive") as raised:
        action.run(None, None, ValueError("ids are positive"))
    assert isinstance(raised.value.__cause__, ValueError)


def test_executors_are_those_of_an_installed_confluent_kafka() -> None:
    rules = importlib.import_module("ottla.compat.confluent_kafka.schema_registry.rules")
    assert rules.__file__ is not None
    own = Path(rules.__file__)
    assert [each.name for each in own.parent.glob("*.py")] == [own.name]
    [_, *others] = rules.__path__
    assert [Path(each).parts[-3:] for each in others] == [
        ("confluent_kafka", "schema_registry", "rules")
    ]


def test_googles_common_types_need_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("google.type")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.type", None)
    pool = new_pool()
    assert pool.FindFileByName("google/protobuf/timestamp.proto")
    with pytest.raises(KeyError):
        pool.FindFileByName("google/type/date.proto")

"""Calls that administer a schema registry: versions, deletion, levels, modes, contexts."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ottla import errors
from ottla._internal.registry_settings import CompatibilityLevel, RegistryMode
from ottla.schema import Registry, RegistrySetting, Schema, SchemaReference
from ottla.testing import MockRegistry
from tests.support.registries import REGISTRIES

ORDER = '{"type": "record", "name": "shop.Order", "fields": []}'
SAME = '{"name": "Order", "namespace": "shop", "type": "record", "fields": []}'


@pytest.fixture(params=REGISTRIES)
def client_class(request: pytest.FixtureRequest) -> Any:
    """The registry client: blocking or asyncio."""
    return REGISTRIES[request.param]


def code_of(error: pytest.ExceptionInfo[errors.SchemaError]) -> object:
    return error.value.context["registry_code"]


def test_a_registration_after_a_failed_look_up_has_a_version(
    mock_registry: MockRegistry, client_class: Any
) -> None:
    with client_class(mock_registry.url) as registry:
        with pytest.raises(errors.SchemaError):
            registry.lookup("s", Schema(ORDER))
        assert registry.register("s", Schema(ORDER)).version == 1


def test_levels_and_modes(mock_registry: MockRegistry, client_class: Any) -> None:
    with client_class(mock_registry.url) as registry:
        level = registry.compatibility_level()
        assert (level.value, level.is_global) == ("BACKWARD", True)
        registry.register("s", Schema(ORDER))
        with pytest.raises(errors.SchemaError, match="incompatible"):
            registry.register("s", Schema('"int"'))
        registry.set_compatibility_level("none", "s")
        assert registry.compatibility_level("s").is_global is False
        assert registry.compatibility_level("t") == level
        # What was refused is asked again.
        assert registry.register("s", Schema('"int"')).version == 2
        registry.delete_compatibility_level("s")
        assert registry.compatibility_level("s") == level
        with pytest.raises(errors.ConfigError, match="expected one of NONE, BACKWARD"):
            registry.set_compatibility_level("SOME")

        registry.set_mode("READONLY", "s")
        assert repr(registry.mode("s")) == 'RegistrySetting(value="READONLY", is_global=False)'
        with pytest.raises(errors.SchemaError, match="set_mode") as refused:
            registry.delete_subject("s")
        assert code_of(refused) == 42205
        registry.delete_mode("s")
        assert registry.mode("s").value == registry.mode().value == "READWRITE"
        with pytest.raises(errors.SchemaError) as refused:
            registry.set_mode("IMPORT", "s")
        assert code_of(refused) == 42205
        registry.set_mode("IMPORT", "s", force=True)
        with pytest.raises(errors.ConfigError, match="expected one of READWRITE"):
            registry.set_mode("WRITE")


def test_deletion(mock_registry: MockRegistry, client_class: Any) -> None:
    mock_registry.set_compatibility("NONE")
    with client_class(mock_registry.url) as registry:
        for text in (ORDER, '"int"'):
            registry.register("s", Schema(text))
        registry.delete_version("s", 1)
        assert registry.versions("s") == [2]
        assert registry.versions("s", deleted=True) == [1, 2]
        with pytest.raises(errors.SchemaError, match="does not have this version"):
            registry.schema_by_version("s", 1)
        assert registry.schema_by_version("s", 1, deleted=True).text == ORDER
        assert registry.delete_subject("s") == [2]
        assert registry.subjects() == []
        assert registry.subjects(deleted=True) == ["s"]
        with pytest.raises(errors.SchemaError, match="delete it permanently") as gone:
            registry.delete_subject("s")
        assert code_of(gone) == 40404
        assert registry.delete_subject("s", permanent=True) == [1, 2]
        assert registry.subjects(deleted=True) == []
        with pytest.raises(errors.ConfigError, match="versions begin with 1"):
            registry.delete_version("s", 0)


def test_references_normalization_and_contexts(
    mock_registry: MockRegistry, client_class: Any
) -> None:
    subject = ":.shop:orders/value"
    with client_class(mock_registry.url) as registry:
        registry.register(subject, Schema(ORDER), normalize=True)
        assert registry.register(subject, Schema(SAME), normalize=True).version == 1
        with pytest.raises(errors.SchemaError, match="does not have this schema"):
            registry.lookup(subject, Schema(SAME))
        assert registry.lookup(subject, Schema(SAME), normalize=True).version == 1
        reference = [SchemaReference("shop.Order", subject, 1)]
        text = '{"type": "array", "items": "shop.Order"}'
        assert registry.register("carts", Schema(text, references=reference)).version == 1
        with pytest.raises(errors.SchemaError, match="that refer to it first") as refused:
            registry.delete_subject(subject)
        assert code_of(refused) == 42206
        assert registry.subjects() == [subject, "carts"]
        assert registry.subjects(prefix=":.shop:") == [subject]
        assert registry.subjects(prefix=":*:ca") == registry.subjects(prefix="c") == ["carts"]
        registry.set_compatibility_level("FULL", ":.shop:")
        assert registry.compatibility_level(subject).value == "FULL"
    paths = [each.path for each in mock_registry.requests()]
    assert "/subjects/%3A.shop%3Aorders%2Fvalue/versions?normalize=true" in paths


def test_settings_are_values() -> None:
    with MockRegistry() as mock, Registry(mock.url) as registry:
        found = {registry.compatibility_level(), registry.compatibility_level("s")}
    assert len(found) == 1
    assert isinstance(found.pop(), RegistrySetting)


def test_each_level_and_mode_is_accepted(mock_registry: MockRegistry, client_class: Any) -> None:
    """The types of the arguments name the values that the core accepts, and no others."""
    with client_class(mock_registry.url) as registry:
        for level in get_args(CompatibilityLevel):
            registry.set_compatibility_level(level, "s")
            assert registry.compatibility_level("s").value == level
        with pytest.raises(errors.ConfigError) as refused:
            registry.set_compatibility_level("SOME")
        assert str(refused.value).endswith(", ".join(get_args(CompatibilityLevel)))
        with pytest.raises(errors.ConfigError) as refused:
            registry.set_mode("SOME")
        assert str(refused.value).endswith(", ".join(get_args(RegistryMode)))

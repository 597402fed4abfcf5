"""The calls of ``AIOKafkaAdminClient`` about the configurations of topics and brokers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from ottla import admin as ottla_admin
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import translated
from ottla.compat.aiokafka.admin import _responses as responses
from ottla.compat.aiokafka.admin._calls import AdminCalls
from ottla.compat.aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

__all__ = ["ConfigCalls"]


class ConfigCalls(AdminCalls):
    """The base of ``AIOKafkaAdminClient`` with its calls about configurations."""

    async def describe_configs(
        self, config_resources: Iterable[ConfigResource], include_synonyms: bool = False
    ) -> list[responses.ConfigsResponse]:
        """Return the configurations of resources, one response each.

        Args:
            config_resources: the resources, with the keys of interest.
            include_synonyms: whether to list the places that a value may come from.
        """
        listed = list(config_resources)
        calls = [
            self._started().describe_configs(
                [_resource(item)],
                keys=list(item.configs) if item.configs else None,
                errors="return",
            )
            for item in listed
        ]
        described = await asyncio.gather(*map(translated, calls))
        return [
            responses.ConfigsResponse([_described(item, found, synonyms=include_synonyms)])
            for item, result in zip(listed, described, strict=True)
            for found in result.values()
        ]

    async def alter_configs(
        self, config_resources: Iterable[ConfigResource]
    ) -> list[responses.ConfigsResponse]:
        """Replace the configurations of resources: keys that are not named become the default."""
        listed = list(config_resources)
        engine = self._started()
        results = []
        for item in listed:
            resource = _resource(item)
            current = await translated(engine.describe_configs([resource]))
            own = f"DYNAMIC_{resource.type.upper()}_CONFIG"
            alterations: dict[str, ottla_admin.Alteration] = {
                entry.name: None for entry in current[resource].values() if entry.source == own
            }
            alterations.update(item.configs or {})
            altered = await translated(
                engine.alter_configs({resource: alterations}, errors="return")
            )
            error = altered[resource]
            text = None if error is None else str(error)
            code = responses.error_code(error)
            results.append((code, text, int(item.resource_type), str(item.name)))
        return [responses.ConfigsResponse([result]) for result in results]


def _resource(item: ConfigResource) -> ottla_admin.ConfigResource:
    is_broker = item.resource_type is ConfigResourceType.BROKER
    return ottla_admin.ConfigResource("broker" if is_broker else "topic", str(item.name))


def _described(
    item: ConfigResource,
    found: dict[str, ottla_admin.ConfigEntry] | ottla_errors.KafkaError,
    *,
    synonyms: bool,
) -> tuple[Any, ...]:
    kind, name = int(item.resource_type), str(item.name)
    if isinstance(found, ottla_errors.KafkaError):
        return (responses.error_code(found), str(found), kind, name, [])
    entries = [responses.config_entry(entry, synonyms=synonyms) for entry in found.values()]
    return (0, None, kind, name, entries)

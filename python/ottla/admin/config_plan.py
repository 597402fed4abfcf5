"""Plans alterations of configurations: each key that would change, with both of its values.

Invariants: a key that would stay as it is is no change; the plan shows no secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ottla.admin.cluster import describe_cluster
from ottla.admin.config_resources import ConfigResource
from ottla.admin.configs import (
    Alteration,
    Append,
    ConfigEntry,
    Subtract,
    alter_configs,
    describe_configs,
)
from ottla.admin.items import settle
from ottla.admin.operation_call import Call
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.topic_defaults import BROKER_KEYS, inherited_value
from ottla.errors import ConfigError, KafkaError

# The sources of the values that belong to a resource itself; all others are inherited. Brokers
# report the level of every logger as its own.
_OWN = {
    "topic": "DYNAMIC_TOPIC_CONFIG",
    "broker": "DYNAMIC_BROKER_CONFIG",
    "group": "DYNAMIC_GROUP_CONFIG",
    "client_metrics": "DYNAMIC_CLIENT_METRICS_CONFIG",
}
_OF_ALL_BROKERS = "DYNAMIC_DEFAULT_BROKER_CONFIG"
# Brokers describe the keys of a listener, such as listener.name.NAME.ssl.key.password, only once
# they are set. Kafka's secrets have these in their names.
_SECRETS = re.compile("password|secret|jaas|keystore|truststore|credential")
_SECRET = "(secret)"  # noqa: S105 - it stands for one
_DEFAULT = "(default)"


async def plan_configs(
    call: Call, alterations: Mapping[ConfigResource, Mapping[str, Alteration]]
) -> Plan:
    """Let the brokers check alterations, and return the values before and after."""
    settle(await alter_configs(call, alterations, validate_only=True), "raise")
    before = settle(await describe_configs(call, alterations), "raise")
    inherited: Mapping[str, ConfigEntry] = {}
    if _needs_broker(alterations):
        inherited = await _broker_config(call)
    changes = []
    for resource, values in alterations.items():
        for name, value in values.items():
            change = _change(resource, name, before[resource], value, inherited)
            if change is not None:
                changes.append(change)
    return Plan(changes)


def _needs_broker(alterations: Mapping[ConfigResource, Mapping[str, Alteration]]) -> bool:
    """Return whether a key is unset that topics inherit in another unit."""
    return any(
        resource.type == "topic" and any(values.get(key, "") is None for key in BROKER_KEYS)
        for resource, values in alterations.items()
    )


async def _broker_config(call: Call) -> Mapping[str, ConfigEntry]:
    """Return the configuration of a broker; nothing if the principal may not describe it."""
    cluster = await describe_cluster(call, fenced=False, authorized_operations=False)
    if not cluster.brokers:
        return {}
    resource = ConfigResource("broker", str(cluster.brokers[0].id))
    keys = [key for named in BROKER_KEYS.values() for key, _ in named]
    found = (await describe_configs(call, [resource], keys=keys))[resource]
    return {} if isinstance(found, KafkaError) else found


def _change(
    resource: ConfigResource,
    name: str,
    entries: Mapping[str, ConfigEntry],
    value: Alteration,
    inherited: Mapping[str, ConfigEntry],
) -> PlannedChange | None:
    """Return what an alteration of a key changes; None if nothing."""
    entry = entries.get(name)
    before = entry.value if entry else None
    is_own = _is_own(resource, entry)
    if value is None:
        if entry is None and resource.type in {"topic", "group", "client_metrics"}:
            raise ConfigError(
                f"{resource} has no key {name}: `ottla configs describe --all` lists its keys"
            )
        if not is_own:
            return None
        after: str | None = _after_unset(name, entry, inherited)
    elif _is_secret(name, entry):
        return PlannedChange("alter", str(resource), name, before, _SECRET)
    else:
        after = _after(before, value)
        if is_own and before == after:
            return None
    # The value is the same, and no longer follows the default; or it does so again.
    detail = "inherited again" if value is None else "no longer inherited"
    return PlannedChange(
        "alter", str(resource), f"{name}, {detail}" if before == after else name, before, after
    )


def _is_own(resource: ConfigResource, entry: ConfigEntry | None) -> bool:
    """Return whether a key is set for the resource itself, as far as the brokers report it."""
    own = _OWN.get(resource.type)
    if resource.type == "broker" and not resource.name:
        own = _OF_ALL_BROKERS
    if own is None:
        return True
    if entry is None:
        return False
    # Brokers before Kafka 1.1 report no sources.
    return entry.source in {own, "UNKNOWN"}


def _is_secret(name: str, entry: ConfigEntry | None) -> bool:
    return bool(_SECRETS.search(name)) if entry is None else entry.is_sensitive


def _after_unset(
    name: str, entry: ConfigEntry | None, inherited: Mapping[str, ConfigEntry]
) -> str | None:
    """Return the value in effect once this resource's own value is gone."""
    if entry is not None and len(entry.synonyms) > 1:
        return entry.synonyms[1].value
    return inherited_value(name, inherited) or _DEFAULT


def _after(before: str | None, value: str | Append | Subtract) -> str:
    elements = [each for each in (before or "").split(",") if each]
    match value:
        case Append(element):
            return ",".join(dict.fromkeys([*elements, element]))
        case Subtract(element):
            return ",".join(each for each in elements if each != element)
        case _:
            return value

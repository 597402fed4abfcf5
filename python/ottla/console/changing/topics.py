"""Creates, alters and deletes topics.

Invariant: a topic is altered or deleted only if it is the one of the plan, by its id, and not
another one of the same name.
"""

from __future__ import annotations

from typing import Any

from ottla import Admin
from ottla.admin import ConfigResource
from ottla.console.changing.change import Change, Maker, Planned, count, pairs, text, typed
from ottla.console.group_survey import TIMEOUT
from ottla.console.source import Source
from ottla.errors import ConfigError


def _create(source: Source, body: dict[str, Any]) -> Change:
    name = text(body, "topic")
    partitions, replication = count(body, "partitions"), count(body, "replication")
    configs = dict(pairs(body, "configs"))
    topic = name, partitions, replication, configs
    admin = source.admin

    def plan() -> Planned:
        return Planned(admin.create_topic(*topic, dry_run=True, timeout=TIMEOUT))

    def apply() -> None:
        admin.create_topic(*topic, timeout=TIMEOUT)

    return Change(topic, plan, apply)


def _add_partitions(source: Source, body: dict[str, Any]) -> Change:
    name, total = text(body, "topic"), count(body, "total")
    if total is None:
        raise ConfigError("total is missing")
    admin = source.admin

    def plan() -> Planned:
        found = admin.create_partitions({name: total}, dry_run=True, timeout=TIMEOUT)
        return Planned(found, topic_id(admin, name))

    def apply() -> None:
        admin.create_partitions({name: total}, timeout=TIMEOUT)

    return Change([name, total], plan, apply)


def _configs(source: Source, body: dict[str, Any]) -> Change:
    name = text(body, "topic")
    values: dict[str, str | None] = dict(pairs(body, "set"))
    for key in text(body, "unset", "").replace(",", " ").split():
        if key in values:
            raise ConfigError(f"unset: {key} is set, too")
        values[key] = None
    if not values:
        raise ConfigError("name a key to set, such as retention.ms=3600000, or one to unset")
    resource = ConfigResource("topic", name)
    admin = source.admin

    def plan() -> Planned:
        changes = admin.alter_configs({resource: values}, dry_run=True, timeout=TIMEOUT)
        return Planned(changes, topic_id(admin, name))

    def apply() -> None:
        admin.alter_configs({resource: values}, timeout=TIMEOUT)

    return Change([name, values], plan, apply)


def _delete(source: Source, body: dict[str, Any]) -> Change:
    name = text(body, "topic")
    admin = source.admin

    def plan() -> Planned:
        changes = admin.delete_topic(name, dry_run=True, timeout=TIMEOUT)
        return Planned(changes, topic_id(admin, name))

    def apply() -> None:
        admin.delete_topic(name, timeout=TIMEOUT)

    return Change(name, plan, apply, check=typed(body, name))


def topic_id(admin: Admin, name: str) -> str | None:
    """Return the id of a topic; None if the brokers have no ids.

    Raises:
        UnknownTopicError: it does not exist.
    """
    return admin.describe_topics([name], timeout=TIMEOUT)[name].topic_id


CHANGES: dict[str, Maker] = {
    "topics/create": _create,
    "topics/partitions": _add_partitions,
    "topics/configs": _configs,
    "topics/delete": _delete,
}
"""The changes of topics."""

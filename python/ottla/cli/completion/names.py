"""The names that a cluster or a schema registry has, for completion.

Invariants: nothing is raised or printed; a call returns by its deadline; no name has characters
that could move a cursor.
"""

from __future__ import annotations

import argparse
import contextlib
import threading
import time
from collections.abc import Callable, Iterable

from ottla import Admin, Client
from ottla.admin import ConfigResource
from ottla.admin.config_resources import ResourceType
from ottla.cli.completion import cache
from ottla.cli.options import configuration, registry_configuration
from ottla.cli.registry_keys import without_limits
from ottla.schema import Registry

# The part of the time that is kept for writing the completions.
_RESERVE = 0.1

Read = Callable[[Admin], Iterable[str]]
"""Asks a cluster for names."""


def names(arguments: argparse.Namespace, kind: str, read: Read, deadline: float) -> list[str]:
    """Return names of the cluster that the arguments name, sorted; empty if none can be obtained.

    Args:
        arguments: the arguments before the cursor.
        kind: what the names are, such as ``topics``: the same kind has the same names.
        read: asks the cluster.
        deadline: the time by ``time.monotonic`` at which the process ends.
    """
    found: list[list[str]] = []

    def ask() -> None:
        with contextlib.suppress(Exception):
            config = configuration(arguments)
            file = cache.cache_file(config, kind)
            if file is not None and (cached := cache.read(file, cache.OLD)) is not None:
                found.append(cached)
                if cache.read(file, cache.FRESH) is not None:
                    return
            timeout = max(deadline - time.monotonic(), 0.01)
            # Not closed, since the process ends next.
            client = Client(config={**config, "client.id": "ottla-completion"}, timeout=timeout)
            found.append(sorted(name for name in set(read(Admin(client))) if _is_plain(name)))
            # A cluster may hide names for a moment: none are not worth keeping.
            if file is not None and found[-1]:
                cache.write(file, found[-1])

    _run_until(deadline, ask)
    return found[-1] if found else []


def subjects(arguments: argparse.Namespace, prefix: str, deadline: float) -> list[str]:
    """Return the subjects of the registry that the arguments name, as ``names`` does; uncached."""
    found: list[str] = []

    def ask() -> None:
        with contextlib.suppress(Exception):
            config, _ = without_limits(registry_configuration(arguments))
            timeout = max(deadline - time.monotonic(), 0.01)
            # Not closed, since the process ends next.
            all_ = Registry(config).subjects(prefix=prefix, timeout=timeout)
            found.extend(sorted(filter(_is_plain, all_)))

    _run_until(deadline, ask)
    return found


def _run_until(deadline: float, ask: Callable[[], None]) -> None:
    # A thread, since the lookup of an address cannot be interrupted.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(deadline - _RESERVE - time.monotonic())


def _is_plain(name: str) -> bool:
    return bool(name) and name.isprintable()


def topics(admin: Admin) -> Iterable[str]:
    """Return the names of topics."""
    return [topic.name for topic in admin.list_topics()]


def partitions_of(topic: str) -> Read:
    """Return a function that returns the numbers of a topic's partitions."""

    def read(admin: Admin) -> Iterable[str]:
        return map(str, range(len(admin.describe_topics([topic])[topic].partitions)))

    return read


def groups(admin: Admin) -> Iterable[str]:
    """Return the ids of groups."""
    return [group.group_id for group in admin.list_groups()]


def brokers(admin: Admin) -> Iterable[str]:
    """Return the ids of brokers."""
    return [str(broker.id) for broker in admin.describe_cluster().brokers]


def users(admin: Admin) -> Iterable[str]:
    """Return the users with SCRAM passwords or quotas."""
    found: set[str] = set()
    # One needs other rights than the other.
    with contextlib.suppress(Exception):
        found.update(admin.describe_user_scram_credentials())
    with contextlib.suppress(Exception):
        found.update(each.user for each in admin.describe_client_quotas() if each.user)
    return found


def transactional_ids(admin: Admin) -> Iterable[str]:
    """Return the transactional ids that coordinators know."""
    return [each.transactional_id for each in admin.list_transactions()]


def features(admin: Admin) -> Iterable[str]:
    """Return the names of the cluster's features."""
    found = admin.describe_features()
    return {
        *found.finalized_features,
        *(n for each in found.supported_features.values() for n in each),
    }


def client_metrics(admin: Admin) -> Iterable[str]:
    """Return the names of subscriptions to clients' metrics."""
    return [each.name for each in admin.list_config_resources(["client_metrics"])]


def config_keys(type_: ResourceType, name: str | None) -> Read:
    """Return a function that returns the keys of a resource; of any topic if ``name`` is None."""

    def read(admin: Admin) -> Iterable[str]:
        resource = ConfigResource(type_, next(iter(topics(admin))) if name is None else name)
        return iter(admin.describe_configs([resource])[resource])

    return read

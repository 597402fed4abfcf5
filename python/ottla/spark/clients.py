"""One core client per process and configuration, made at first use and kept between tasks.

Called on the driver and by readers and writers in Python workers. Invariant: a client, and its
producer, is used only in the process that made it; one inherited through ``fork()`` is neither used
nor destroyed.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import ottla
    from ottla.spark.core import Client, Producer

RACK = "OTTLA_CLIENT_RACK"
"""The environment variable by which each executor's machine says which rack it is in."""

_MAX_CLIENTS = 8

_Key = tuple[int, frozenset[tuple[str, str]]]


@dataclass
class _Held:
    """A client, and the producer that shares its connections once there is one."""

    client: Client
    producer: Producer | None = None


_clients: OrderedDict[_Key, _Held] = OrderedDict()
_inherited: list[_Held] = []
_lock = threading.Lock()
_frozen_in: int | None = None


def client_for(config: Mapping[str, str], hint: str | None = None) -> Client:
    """The client of this process for this configuration.

    ``hint`` is the address of one more broker that is likely to answer; it takes part only when
    the client has to be made, so tasks with different hints share one client.
    """
    with _lock:
        return _hold(config, hint).client


def client(config: Mapping[str, str]) -> ottla.Client:
    """The client of this process for this configuration, to be used in functions that Spark runs.

    A Python worker has one for each configuration and keeps it, with its connections, from task to
    task; on the driver it is the one that plans reads. Don't close it.

    Args:
        config: by Kafka's dotted names, with ``bootstrap.servers``; values as text.

    Raises:
        BootstrapError: no server could be used.
        ConfigError: a key or a value is wrong.
    """
    return cast("ottla.Client", client_for(config))


def producer(config: Mapping[str, str]) -> ottla.Producer:
    """The producer on the connections of ``client(config)``; flush it before a task ends."""
    return cast("ottla.Producer", producer_for(config))


def producer_for(config: Mapping[str, str]) -> Producer:
    """The producer of this process for this configuration; whoever uses it flushes it."""
    with _lock:
        held = _hold(config, None)
        if held.producer is None:
            held.producer = _produce(held.client)
        return held.producer


def settle_worker() -> None:
    """Once per process, take what was imported out of the garbage collector's sight.

    Spark's workers run a full collection after every task, which otherwise walks all modules each
    time and costs more than a small task itself.
    """
    global _frozen_in
    if _frozen_in != os.getpid():
        _frozen_in = os.getpid()
        gc.collect()
        gc.freeze()


def _hold(config: Mapping[str, str], hint: str | None) -> _Held:
    key = (os.getpid(), frozenset(config.items()))
    held = _clients.get(key)
    if held is None:
        held = _clients[key] = _Held(_connect(config, hint))
        while len(_clients) > _MAX_CLIENTS:
            # Dropped, not closed: a task under way may still use it.
            _clients.popitem(last=False)
    _clients.move_to_end(key)
    return held


def _produce(client: Client) -> Producer:
    import ottla

    # What connects makes no other.
    made: Producer = ottla.Producer(cast(ottla.Client, client))
    return made


def _connect(config: Mapping[str, str], hint: str | None) -> Client:
    import ottla
    from ottla.errors import ConfigError

    servers = config.get("bootstrap.servers", "")
    if not servers.strip():
        raise ConfigError("bootstrap.servers must be set, for example to host1:9092,host2:9092")
    if hint is not None and hint not in servers.split(","):
        servers = f"{hint},{servers}"
    settings = {**config, "bootstrap.servers": servers}
    # Options are the same for all executors, which may be in different racks.
    if "client.rack" not in config and (rack := os.environ.get(RACK)):
        settings["client.rack"] = rack
    made: Client = ottla.Client(config=settings)
    return made


def _forget_inherited() -> None:
    # Kept alive on purpose: closing a parent's connections from the child would hurt the parent.
    global _lock
    _lock = threading.Lock()
    _inherited.extend(_clients.values())
    _clients.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_inherited)

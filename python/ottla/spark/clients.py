"""One core client per process and configuration, made at first use and kept between tasks.

Called on the driver and by readers and writers in Python workers. Invariant: a client, and its
producer, is used only in the process that made it; one inherited through ``fork()`` is neither used
nor destroyed. Who connects holds up only those who want the same client.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ottla.stderr_log import show_warnings

if TYPE_CHECKING:
    import ottla
    from ottla.spark.protocols import Client, Producer

RACK = "OTTLA_CLIENT_RACK"
"""The environment variable by which each executor's machine says which rack it is in."""

_MAX_CLIENTS = 8

_Key = tuple[int, frozenset[tuple[str, str]]]


@dataclass
class _Held:
    """A client once it is connected, and the producer that shares its connections."""

    client: Client | None = None
    producer: Producer | None = None
    # Held while either is made.
    lock: threading.Lock = field(default_factory=threading.Lock)


_clients: OrderedDict[_Key, _Held] = OrderedDict()
_inherited: list[_Held] = []
_lock = threading.Lock()
_frozen_in: int | None = None


def client_for(config: Mapping[str, str], hint: str | None = None) -> Client:
    """The client of this process for this configuration.

    ``hint`` is the address of one more broker that is likely to answer; it takes part only when
    the client has to be made, so tasks with different hints share one client.
    """
    held = _hold(config)
    with held.lock:
        return _connected(held, config, hint)


def client(config: Mapping[str, str]) -> ottla.Client:
    """Return this process's client for a configuration, for use in functions that Spark runs.

    A Python worker keeps one for each configuration, with its connections, from task to task; on
    the driver it is the one that plans reads. Do not close it. The environment variable
    ``OTTLA_CLIENT_RACK`` sets ``client.rack`` if the configuration does not.

    Args:
        config: configuration by Kafka's dotted names, with ``bootstrap.servers``; values as text.

    Raises:
        BootstrapError: no bootstrap server could be used.
        ConfigError: a key or a value is wrong.
    """
    _show_warnings_in_a_task()
    return cast("ottla.Client", client_for(config))


def producer(config: Mapping[str, str]) -> ottla.Producer:
    """Return this process's producer on the connections of ``client(config)``.

    Flush it before a task ends, and do not close it.

    Args:
        config: configuration by Kafka's dotted names, with ``bootstrap.servers``; values as text.

    Raises:
        BootstrapError: no bootstrap server could be used.
        ConfigError: a key or a value is wrong.
    """
    _show_warnings_in_a_task()
    return cast("ottla.Producer", producer_for(config))


def producer_for(config: Mapping[str, str]) -> Producer:
    """The producer of this process for this configuration; whoever uses it flushes it."""
    held = _hold(config)
    with held.lock:
        if held.producer is None:
            held.producer = _produce(_connected(held, config, None))
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


def _show_warnings_in_a_task() -> None:
    # The driver is the user's own program, and the log there is its own.
    pyspark = sys.modules.get("pyspark")
    if pyspark is not None and pyspark.TaskContext.get() is not None:
        show_warnings()


def _hold(config: Mapping[str, str]) -> _Held:
    key = (os.getpid(), frozenset(config.items()))
    with _lock:
        held = _clients.setdefault(key, _Held())
        _clients.move_to_end(key)
        while len(_clients) > _MAX_CLIENTS:
            # Dropped, not closed: a task under way may still use it.
            _clients.popitem(last=False)
    return held


def _connected(held: _Held, config: Mapping[str, str], hint: str | None) -> Client:
    if held.client is None:
        held.client = _connect(config, hint)
    return held.client


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

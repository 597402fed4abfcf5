"""One client per process and configuration, created at first use and kept between tasks.

Called on the driver, and by readers and writers in Python workers. Invariant: a client and its
producer are used only in the process that created them; one inherited through ``fork()`` is neither
used nor destroyed. Connecting blocks only callers that want the same client.
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

from ottla._internal.stderr_log import show_warnings

if TYPE_CHECKING:
    import ottla
    from ottla.spark.protocols import Client, Producer

RACK_VARIABLE = "OTTLA_CLIENT_RACK"
"""The environment variable that gives the rack of an executor's machine."""

_MAX_CLIENTS = 8

_Key = tuple[int, frozenset[tuple[str, str]]]


@dataclass
class _CachedClient:
    """A client, once connected, and the producer that shares its connections."""

    client: Client | None = None
    producer: Producer | None = None
    # Locked while either is created.
    lock: threading.Lock = field(default_factory=threading.Lock)


_clients: OrderedDict[_Key, _CachedClient] = OrderedDict()
_inherited: list[_CachedClient] = []
_lock = threading.Lock()
_gc_frozen_in: int | None = None


def client_for(config: Mapping[str, str], hint: str | None = None) -> Client:
    """Return this process's client for this configuration.

    ``hint`` is the address of one more broker that probably responds. It is used only to create
    the client, so tasks with different hints share one.
    """
    cached = _cached(config)
    with cached.lock:
        return _ensure_connected(cached, config, hint)


def client(config: Mapping[str, str]) -> ottla.Client:
    """Return this process's client for a configuration, for use in functions that Spark runs.

    A Python worker keeps one client, with its connections, for each configuration from task to
    task; on the driver it is the client that plans reads. Do not close it. The environment variable
    ``OTTLA_CLIENT_RACK`` sets ``client.rack`` if the configuration does not.

    Args:
        config: configuration by Kafka's dotted names, with ``bootstrap.servers``; values as text.

    Raises:
        BootstrapError: no bootstrap server could be used.
        ConfigError: a key or a value is wrong.
    """
    _show_warnings_in_tasks()
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
    _show_warnings_in_tasks()
    return cast("ottla.Producer", producer_for(config))


def producer_for(config: Mapping[str, str]) -> Producer:
    """Return this process's producer for this configuration; the caller flushes it."""
    cached = _cached(config)
    with cached.lock:
        if cached.producer is None:
            cached.producer = _make_producer(_ensure_connected(cached, config, None))
        return cached.producer


def freeze_gc() -> None:
    """Exempt all objects created so far from garbage collection, once per process.

    Spark's workers run a full collection after every task. Walking all imported modules each time
    costs more than a small task itself.
    """
    global _gc_frozen_in
    if _gc_frozen_in != os.getpid():
        _gc_frozen_in = os.getpid()
        gc.collect()
        gc.freeze()


def _show_warnings_in_tasks() -> None:
    # The driver is the user's own program, which sets up its own logging.
    pyspark = sys.modules.get("pyspark")
    if pyspark is not None and pyspark.TaskContext.get() is not None:
        show_warnings()


def _cached(config: Mapping[str, str]) -> _CachedClient:
    key = (os.getpid(), frozenset(config.items()))
    with _lock:
        cached = _clients.setdefault(key, _CachedClient())
        _clients.move_to_end(key)
        while len(_clients) > _MAX_CLIENTS:
            # Dropped, not closed: a running task may still use it.
            _clients.popitem(last=False)
    return cached


def _ensure_connected(cached: _CachedClient, config: Mapping[str, str], hint: str | None) -> Client:
    if cached.client is None:
        cached.client = _connect(config, hint)
    return cached.client


def _make_producer(client: Client) -> Producer:
    import ottla

    # _connect creates nothing but ottla.Client.
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
    # Options are the same for all executors, but executors may be in different racks.
    if "client.rack" not in config and (rack := os.environ.get(RACK_VARIABLE)):
        settings["client.rack"] = rack
    made: Client = ottla.Client(config=settings)
    return made


def _drop_inherited() -> None:
    # Kept alive on purpose: a child that closed its parent's connections would break the parent.
    global _lock
    _lock = threading.Lock()
    _inherited.extend(_clients.values())
    _clients.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_drop_inherited)

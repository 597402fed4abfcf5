"""What pages ask of the whole cluster: end offsets, log directories and configurations.

Invariants: one request to a broker serves all pages and all rows (``workers.py`` has the cadences);
a broker that does not respond hides nothing of the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ottla._measurements.write_samples import end_offsets, log_dirs, replica_sizes
from ottla.admin import ConfigEntry, ConfigResource, LogDirDescription
from ottla.admin.topic_defaults import BROKER_KEYS, inherited_value
from ottla.console import workers as cadences
from ottla.console.observer import Observer
from ottla.console.source import Source
from ottla.console.topology import Topology
from ottla.console.workers import Workers
from ottla.console.writes import Writes
from ottla.errors import KafkaError, StateError

_T = TypeVar("_T")

# The longest time in seconds for which a page of one topic or broker waits for the whole cluster.
_SOON = 1.0
# The timeout of a call in seconds: waiting calls occupy the console's few threads.
TIMEOUT = 8.0
# The source of a value that somebody has set for this very topic or broker.
_OWN = {"topic": "DYNAMIC_TOPIC_CONFIG", "broker": "DYNAMIC_BROKER_CONFIG"}


class Survey:
    """Requests about the whole cluster, shared by all pages.

    Args:
        source: the client.
        observer: its observer, for the metadata.
        workers: the threads.
    """

    def __init__(self, source: Source, observer: Observer, workers: Workers) -> None:
        self._admin = source.admin
        self._observer = observer
        self._workers = workers
        # The event loop itself keeps no reference to its tasks.
        self._running: set[asyncio.Future[Any]] = set()
        self.writes = Writes()

    async def soon(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """Return the result of a request to the whole cluster, or None if it is not there yet.

        The request goes on, so that a page of one topic does not wait for all of a large cluster;
        the page gets its result with its next request. None if it fails, too.
        """
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._forget)
        done, _ = await asyncio.wait({task}, timeout=_SOON)
        return task.result() if done and task.exception() is None else None

    def _forget(self, task: asyncio.Future[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # it has been looked at

    async def topology(self) -> Topology:
        """Return the newest metadata.

        Raises:
            StateError: there is none yet.
        """
        if self._observer.topology is None:
            await self._observer.refresh()
        if (found := self._observer.topology) is None:
            raise StateError("there is no metadata yet: the client has not found its cluster")
        return found

    async def refresh_writes(self) -> None:
        """Sample the end offsets and the log directories, unless there are recent samples."""
        topology = await self.topology()
        await self._workers.shared("ends", cadences.END_OFFSETS, self._sample_ends, topology)
        # Without permission to describe log directories, there are no rates of bytes.
        with suppress(KafkaError):
            await self.log_dirs()

    def _sample_ends(self, topology: Topology) -> None:
        leaders = {
            (name, index): partition.leader
            for name, topic in topology.cluster.topics.items()
            for index, partition in topic.partitions.items()
            if partition.leader is not None
        }
        ends, _ = end_offsets(self._admin, leaders, timeout=TIMEOUT)
        self.writes.add_ends(ends, leaders)

    async def log_dirs(self) -> list[LogDirDescription]:
        """Return the log directories of the brokers that report them."""
        return await self._workers.shared("log dirs", cadences.LOG_DIRS, self._log_dirs)

    def _log_dirs(self) -> list[LogDirDescription]:
        directories, _ = log_dirs(self._admin, timeout=TIMEOUT)
        self.writes.add_sizes(replica_sizes(directories))
        return directories

    async def configs(self, kind: Any, name: str) -> dict[str, Any]:
        """Return the configuration of a topic or a broker, or the reason why it is unknown.

        The entries that were set come first.
        """
        key = ("configs", kind, name)
        resource = ConfigResource(kind, name)
        try:
            entries = await self._workers.shared(key, cadences.CONFIGS, self._configs, resource)
        except KafkaError as error:
            return {"error": str(error), "entries": []}
        return {"error": None, "entries": entries}

    def _configs(self, resource: ConfigResource) -> list[dict[str, Any]]:
        found = self._admin.describe_configs([resource], timeout=TIMEOUT)[resource]
        rows = [_config(resource, entry) for entry in found.values()]
        unknown = [each for each in rows if each["is_set"] and each["default"] is None]
        if resource.type == "topic" and any(each["name"] in BROKER_KEYS for each in unknown):
            broker = self._inherited()
            for each in unknown:
                each["default"] = inherited_value(each["name"], broker)
        return sorted(rows, key=lambda row: (not row["is_set"], row["name"]))

    def _inherited(self) -> Mapping[str, ConfigEntry]:
        """Return what topics inherit of a broker in another unit; nothing if it is unknown."""
        with suppress(KafkaError):
            broker = self._admin.describe_cluster(timeout=_SOON).brokers[0]
            resource = ConfigResource("broker", str(broker.id))
            return self._admin.describe_configs([resource], timeout=_SOON)[resource]
        return {}


def _config(resource: ConfigResource, entry: ConfigEntry) -> dict[str, Any]:
    default = [each.value for each in entry.synonyms if each.source == "DEFAULT_CONFIG"]
    is_set = entry.source not in {"DEFAULT_CONFIG", "UNKNOWN"}
    if default == [entry.value] and entry.source != _OWN[resource.type]:
        # Nothing differs, such as min.insync.replicas, which Kafka itself sets for all brokers to
        # its default (KIP-966), or a line of server.properties.
        is_set = False
    return {
        "name": entry.name,
        "value": entry.value,
        "default": default[0] if default and not entry.is_sensitive else None,
        "source": entry.source.removesuffix("_CONFIG").replace("_", " ").lower(),
        "is_set": is_set,
        "is_sensitive": entry.is_sensitive,
    }


def log_dir(directory: LogDirDescription) -> dict[str, Any]:
    """Return a log directory without its replicas."""
    return {
        "broker": directory.broker,
        "path": directory.path,
        "error": directory.error,
        "total_bytes": directory.total_bytes,
        "usable_bytes": directory.usable_bytes,
        "replica_bytes": directory.replica_bytes,
        "replicas": len(directory.replicas),
    }

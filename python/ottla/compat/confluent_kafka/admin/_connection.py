"""The ottla client of an ``AdminClient``, in each process.

Invariants: a client belongs to one process, and connects at its first call; it is closed when it
was retired and its last call has ended.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import TypeVar

import ottla
from ottla.admin.operation_call import Operation
from ottla.compat.confluent_kafka._config import client_of
from ottla.compat.confluent_kafka._handle import set_credentials
from ottla.compat.confluent_kafka._settings import Settings

T = TypeVar("T")


@dataclass
class _Connection:
    """An ottla client and its ``Admin``, with the number of calls that use it."""

    client: ottla.Client
    admin: ottla.Admin
    calls: int = 0


class _Process:
    """The connection of one process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        # A client may be dropped, and retired, while this thread holds the lock.
        self.lock = threading.RLock()
        self.connection: _Connection | None = None
        self.is_closed = False
        self.is_retired = False


class Connections:
    """Runs operations over one connection.

    Args:
        settings: the client's settings.

    Raises:
        KafkaException: a setting is invalid.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._current = _Process()
        self._connection(self._current)

    def _process(self) -> _Process:
        if self._current.pid != os.getpid():
            self._current = _Process()
        return self._current

    def _connection(self, process: _Process) -> _Connection:
        """Return the connection of a process; it is made here, and starts nothing."""
        if process.connection is None:
            client = client_of(self._settings)
            process.connection = _Connection(client, ottla.Admin(client))
        return process.connection

    def client(self) -> ottla.Client | None:
        """Return the ottla client; None if this process has none yet."""
        connection = self._process().connection
        return connection.client if connection else None

    @property
    def is_used(self) -> bool:
        """Whether the client is neither closed nor dropped."""
        process = self._process()
        return not (process.is_closed or process.is_retired)

    def statuses(self) -> list[ottla.ConnectionStatus]:
        """Return the state of the connections."""
        client = self.client()
        return [] if client is None else client.connections()

    def run(self, what: str, timeout: float, operation: Operation[T]) -> T:
        """Run an operation.

        Raises:
            KafkaError: of ottla, as the operation raises it.
        """
        process = self._process()
        with process.lock:
            if process.is_closed:
                raise ottla.errors.ClosedError("the client was closed")
            connection = self._connection(process)
            connection.calls += 1
        try:
            return connection.admin._run(what, timeout, operation)
        finally:
            with process.lock:
                connection.calls -= 1
                is_unused = process.is_retired and not connection.calls
                if is_unused:
                    process.connection = None
            if is_unused:
                connection.client.close()

    def set_credentials(self, username: str, password: str) -> None:
        """Use other credentials for new connections, also in other processes."""
        process = self._process()
        with process.lock:
            client = self._connection(process).client
            if set_credentials(client, username, password):
                other = {"sasl.username": username, "sasl.password": password}
                configuration = self._settings.ottla | other
                self._settings = replace(self._settings, ottla=configuration)

    def retire(self) -> None:
        """Close the connection when its calls have ended."""
        process = self._process()
        with process.lock:
            process.is_retired = True
            connection = process.connection
            if connection is None or connection.calls:
                return
            process.connection = None
        connection.client.close()

    def close(self) -> None:
        """Close the connection now: its calls fail."""
        process = self._process()
        with process.lock:
            process.is_closed = True
            connection = process.connection
        if connection is not None:
            connection.client.close()

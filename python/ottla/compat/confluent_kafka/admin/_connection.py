"""The ottla client of an ``AdminClient``: made at its first call, in each process, and replaced
when the credentials change.

Invariants: a client belongs to one process; it is closed when it was replaced or retired and its
last call has ended.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import TypeVar

import ottla
from ottla.admin.operation_call import Operation
from ottla.compat.confluent_kafka._config import client_of
from ottla.compat.confluent_kafka._settings import Settings

T = TypeVar("T")


@dataclass
class _Connection:
    """An ottla client and its ``Admin``, with the number of calls that use it."""

    client: ottla.Client
    admin: ottla.Admin
    calls: int = 0
    is_retired: bool = False


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
        # It checks the configuration, and starts nothing.
        client_of(settings).close()
        self._current = _Process()

    def _process(self) -> _Process:
        if self._current.pid != os.getpid():
            self._current = _Process()
        return self._current

    def client(self) -> ottla.Client | None:
        """Return the ottla client; None before the first call."""
        connection = self._process().connection
        return connection.client if connection else None

    @property
    def is_used(self) -> bool:
        """Whether the client is neither closed nor dropped."""
        process = self._process()
        return not (process.is_closed or process.is_retired)

    def statuses(self) -> list[ottla.ConnectionStatus]:
        """Return the state of the connections; none before the first call."""
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
            connection = process.connection
            if connection is None:
                client = client_of(self._settings)
                connection = process.connection = _Connection(client, ottla.Admin(client))
            connection.calls += 1
        try:
            return connection.admin._run(what, timeout, operation)
        finally:
            with process.lock:
                connection.calls -= 1
                if connection.calls or not (connection.is_retired or process.is_retired):
                    unused = None
                else:
                    unused = connection
                    if process.connection is connection:
                        process.connection = None
            if unused is not None:
                unused.client.close()

    def set_credentials(self, username: str, password: str) -> None:
        """Use other credentials from the next call on."""
        configuration = dict(self._settings.ottla)
        configuration["sasl.username"] = username
        configuration["sasl.password"] = password
        self._settings = replace(self._settings, ottla=configuration)
        process = self._process()
        with process.lock:
            connection, process.connection = process.connection, None
            if connection is None:
                return
            connection.is_retired = True
            is_idle = not connection.calls
        if is_idle:
            connection.client.close()

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

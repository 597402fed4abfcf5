"""What all calls of ``AdminClient`` share: the connection, the threads, futures and errors.

Invariants: constructing a client starts nothing; each future of a call gets exactly one result or
one ``KafkaException``; no call waits longer for its result than its time, but for a free thread.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ottla import errors
from ottla.admin.operation_call import Operation
from ottla.compat.confluent_kafka._errors import kafka_error, kafka_exception
from ottla.compat.confluent_kafka._kafka_error import KafkaError, KafkaException
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._connection import Connections
from ottla.compat.confluent_kafka.admin._threads import CallThreads, Kind

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

Futures: TypeAlias = "dict[K, Future[Any]]"

CLOSED = "AdminClient has been closed"
HANDLE_CLOSED = "Handle has been closed"


def new_future() -> Future[Any]:
    """Return a future that cannot be cancelled."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


def new_futures(keys: Iterable[K]) -> Futures[K]:
    """Return a future for each key."""
    return {key: new_future() for key in keys}


def local_error(code: int, reason: str) -> KafkaException:
    """Return the exception for an error that no broker has returned."""
    return KafkaException(KafkaError(code, reason))


@dataclass
class CallJob:
    """A call, until its futures have their results.

    Attributes:
        connections: the client's.
        what: what the call does, for messages.
        deadline: when it must be done, by ``time.monotonic``.
        operation: what it runs.
        futures: its futures.
        deliver: sets the results of the futures.
    """

    connections: Connections
    what: str
    deadline: float
    operation: Operation[Any]
    futures: list[Future[Any]]
    deliver: Callable[[Any], None]

    def run(self, ended: threading.Event) -> None:
        """Run the operation, and set the results."""
        try:
            # No time is left for a call that waited for a thread too long: its operation says so.
            left = max(self.deadline - time.monotonic(), 0.0)
            result = self.connections.run(self.what, left, self.operation)
            ended.set()
            self.deliver(result)
        except errors.KafkaError as error:
            ended.set()
            self.fail_all(kafka_exception(error))
        except Exception as error:  # noqa: BLE001 - the exception is the future's
            ended.set()
            self.fail_all(error)

    def fail(self) -> None:
        """Fail all futures, since the client is closed."""
        self.fail_all(local_error(KafkaError._DESTROY, f"{self.what}: the client was closed"))

    def fail_all(self, error: BaseException) -> None:
        """Fail the futures that have no result."""
        for future in self.futures:
            if not future.done():
                future.set_exception(error)


class AdminBase:
    """A client that connects at its first call."""

    # A subclass that does not call __init__ has a closed client.
    _settings: Settings | None = None
    _connections: Connections
    _threads: CallThreads

    def _open(self, settings: Settings) -> None:
        self._connections = Connections(settings)
        self._threads = CallThreads()
        self._timeout = int(settings.ottla.get("socket.timeout.ms") or 60_000) / 1000
        self._settings = settings
        end = weakref.finalize(self, _end, self._threads, self._connections)
        end.atexit = False

    def _check_open(self, message: str = CLOSED) -> None:
        if self._settings is None:
            raise RuntimeError(message)

    def _request_timeout(self, options: Mapping[str, Any]) -> float:
        return _options.seconds(options, "request_timeout", self._timeout)

    def _start(
        self,
        what: str,
        timeout: float,
        operation: Operation[Any],
        futures: Iterable[Future[Any]],
        deliver: Callable[[Any], None],
        kind: Kind,
    ) -> None:
        """Run an operation on a thread."""
        deadline = time.monotonic() + timeout
        job = CallJob(self._connections, what, deadline, operation, list(futures), deliver)
        if not self._threads.submit(job, kind):
            job.fail_all(local_error(KafkaError._QUEUE_FULL, "too many calls wait"))

    def _start_items(
        self,
        what: str,
        timeout: float,
        futures: Futures[K],
        operation: Operation[Mapping[K, Any]],
        kind: Kind = "question",
    ) -> Futures[K]:
        """Run an operation whose results are by item, each a value or an error of ottla."""

        def deliver(results: Mapping[K, Any]) -> None:
            for key, future in futures.items():
                set_result(future, results[key])

        self._start(what, timeout, operation, futures.values(), deliver, kind)
        return futures

    def _start_one(
        self, what: str, timeout: float, operation: Operation[Any], kind: Kind = "question"
    ) -> Future[Any]:
        """Run an operation with one result."""
        future = new_future()
        self._start(what, timeout, operation, [future], future.set_result, kind)
        return future

    def _refuse(self, futures: Futures[K], code: int, reason: str) -> Futures[K]:
        """Fail all futures with an error that the peer finds before it sends anything."""
        for future in futures.values():
            future.set_exception(local_error(code, reason))
        return futures

    def _run(self, what: str, timeout: float, operation: Operation[T]) -> T:
        """Run an operation on the caller's thread.

        Raises:
            KafkaException: what the operation raises.
        """
        try:
            return self._connections.run(what, timeout, operation)
        except errors.KafkaError as error:
            raise kafka_exception(error) from error


def raise_unanswered(results: Iterable[object]) -> None:
    """Raise the error of a request to which no broker has responded, if there is one.

    Results with errors of single items are for responses only.

    Raises:
        KafkaError: of ottla, the first one without a broker's code.
    """
    for result in results:
        if isinstance(result, errors.KafkaError) and result.code is None:
            raise result


def set_result(future: Future[Any], result: Any) -> None:
    """Set a result of ottla: a value or an error."""
    if isinstance(result, errors.KafkaError):
        future.set_exception(KafkaException(kafka_error(result)))
    else:
        future.set_result(result)


def _end(threads: CallThreads, connections: Connections) -> None:
    """Let the calls of a client that was dropped end, then close its connections."""
    threads.close(finish=True)
    connections.retire()

"""One call of ``Admin``: how its operation sends requests, blocking or for asyncio.

An operation is written once, as a coroutine that waits for nothing but its ``Call``. Invariant: a
``BlockingCall`` never suspends, so ``finish`` runs the whole coroutine in one step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from ottla.errors import ConfigError, InternalError, KafkaError

if TYPE_CHECKING:
    from ottla._core import AdminCall, OffsetAndTimestamp
    from ottla.admin.offsets import OffsetSpec

    _RawRequest: TypeAlias = tuple[str, "Destination", list[dict[str, Any]], int, bool, bool]
    _RawResponse: TypeAlias = tuple[int, dict[str, Any], bool] | KafkaError

T = TypeVar("T")

Operation: TypeAlias = "Callable[[Call], Coroutine[Any, Any, T]]"

Destination: TypeAlias = int | Literal["any", "controller"]
"""The id of a broker; the controller, to which any broker forwards; or any broker."""

Body: TypeAlias = dict[str, Any]
"""A message: its fields by Kafka's names, in snake case. Those that it lacks have defaults."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes:
        api: Kafka's name of the API.
        body: the message.
        to: the broker to send it to.
        changes: whether it changes something.
        older: other forms of the message, for versions that lack fields of the first one.
        max_version: the highest version to use.
        check_only: whether to check only that the broker supports it, and send nothing.
    """

    api: str
    # Bodies may have secrets.
    body: Body = field(repr=False)
    to: Destination = "any"
    changes: bool = False
    older: tuple[Body, ...] = field(default=(), repr=False)
    max_version: int = 32767
    check_only: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """A response.

    Attributes:
        version: the version of the request.
        body: the message, with the fields of this version.
        is_repeated: whether an earlier attempt may have taken effect, whose response was lost.
    """

    version: int
    body: Body = field(repr=False)
    is_repeated: bool


class Call(ABC):
    """The requests of one call, under one deadline."""

    def __init__(self, core: AdminCall) -> None:
        self._core = core

    async def send(self, requests: Sequence[Request]) -> list[Response | KafkaError]:
        """Send requests at the same time, each until a broker has responded.

        Returns:
            The responses, in the order of the requests; the error of one in its place.

        Raises:
            ConfigError: a number is larger than any of Kafka's.
        """
        raw = [
            (
                each.api,
                each.to,
                [each.body, *each.older],
                each.max_version,
                each.changes,
                each.check_only,
            )
            for each in requests
        ]
        try:
            responses = await self._send(raw)
        except OverflowError as error:
            # Python's own numbers have no limit.
            apis = ", ".join(dict.fromkeys(each.api for each in requests))
            raise ConfigError(f"{apis}: a number is out of range: give one of 64 bits") from error
        return [each if isinstance(each, KafkaError) else Response(*each) for each in responses]

    async def ask(self, request: Request) -> Response:
        """Send one request, and raise its error."""
        [response] = await self.send([request])
        if isinstance(response, KafkaError):
            raise response
        return response

    async def check(self, request: Request) -> None:
        """Check that the broker supports a request, for a plan; nothing is sent.

        Raises:
            KafkaError: it does not; or there was no connection in time.
        """
        await self.ask(replace(request, check_only=True))

    @abstractmethod
    async def list_offsets(
        self, specs: Mapping[tuple[str, int], OffsetSpec], isolation_level: str | None
    ) -> dict[tuple[str, int], OffsetAndTimestamp | KafkaError]:
        """Look up offsets of partitions, each with its own error."""

    @abstractmethod
    async def _send(self, requests: list[_RawRequest]) -> list[_RawResponse]: ...

    @abstractmethod
    async def pause(self, error: KafkaError) -> None:
        """Wait before what failed is tried again, and refresh the metadata.

        Raises:
            TimeoutError: the deadline leaves no time.
        """


class BlockingCall(Call):
    """A call of ``Admin``."""

    async def _send(self, requests: list[_RawRequest]) -> list[_RawResponse]:
        return self._core.send(requests)

    async def list_offsets(
        self, specs: Mapping[tuple[str, int], OffsetSpec], isolation_level: str | None
    ) -> dict[tuple[str, int], OffsetAndTimestamp | KafkaError]:
        """Look them up, without the GIL."""
        return self._core.list_offsets(specs, isolation_level)

    async def pause(self, error: KafkaError) -> None:
        """Wait, without the GIL."""
        self._core.pause(error.code or -1, str(error))


class AsyncioCall(Call):
    """A call of ``AsyncAdmin``."""

    async def _send(self, requests: list[_RawRequest]) -> list[_RawResponse]:
        return await self._core.send_async(requests)

    async def list_offsets(
        self, specs: Mapping[tuple[str, int], OffsetSpec], isolation_level: str | None
    ) -> dict[tuple[str, int], OffsetAndTimestamp | KafkaError]:
        """Look them up, without blocking the loop."""
        return await self._core.list_offsets_async(specs, isolation_level)

    async def pause(self, error: KafkaError) -> None:
        """Wait, without blocking the loop."""
        await self._core.pause_async(error.code or -1, str(error))


def finish(operation: Coroutine[Any, Any, T]) -> T:
    """Run an operation of a ``BlockingCall``.

    Raises:
        KafkaError: what the operation raises.
    """
    try:
        operation.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    operation.close()
    raise InternalError("a blocking call was suspended")

"""How the calls of ``Admin`` and ``AsyncAdmin`` run their operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ottla.admin.operation_call import AsyncioCall, BlockingCall, Operation, finish
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from ottla._core import AdminCall

T = TypeVar("T")


class _Calls:
    if TYPE_CHECKING:

        def _begin(self, what: str, timeout: float | None) -> AdminCall: ...


class BlockingCalls(_Calls):
    """Runs operations until they are done."""

    def _run(self, what: str, timeout: float | None, operation: Operation[T]) -> T:
        try:
            return finish(operation(BlockingCall(self._begin(what, timeout))))
        except KafkaError as error:
            raise _raised_here(error) from error.__cause__


class AsynchronousCalls(_Calls):
    """Runs operations in the running loop."""

    async def _run(self, what: str, timeout: float | None, operation: Operation[T]) -> T:
        try:
            return await operation(AsyncioCall(self._begin(what, timeout)))
        except KafkaError as error:
            raise _raised_here(error) from error.__cause__


def _raised_here(error: KafkaError) -> KafkaError:
    """Return an error without the frames of the operation.

    They hold it, as the result of an item: the cycle would keep the client until a collection.
    """
    return error.with_traceback(None)

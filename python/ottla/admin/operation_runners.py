"""How the calls of ``Admin`` and ``AsyncAdmin`` run their operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ottla.admin.operation_call import AsyncioCall, BlockingCall, Operation, finish

if TYPE_CHECKING:
    from ottla._core import AdminCall

T = TypeVar("T")


class _Calls:
    if TYPE_CHECKING:

        def _begin(self, what: str, timeout: float | None) -> AdminCall: ...


class BlockingCalls(_Calls):
    """Runs operations until they are done."""

    def _run(self, what: str, timeout: float | None, operation: Operation[T]) -> T:
        return finish(operation(BlockingCall(self._begin(what, timeout))))


class AsynchronousCalls(_Calls):
    """Runs operations in the running loop."""

    async def _run(self, what: str, timeout: float | None, operation: Operation[T]) -> T:
        return await operation(AsyncioCall(self._begin(what, timeout)))

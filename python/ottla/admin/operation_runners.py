"""How the calls of ``Admin`` and ``AsyncAdmin`` run their operations.

Invariant: wrong arguments are errors before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ottla.admin.items import ItemErrors, Results, check_errors, settle
from ottla.admin.operation_call import AsyncioCall, BlockingCall, Call, finish
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from ottla._core import AdminCall

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Operation: TypeAlias = Callable[[Call], Coroutine[Any, Any, T]]


class BlockingCalls:
    """Runs operations until they are done."""

    if TYPE_CHECKING:

        def _begin(self, what: str, timeout: float | None) -> AdminCall: ...

    def _run(self, what: str, timeout: float | None, operation: Operation[T]) -> T:
        return finish(operation(BlockingCall(self._begin(what, timeout))))

    def _settle(
        self,
        what: str,
        timeout: float | None,
        errors: ItemErrors,
        operation: Operation[Results[K, V]],
    ) -> Mapping[K, V | KafkaError]:
        check_errors(errors)
        return settle(self._run(what, timeout, operation), errors)


class AsynchronousCalls:
    """Runs operations in the running loop."""

    if TYPE_CHECKING:

        def _begin(self, what: str, timeout: float | None) -> AdminCall: ...

    async def _run(self, what: str, timeout: float | None, operation: Operation[T]) -> T:
        return await operation(AsyncioCall(self._begin(what, timeout)))

    async def _settle(
        self,
        what: str,
        timeout: float | None,
        errors: ItemErrors,
        operation: Operation[Results[K, V]],
    ) -> Mapping[K, V | KafkaError]:
        check_errors(errors)
        return settle(await self._run(what, timeout, operation), errors)

"""The logic that both twins share: a generator that yields each call of the registry.

The blocking twin yields results, since its calls return them; the asyncio twin yields awaitables.
So the logic is written once, without I/O, and a driver carries the results back into it. An
exception of a call is raised inside the generator, where the call stands, in both twins.
"""

from __future__ import annotations

from collections.abc import Generator
from inspect import isawaitable
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[Any, Any, T]


def run(steps: Steps[T]) -> T:
    """Run steps whose calls return their results."""
    result: Any = None
    try:
        while True:
            result = steps.send(result)
    except StopIteration as end:
        value: T = end.value
        return value


async def run_async(steps: Steps[T]) -> T:
    """Run steps whose calls may return awaitables."""
    result: Any = None
    failure: BaseException | None = None
    try:
        while True:
            step = steps.send(result) if failure is None else steps.throw(failure)
            failure = None
            try:
                result = await step if isawaitable(step) else step
            except BaseException as error:  # noqa: BLE001 - the steps handle or raise it
                failure = error
    except StopIteration as end:
        value: T = end.value
        return value


class AwaitableInit(type):
    """A class whose ``__init__`` is a coroutine: calling the class returns an awaitable of it."""

    async def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new instance whose ``__init__`` has been awaited."""
        instance: Any = cls.__new__(cls)  # type: ignore[call-overload]
        await instance.__init__(*args, **kwargs)
        return instance

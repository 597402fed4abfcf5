"""Calls each public function with a wrong argument, and collects the errors.

Invariant: a call that raises nothing yields None, so a test cannot take it for a refusal.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from typing import Any

from ottla.errors import KafkaError
from ottla.testing import MockCluster, MockRegistry
from tests.support.public_calls import Parameter, async_objects, call, objects


def errors_of(
    cluster: MockCluster, registry: MockRegistry, found: Iterable[tuple[Parameter, Any]]
) -> list[tuple[Parameter, BaseException | None]]:
    """Return the error of each call with the value of a parameter; None if it raises nothing."""
    given = list(found)
    errors: list[tuple[Parameter, BaseException | None]] = []
    with objects(cluster, registry) as existing:
        for each, value in given:
            if not each.is_async:
                errors.append((each, _error_of(each, existing, value)))

    async def run() -> None:
        async with async_objects(cluster, registry) as existing:
            for each, value in given:
                if each.is_async:
                    done = await asyncio.gather(
                        _awaited(each, existing, value), return_exceptions=True
                    )
                    errors.append((each, done[0]))

    asyncio.run(run())
    return errors


def names_argument(error: BaseException, name: str) -> bool:
    """Return whether an error names an argument: in its message, or in a note that PyO3 adds."""
    notes = getattr(error, "__notes__", ())
    return name in str(error) or f"while processing '{name}'" in notes


def _error_of(each: Parameter, existing: dict[str, Any], value: Any) -> BaseException | None:
    try:
        call(each, existing, value)
    except (TypeError, ValueError, AttributeError, OverflowError, KafkaError) as error:
        return error
    return None


async def _awaited(each: Parameter, existing: dict[str, Any], value: Any) -> None:
    result = call(each, existing, value)
    if inspect.isawaitable(result):
        await asyncio.wait_for(result, 60)

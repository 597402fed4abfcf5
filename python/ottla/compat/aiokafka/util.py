"""Helpers that programs import from ``aiokafka.util``, and the validation of offsets to commit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from ottla.compat.aiokafka.structs import OffsetAndMetadata, TopicPartition

__all__ = [
    "INTEGER_MAX_VALUE",
    "INTEGER_MIN_VALUE",
    "NO_EXTENSIONS",
    "commit_structure_validate",
    "create_future",
    "create_task",
    "get_running_loop",
]

T = TypeVar("T")

INTEGER_MAX_VALUE = 2**31 - 1
INTEGER_MIN_VALUE = -(2**31)
# The core is compiled in any case.
NO_EXTENSIONS = False


def get_running_loop() -> asyncio.AbstractEventLoop:
    """Return the running event loop.

    Raises:
        RuntimeError: no loop is running.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "The object should be created within an async function or provide loop directly."
        ) from None


def create_task(coro: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run a coroutine as a task of the running loop."""
    return get_running_loop().create_task(coro)


def create_future(loop: asyncio.AbstractEventLoop | None = None) -> asyncio.Future[Any]:
    """Return a future of a loop. Default: the running one."""
    return (loop or get_running_loop()).create_future()


def commit_structure_validate(
    offsets: Mapping[TopicPartition, int | tuple[int, str] | OffsetAndMetadata],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return offsets to commit with their metadata.

    Args:
        offsets: the offset of the next record, or a pair of it and metadata, by partition.

    Raises:
        ValueError: the offsets are empty or have another form.
        TypeError: a key is no ``TopicPartition``, or metadata is no string.
    """
    if not offsets or not isinstance(offsets, dict):
        raise ValueError(offsets)
    validated = {}
    for partition, item in offsets.items():
        if not isinstance(partition, TopicPartition):
            raise TypeError("Key should be TopicPartition instance")
        if isinstance(item, int):
            validated[partition] = OffsetAndMetadata(item, "")
            continue
        try:
            offset, metadata = item
        except Exception as error:
            raise ValueError(offsets) from error
        if not isinstance(metadata, str):
            raise TypeError("Metadata should be a string")
        validated[partition] = OffsetAndMetadata(offset, metadata)
    return validated

"""The serializers and deserializers in a client's configuration: ready ones, and built ones.

Invariants: what was built for a client is closed with it, and if making the client fails; what the
application has passed is never closed; a builder sees the whole configuration, and the client gets
what every builder has left of it.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

# Seconds that a look-up of the cluster's id may take, as long as a producer waits for metadata.
CLUSTER_ID_TIMEOUT = 60.0

_LOG = logging.getLogger("ottla.compat")


@dataclass(frozen=True)
class SerdeKeys:
    """What a configuration says about the keys or the values."""

    name: str
    ready: Any
    builder: Any
    is_key: bool


@dataclass
class Serdes:
    """The callables of a client, and what it has to close."""

    key: Any
    value: Any
    owned: list[Any]
    config: dict[str, Any]

    def close(self) -> None:
        """Close what was built, each once; raise the first error."""
        owned, self.owned = self.owned, []
        close_all(owned)

    async def aclose(self) -> None:
        """Close what was built, each once; raise the first error."""
        owned, self.owned = self.owned, []
        await aclose_all(owned)


async def awaited(result: Any) -> Any:
    """Return a result, awaited if it is awaitable."""
    return await result if inspect.isawaitable(result) else result


def taken_from(config: dict[str, Any], kind: str) -> tuple[list[SerdeKeys], dict[str, Any]]:
    """Take the serializers or deserializers out of a configuration.

    Args:
        config: the configuration; it stays as it is.
        kind: ``serializer`` or ``deserializer``.

    Raises:
        ValueError: one is configured twice: ready and as a builder.
    """
    rest = dict(config)
    found = []
    for name, is_key in ((f"key.{kind}", True), (f"value.{kind}", False)):
        ready, builder = rest.pop(name, None), rest.pop(f"{name}.builder", None)
        if ready is not None and builder is not None:
            raise ValueError(f"Cannot configure both {name} and {name}.builder; use one of them")
        found.append(SerdeKeys(name, ready, builder, is_key))
    return found, rest


def _checked(name: str, result: Any) -> tuple[Any, dict[str, Any]]:
    try:
        serde, left = result
    except (TypeError, ValueError):
        kind = type(result).__name__
        raise ValueError(
            f"{name}.builder must return a (serde, configuration) tuple from build(), got {kind}"
        ) from None
    if not isinstance(left, dict):
        raise ValueError(  # noqa: TRY004 - the peer's class
            f"{name}.builder returned {type(left).__name__} as the leftover configuration from "
            "build(), expected a dict"
        )
    return serde, left


def _left(config: dict[str, Any], lefts: list[dict[str, Any]]) -> dict[str, Any]:
    if not lefts:
        return config
    return {n: v for n, v in lefts[-1].items() if all(n in left for left in lefts)}


def built(config: dict[str, Any], kind: str) -> Serdes:
    """Return the serializers or deserializers of a configuration, and what is left of it."""
    found, rest = taken_from(config, kind)
    serdes: list[Any] = []
    owned: list[Any] = []
    lefts: list[dict[str, Any]] = []
    try:
        for keys in found:
            if keys.builder is None:
                serdes.append(keys.ready)
                continue
            serde, left = _checked(keys.name, keys.builder.build(dict(rest), keys.is_key))
            serdes.append(serde)
            owned.append(serde)
            lefts.append(left)
    except BaseException:
        close_all(owned)
        raise
    return Serdes(serdes[0], serdes[1], owned, _left(rest, lefts))


async def abuilt(config: dict[str, Any], kind: str) -> Serdes:
    """Return what ``built`` does; builders may return awaitables."""
    found, rest = taken_from(config, kind)
    serdes: list[Any] = []
    owned: list[Any] = []
    lefts: list[dict[str, Any]] = []
    try:
        for keys in found:
            if keys.builder is None:
                serdes.append(keys.ready)
                continue
            result = await awaited(keys.builder.build(dict(rest), keys.is_key))
            serde, left = _checked(keys.name, result)
            serdes.append(serde)
            owned.append(serde)
            lefts.append(left)
    except BaseException:
        await aclose_all(owned)
        raise
    return Serdes(serdes[0], serdes[1], owned, _left(rest, lefts))


def offer(method: str, resolver: Callable[[], Any], serdes: Iterable[Any]) -> None:
    """Give a function that returns the cluster's id to those that have a method for it."""
    for serde in serdes:
        take = getattr(serde, method, None)
        if callable(take):
            take(resolver)


def close_all(serdes: Iterable[Any]) -> None:
    """Close all that can be closed, and raise the first error; later ones are logged."""
    first: BaseException | None = None
    for serde in serdes:
        close = getattr(serde, "close", None)
        if not callable(close):
            continue
        try:
            close()
        except BaseException as error:  # noqa: BLE001 - the others must be closed first
            first = _first(first, error)
    if first is not None:
        raise first


async def aclose_all(serdes: Iterable[Any]) -> None:
    """Close all that can be closed, and raise the first error; later ones are logged."""
    first: BaseException | None = None
    for serde in serdes:
        close = getattr(serde, "aclose", None) or getattr(serde, "close", None)
        if not callable(close):
            continue
        try:
            await awaited(close())
        except BaseException as error:  # noqa: BLE001 - the others must be closed first
            first = _first(first, error)
    if first is not None:
        raise first


def _first(first: BaseException | None, error: BaseException) -> BaseException:
    if first is None:
        return error
    _LOG.warning("a serializer could not be closed: %s", type(error).__name__)
    return first

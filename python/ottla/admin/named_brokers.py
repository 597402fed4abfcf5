"""Requests to brokers that the caller names: some may be down, or not exist.

Invariant: nothing waits for a broker that is not in the metadata; its error says at once why it
cannot be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from ottla._core import error_of_code
from ottla.admin.cluster import describe_cluster
from ottla.admin.destinations import by_destination
from ottla.admin.items import Results
from ottla.admin.operation_call import Call, Destination, Request, Response
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError, TimeoutError  # noqa: A004

if TYPE_CHECKING:
    from collections.abc import Hashable

    K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# Brokers learn of a new one one after the other; the pauses between these looks are about half a
# second.
_LOOKS = 3


async def to_named_brokers(
    call: Call,
    items: Iterable[K],
    destination_of: Callable[[K], Destination],
    build: Callable[[list[K]], Request],
    read: Callable[[Response, list[K]], Mapping[K, V | KafkaError]],
    *,
    changes: bool = False,
) -> Results[K, V]:
    """Send items to the brokers that they name, as ``by_destination``.

    Args:
        call: the call.
        items: the items.
        destination_of: returns the broker of an item.
        build: returns the request for items; its destination is replaced.
        read: returns the results of a response to a request for items.
        changes: whether the request changes something.
    """
    wanted = {item: destination_of(item) for item in items}
    named = {to for to in wanted.values() if isinstance(to, int)}
    missing = await _missing(call, named)

    async def find(pending: list[K]) -> dict[K, Destination]:
        return {item: wanted[item] for item in pending}

    results: Results[K, V] = {
        item: missing[to] for item, to in wanted.items() if isinstance(to, int) and to in missing
    }
    asked = [item for item in wanted if item not in results]
    results |= await by_destination(call, asked, find, build, read, changes=changes)
    return {item: results[item] for item in wanted}


async def _missing(call: Call, wanted: Iterable[int]) -> dict[int, KafkaError]:
    """Return the errors of the brokers that cannot be asked."""
    brokers = sorted(wanted)
    errors: dict[int, KafkaError] = {}
    for look in range(_LOOKS if brokers else 0):
        errors = await _errors_now(call, brokers)
        if not errors or look == _LOOKS - 1:
            break
        try:
            await call.pause(next(iter(errors.values())))
        except TimeoutError:
            break
    return errors


async def _errors_now(call: Call, brokers: list[int]) -> dict[int, KafkaError]:
    cluster = await describe_cluster(call, fenced=True, authorized_operations=False)
    alive = [each.id for each in cluster.brokers if not each.is_fenced]
    fenced = {each.id for each in cluster.brokers if each.is_fenced}
    known = ", ".join(map(str, alive))
    errors = {}
    for broker in brokers:
        if broker in fenced:
            message = f"broker {broker} is down or starting, and is fenced"
            errors[broker] = error_of_code(ErrorCode.BROKER_NOT_AVAILABLE, message)
        elif broker not in alive:
            message = f"broker {broker}; the cluster has the brokers {known}"
            errors[broker] = error_of_code(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
        if broker in errors:
            errors[broker].context["broker"] = broker
    return errors

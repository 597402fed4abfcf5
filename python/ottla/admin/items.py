"""Calls about many items: which are tried again, and what becomes of the errors of single ones.

Invariant: each item has one result, in the order in which the items were given.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar, overload

from ottla._core import error_of_code, proves_no_change, repetition_of
from ottla.admin.operation_call import Body, Call, Operation
from ottla.admin.tables import PartialList
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError, ProtocolError, TimeoutError  # noqa: A004

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = TypeVar("P", bound="PartialList[Any]")

ItemErrors: TypeAlias = Literal["raise", "return"]
Results: TypeAlias = dict[K, V | KafkaError]

# Brokers learn of new topics and tokens one after the other, so a request for an unknown one is
# repeated a few times, in less than a second.
_MAX_UNKNOWN = 3
# How long an error that brokers did not expect may last, for requests that change nothing.
_PASSES_WITHIN = 10.0


def _repetition(error: KafkaError) -> str:
    if error.code is None:
        return "never"
    repetition = repetition_of(error.code)
    # An operation may know that what usually passes does not.
    return "never" if repetition == "always" and not error.retriable else repetition


def is_repeated(error: KafkaError) -> bool:
    """Return whether what failed with the error code of a broker should be tried again."""
    return _repetition(error) == "always"


def error_of(
    body: Body,
    item: object = "",
    *,
    api: str,
    resource: str = "",
    maybe_done: bool = False,
    **context: Any,
) -> KafkaError | None:
    """Return the error of a response or of an item of it; None for success.

    Args:
        body: the item, with ``error_code`` and perhaps ``error_message``.
        item: what it is about, such as ``group billing``, unless the place says that.
        api: Kafka's name of the request's API: it tells which permission a refused one lacked.
        resource: the group that the request is about, if it is about one.
        maybe_done: whether the operation may have taken effect nevertheless.
        context: ``topic`` and ``partition``.
    """
    code = body["error_code"]
    if code == ErrorCode.NONE:
        return None
    parts = (str(item), body.get("error_message"))
    message = ": ".join(part for part in parts if part)
    # Without the name of what was refused, no command can grant it: not even `*`, which grants
    # more. Kafka has no ACL for the group whose name is empty.
    named = {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED: context.get("topic"),
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "kafka-cluster",
    }
    request = (api, resource) if named.get(code, resource) else None
    return error_of_code(code, message or None, request=request, maybe_done=maybe_done, **context)


def known(number: int) -> int | None:
    """Return a number of a response; None if it is negative, which stands for an unknown one."""
    return number if number >= 0 else None


async def until_final(
    call: Call,
    items: Iterable[K],
    attempt: Callable[[list[K]], Awaitable[Mapping[K, V | KafkaError]]],
    *,
    changes: bool = False,
    authoritative: bool = False,
) -> Results[K, V]:
    """Try items until each has a result or an error that is not retriable.

    Args:
        call: the call.
        items: the items.
        attempt: tries items, and returns their results.
        changes: whether an attempt may have changed something though it failed.
        authoritative: whether the controller responds, which knows all topics.
    """
    unknown = 0
    lasts_from = time.monotonic() + _PASSES_WITHIN
    results: Results[K, V] = dict.fromkeys(items, left_out())
    pending = list(results)
    in_doubt: set[K] = set()
    while pending:
        tried = await attempt(pending)
        again: dict[K, KafkaError] = {}
        for item in pending:
            result = results[item] = tried.get(item, left_out())
            if not isinstance(result, KafkaError):
                continue
            if result.maybe_done:
                # A repetition does not know that the response to this attempt was lost.
                in_doubt.add(item)
            repetition = _repetition(result)
            if repetition == "propagation" and not authoritative and unknown < _MAX_UNKNOWN:
                again[item] = result
            elif repetition == "always":
                again[item] = result
                if not (result.code is not None and proves_no_change(result.code)):
                    in_doubt.add(item)
            elif repetition == "passing" and not changes and time.monotonic() < lasts_from:
                again[item] = result
            elif item in in_doubt:
                result.maybe_done = changes
        pending = list(again)
        if not pending:
            break
        unknown += any(_repetition(error) == "propagation" for error in again.values())
        try:
            await call.pause(again[pending[0]])
        except TimeoutError as error:
            error.maybe_done = changes and not in_doubt.isdisjoint(pending)
            late = [item for item in pending if _repetition(again[item]) != "propagation"]
            results.update(dict.fromkeys(late, error))
            break
    return results


def left_out() -> KafkaError:
    """Return the error of an item that a response lacks."""
    return ProtocolError("the response lacks this item")


def in_order(items: list[K], bodies: list[Body]) -> Results[K, Body]:
    """Return the part of a response for each item, where only the order says which is which."""
    if len(bodies) == len(items):
        return dict(zip(items, bodies, strict=True))
    message = f"the response has {len(bodies)} results for {len(items)} items"
    return {item: ProtocolError(message) for item in items}


@overload
def settle(results: Results[K, V], errors: Literal["raise"]) -> dict[K, V]: ...
@overload
def settle(results: Results[K, V], errors: ItemErrors) -> Results[K, V]: ...
def settle(results: Results[K, V], errors: ItemErrors) -> Mapping[K, V | KafkaError]:
    """Raise the first error, or return the errors in the places of the results.

    Raises:
        KafkaError: the first error.
    """
    if errors == "raise":
        for result in results.values():
            if isinstance(result, KafkaError):
                raise result
    return results


def settled(
    errors: ItemErrors, operation: Operation[Results[K, V]]
) -> Operation[Mapping[K, V | KafkaError]]:
    """Return an operation whose result ``settle`` handles; wrong arguments fail before it begins.

    Raises:
        ConfigError: ``errors`` is neither ``"raise"`` nor ``"return"``.
    """
    check_item_errors(errors)

    async def settled_operation(call: Call) -> Mapping[K, V | KafkaError]:
        return settle(await operation(call), errors)

    return settled_operation


def completed(errors: ItemErrors, operation: Operation[P]) -> Operation[P]:
    """Return an operation whose list is complete, unless errors are returned in it.

    Raises:
        ConfigError: ``errors`` is neither ``"raise"`` nor ``"return"``.
    """
    check_item_errors(errors)

    async def completed_operation(call: Call) -> P:
        found = await operation(call)
        if errors == "raise":
            for error in found.errors:
                raise error
        return found

    return completed_operation


def check_item_errors(errors: ItemErrors) -> None:
    """Check the argument ``errors`` of a call.

    Raises:
        ConfigError: it is neither ``"raise"`` nor ``"return"``.
    """
    given: object = errors
    if not isinstance(given, str) or given not in {"raise", "return"}:
        raise ConfigError(f'errors is {errors!r}: expected "raise" or "return"')

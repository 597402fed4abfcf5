"""Requests to the coordinators of groups.

Invariants: a coordinator is asked for anew, so one that moved is found after a pause. Nothing waits
longer than a few seconds for one that cannot exist, since its partition has no leader.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ottla.admin import coordinator_topics
from ottla.admin.destinations import by_destination
from ottla.admin.items import Results, error_of
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

V = TypeVar("V")

_GROUP = 0
# How long a partition may have no leader, in seconds: brokers that start, or an election.
_ELECTED_WITHIN = 3.0


async def group_coordinators(call: Call, groups: Sequence[str]) -> dict[str, int | KafkaError]:
    """Return the coordinator of each group."""
    body = {"key_type": _GROUP, "coordinator_keys": list(groups)}
    [response] = await call.send([Request("FindCoordinator", body)])
    if isinstance(response, KafkaError):
        if response.code != ErrorCode.UNSUPPORTED_VERSION:
            return dict.fromkeys(groups, response)
        # Before Kafka 3.0, each request asks for one (KIP-699).
        responses = await call.send(
            [Request("FindCoordinator", {"key_type": _GROUP, "key": group}) for group in groups]
        )
        return {
            group: each if isinstance(each, KafkaError) else _node(each.body, group)
            for group, each in zip(groups, responses, strict=True)
        }
    return {each["key"]: _node(each, each["key"]) for each in response.body["coordinators"]}


def _node(found: Body, group: str) -> int | KafkaError:
    node: int = found["node_id"]
    return error_of(found, api="FindCoordinator", resource=group) or node


def coordinator_finder(
    call: Call,
) -> Callable[[list[str]], Awaitable[dict[str, int | KafkaError]]]:
    """Return what finds the coordinators of groups, and gives up those that cannot exist."""
    since = time.monotonic()

    async def find(pending: list[str]) -> dict[str, int | KafkaError]:
        found = await group_coordinators(call, pending)
        unavailable = [
            group
            for group, each in found.items()
            if isinstance(each, KafkaError) and each.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        ]
        if unavailable and time.monotonic() - since > _ELECTED_WITHIN:
            found |= await coordinator_topics.errors_by_name(
                call, coordinator_topics.GROUPS, unavailable
            )
        return found

    return find


async def to_coordinators(
    call: Call,
    groups: Iterable[str],
    build: Callable[[list[str]], Request],
    read: Callable[[Response, list[str]], Mapping[str, V | KafkaError]],
    *,
    changes: bool = False,
    batch: int | None = None,
) -> Results[str, V]:
    """Send groups to their coordinators until each has a final result."""
    find = coordinator_finder(call)
    return await by_destination(call, groups, find, build, read, changes=changes, batch=batch)

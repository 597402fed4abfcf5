"""Where requests go: the brokers, the controller and the leaders of partitions.

Invariant: what is found here is asked for anew, so a leader that moved is found after a pause.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ottla._core import error_of_code, no_broker_to_ask
from ottla.admin.items import Results, error_of, left_out, settle, until_final
from ottla.admin.operation_call import Body, Call, Destination, Request, Response
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Hashable

    K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

TopicPartition: TypeAlias = tuple[str, int]

CONTROLLER_TIMEOUT_MS = 30_000
"""How long a controller may work on a request."""


def partitions_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the numbers of partitions by topic."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    return by_topic


async def metadata(call: Call, topics: Sequence[str] | None) -> Body:
    """Return the metadata of topics, or of all; topics are not created."""
    names = None if topics is None else [{"name": name} for name in topics]
    request = Request("Metadata", {"topics": names, "allow_auto_topic_creation": False})
    return (await call.ask(request)).body


async def broker_ids(call: Call) -> list[int]:
    """Return the ids of all brokers, in order; of controllers with ``bootstrap.controllers``.

    Raises:
        ConnectionError: the cluster has no broker that could be asked.
    """
    try:
        ids = sorted(broker["node_id"] for broker in (await metadata(call, []))["brokers"])
    except KafkaError as error:
        if error.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
        # Controllers have no metadata.
        described = (await call.ask(Request("DescribeCluster", {}))).body
        ids = sorted(broker["broker_id"] for broker in described["brokers"])
    if not ids:
        raise no_broker_to_ask()
    return ids


async def from_each_broker(call: Call, api: str, body: Body) -> Results[int, Body]:
    """Send the same request to all brokers; return the response or the error of each.

    A broker whose response has a temporary error as a whole is asked again.
    """

    async def find(pending: list[int]) -> dict[int, Destination]:
        return {broker: broker for broker in pending}

    def read(response: Response, asked: list[int]) -> Results[int, Body]:
        [broker] = asked
        return {broker: error_of(response.body, f"broker {broker}", api=api) or response.body}

    brokers = await broker_ids(call)
    return await by_destination(call, brokers, find, lambda _: Request(api, body), read)


async def from_all_brokers(call: Call, api: str, body: Body) -> dict[int, Body]:
    """Send the same request to all brokers; return the responses by broker.

    Raises:
        KafkaError: of a broker that did not respond, or that responded with an error.
    """
    return settle(await from_each_broker(call, api, body), "raise")


async def leaders(
    call: Call, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int | KafkaError]:
    """Return the leader of each partition."""
    wanted = list(partitions)
    topics = (await metadata(call, sorted({topic for topic, _ in wanted})))["topics"]
    found: dict[TopicPartition, int | KafkaError] = {}
    missing: dict[str, KafkaError] = {}
    for topic in topics:
        name = topic["name"]
        if error := error_of(topic, topic=name, api="Metadata"):
            missing[name] = error
        for partition in topic["partitions"]:
            topic_partition = name, partition["partition_index"]
            leader = partition["leader_id"]
            found[topic_partition] = (
                leader if leader >= 0 else _error(ErrorCode.LEADER_NOT_AVAILABLE, topic_partition)
            )
    return {
        topic_partition: found.get(
            topic_partition,
            missing.get(
                topic_partition[0], _error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic_partition)
            ),
        )
        for topic_partition in wanted
    }


def _error(code: int, topic_partition: TopicPartition) -> KafkaError:
    return error_of_code(code, topic=topic_partition[0], partition=topic_partition[1])


async def by_destination(
    call: Call,
    items: Iterable[K],
    find: Callable[[list[K]], Awaitable[Mapping[K, Destination | KafkaError]]],
    build: Callable[[list[K]], Request],
    read: Callable[[Response, list[K]], Mapping[K, V | KafkaError]],
    *,
    changes: bool = False,
    batch: int | None = None,
    authoritative: bool = False,
) -> Results[K, V]:
    """Send items to their destinations, one request to each, until each has a final result.

    Args:
        call: the call.
        items: the items.
        find: returns their destinations.
        build: returns the request for items; its destination is replaced.
        read: returns the results of a response to a request for items.
        changes: whether the request changes something.
        batch: how many items a request may have. Default: any number.
        authoritative: whether the controller responds, which knows all topics.
    """

    async def attempt(pending: list[K]) -> Mapping[K, V | KafkaError]:
        results: Results[K, V] = {}
        groups: dict[Destination, list[K]] = {}
        found = await find(pending)
        # Only what is asked for: a response may have more.
        for item in pending:
            destination = found.get(item, left_out())
            if isinstance(destination, KafkaError):
                results[item] = destination
            else:
                groups.setdefault(destination, []).append(item)
        batches = [
            (to, group[first : first + (batch or len(group))])
            for to, group in groups.items()
            for first in range(0, len(group), batch or len(group))
        ]
        requests = [replace(build(group), to=to, changes=changes) for to, group in batches]
        responses = await call.send(requests)
        for (_, group), response in zip(batches, responses, strict=True):
            if isinstance(response, KafkaError):
                results.update(dict.fromkeys(group, response))
            else:
                results.update(read(response, group))
        return results

    return await until_final(call, items, attempt, changes=changes, authoritative=authoritative)


async def to_controller(
    call: Call,
    items: Iterable[K],
    build: Callable[[list[K]], Request],
    read: Callable[[Response, list[K]], Mapping[K, V | KafkaError]],
    *,
    changes: bool = True,
    authoritative: bool = True,
) -> Results[K, V]:
    """Send items to the controller until each has a final result."""

    async def find(pending: list[K]) -> dict[K, Destination | KafkaError]:
        return dict.fromkeys(pending, "controller")

    return await by_destination(
        call, items, find, build, read, changes=changes, authoritative=authoritative
    )


async def ask_controller(
    call: Call, request: Request, *, changes: bool = True, authoritative: bool = True
) -> Body:
    """Send one request to the controller until it has a final response.

    Raises:
        KafkaError: the error of the response.
    """

    def read(response: Response, _: list[None]) -> Results[None, Body]:
        error = error_of(response.body, maybe_done=response.is_repeated, api=request.api)
        return {None: error or response.body}

    results = await to_controller(
        call, [None], lambda _: request, read, changes=changes, authoritative=authoritative
    )
    result = results[None]
    if isinstance(result, KafkaError):
        raise result
    return result

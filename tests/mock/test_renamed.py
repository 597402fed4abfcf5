"""Old names are refused with the new one, by calls, methods and modules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.schema import AsyncRegistry, Json, Registry
from ottla.testing import MockCluster

FORMAT: Any = Json(schema="{}", wire_format="none")


@pytest.mark.parametrize("name", ["key", "value"])
def test_formats_have_names_of_their_own(
    name: str, mock_cluster: MockCluster, single: str, client: Any, producer: Any
) -> None:
    async def asynchronous() -> None:
        async with ottla.AsyncProducer(mock_cluster.bootstrap) as producer:
            with refused("send_batch"):
                await producer.send_batch(single, [b"v"], **old)
        consumer: Any = ottla.AsyncConsumer(mock_cluster.bootstrap)
        with refused("poll_arrow"):
            await consumer.poll_arrow(**old)
        await consumer.close()

    def refused(function: str) -> Any:
        message = rf"{function}\(\) takes a format as {name}_format=: {name}= was renamed"
        return pytest.raises(errors.ArgumentTypeError, match=message)

    old = {name: FORMAT}
    with refused("scan"):
        ottla.scan(single, mock_cluster.bootstrap, **old)
    with refused("scan"):
        client.scan([(single, 0, 0, 1)], **old)
    with refused("send_batch"):
        producer.send_batch(single, [b"v"], **old)
    consumer: Any = ottla.Consumer(mock_cluster.bootstrap)
    with consumer, refused("poll_arrow"):
        consumer.poll_arrow(**old)
    asyncio.run(asynchronous())
    assert mock_cluster.end_offset(single, 0) == 0, "nothing was sent"


def test_other_unknown_arguments_are_reported_as_python_does(client: Any) -> None:
    with pytest.raises(TypeError, match=r"scan\(\) got an unexpected keyword argument 'valu'"):
        client.scan([], valu=FORMAT)


@pytest.mark.parametrize(
    ("make", "old", "new"),
    [
        (ottla.Client, "list_topics", "topic_names"),
        (ottla.AsyncClient, "list_topics", "topic_names"),
        (ottla.Consumer, "list_topics", "topic_names"),
        (ottla.AsyncConsumer, "list_topics", "topic_names"),
        (Registry, "version", "schema_by_version"),
        (AsyncRegistry, "version", "schema_by_version"),
    ],
)
def test_a_method_that_was_renamed_names_its_successor(
    make: Callable[[str], Any], old: str, new: str, mock_cluster: MockCluster
) -> None:
    is_registry = make in (Registry, AsyncRegistry)
    made = make("http://127.0.0.1:9" if is_registry else mock_cluster.bootstrap)
    name = make.__name__
    with pytest.raises(AttributeError, match=rf"{name}\.{old}\(\) was renamed: use {new}\(\)"):
        getattr(made, old)
    assert callable(getattr(made, new))
    if isinstance(made, (ottla.Client, ottla.Consumer, Registry)):
        made.close()


def test_a_timeout_is_named(producer: Any, client: Any) -> None:
    calls = [client.close, producer.flush, producer.close, producer.send("t", b"v").result]
    consumer: Any = ottla.Consumer(client)
    for call in [*calls, consumer.poll, consumer.poll_arrow, consumer.close]:
        with pytest.raises(TypeError, match="positional argument"):
            call(1.0)
    consumer.close()

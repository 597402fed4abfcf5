"""A str or bytes where the API expects a collection of names is an error, and no list of letters.

The parameters are found in the source: a new one that takes names fails the test until ``CALLS``
says how to call it.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import ottla
import ottla.cli
from ottla import schema, testing
from ottla.console import serve
from ottla.errors import ArgumentTypeError, ConfigError
from ottla.testing import MockCluster
from tests.support.public_calls import FILES, files, functions

NAMES = re.compile(r"(?:Iterable|Sequence|Collection|Set|list|set|frozenset)\[str( \||\])")
Parameter = tuple[str, str, str]
Call = Callable[[str, Any], Any]


def parameters() -> Iterator[Parameter]:
    """Yield (class, function, parameter) for each that takes names, and no single name."""
    others = (
        "cli/__init__.py",
        "spark/__init__.py",
        "testing/[!m]*.py",
        "testing/mock_registry.py",
    )
    for path in files([*FILES, *others]):
        for owner, function in functions(path):
            yield from of_function(owner, function)


def of_function(
    owner: str, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Parameter]:
    if function.name.startswith("_") and function.name not in {"__new__", "__init__"}:
        return
    for argument in [*function.args.args, *function.args.kwonlyargs]:
        annotation = ast.unparse(argument.annotation) if argument.annotation else ""
        if NAMES.search(annotation) and not re.search(r"(^|\| )str( \||$)", annotation):
            yield owner, function.name, argument.arg


async def transform_nothing(topics: Any, bootstrap: str) -> None:
    await ottla.transform_async(lambda record: record, topics, "out", bootstrap, group_id="g")


def calls(bootstrap: str, clients: ExitStack) -> dict[str, Call]:
    """Return how to call each function with an argument, by ``Class.function``."""
    client = clients.enter_context(ottla.Client(bootstrap))
    consumer = clients.enter_context(ottla.Consumer(bootstrap, group_id="g"))
    share = clients.enter_context(ottla.ShareConsumer(bootstrap, group_id="s"))
    admin = clients.enter_context(ottla.Admin(bootstrap))
    producer = clients.enter_context(ottla.Producer(bootstrap))
    first = {
        "Admin.list_open_transactions": (),
        "ConfigCalls.describe_configs": ([],),
        "GroupCalls.remove_group_members": ("g",),
        "GroupOffsetCalls.reset_group_offsets": ("g", "latest"),
        "ShareGroupOffsetCalls.delete_share_group_offsets": ("s",),
    }

    def method(owner: Any, name: str, before: tuple[Any, ...] = ()) -> Call:
        return lambda parameter, value: getattr(owner, name)(*before, **{parameter: value})

    def of_async(cls: Any, name: str, before: tuple[Any, ...] = ()) -> Call:
        async def run(parameter: str, value: Any) -> None:
            async with cls(
                bootstrap, **({} if cls is ottla.AsyncAdmin else {"group_id": "g"})
            ) as it:
                await getattr(it, name)(*before, **{parameter: value})

        return lambda parameter, value: asyncio.run(run(parameter, value))

    def made(cls: Any, *before: Any, **others: Any) -> Call:
        return lambda parameter, value: cls(*before, **others, **{parameter: value})

    table: dict[str, Call] = {}
    for owner, name, _ in parameters():
        key = f"{owner}.{name}"
        before = first.get(key.removeprefix("Async").replace(".Async", "."), ())
        if owner.endswith("Calls") or owner in {"Admin", "AsyncAdmin"}:
            is_async = owner.startswith("Async")
            call = (of_async if is_async else method)(
                ottla.AsyncAdmin if is_async else admin, name, before
            )
            table[key] = call
    return table | {
        "AsyncClient.cluster": lambda parameter, value: asyncio.run(
            cluster_of(bootstrap, parameter, value)
        ),
        "AsyncConsumerBase.cluster": of_async(ottla.AsyncConsumer, "cluster"),
        "AsyncProducer.cluster": lambda parameter, value: asyncio.run(
            producers_cluster(bootstrap, parameter, value)
        ),
        "Consumer.cluster": method(consumer, "cluster"),
        "Producer.cluster": method(producer, "cluster"),
        "AsyncConsumer.poll_arrow": of_async(ottla.AsyncConsumer, "poll_arrow"),
        "AsyncConsumerBase.__new__": made(ottla.AsyncConsumer, bootstrap, group_id="g"),
        "AsyncShareConsumer.poll_arrow": of_async(ottla.AsyncShareConsumer, "poll_arrow"),
        "AsyncShareConsumerBase.__new__": made(ottla.AsyncShareConsumer, bootstrap, group_id="g"),
        "Avro.__new__": made(schema.Avro, schema='"string"', wire_format="none"),
        "Client.cluster": method(client, "cluster"),
        "Client.scan": method(client, "scan", ([("a", 0, 0, 1)],)),
        "Consumer.__new__": made(ottla.Consumer, bootstrap, group_id="g"),
        "Consumer.poll_arrow": method(consumer, "poll_arrow"),
        "ConsumerBase.subscribe": method(consumer, "subscribe"),
        "Gateway.__init__": made(testing.Gateway, bootstrap),
        "Json.__new__": made(schema.Json, schema="{}", wire_format="none"),
        "MockCluster.__init__": made(testing.MockCluster, 1),
        "MockCluster.__new__": made(testing.MockCluster, 1),
        "Protobuf.__new__": made(schema.Protobuf, schema='syntax = "proto3";', wire_format="none"),
        "ShareConsumer.__new__": made(ottla.ShareConsumer, bootstrap, group_id="g"),
        "ShareConsumer.poll_arrow": method(share, "poll_arrow"),
        "ShareConsumerBase.subscribe": method(share, "subscribe"),
        ".main": made(ottla.cli.main),
        ".scan": made(ottla.scan, "a", bootstrap),
        ".scan_async": made(ottla.scan_async, "a", bootstrap),
        ".serve": lambda parameter, value: serve(client, **{parameter: value}),
    }


async def cluster_of(bootstrap: str, parameter: str, value: Any) -> None:
    async with ottla.AsyncClient(bootstrap) as client:
        await client.cluster(**{parameter: value})


async def producers_cluster(bootstrap: str, parameter: str, value: Any) -> None:
    async with ottla.AsyncProducer(bootstrap) as producer:
        await producer.cluster(**{parameter: value})


@pytest.fixture
def letters(mock_cluster: MockCluster) -> MockCluster:
    """A cluster with topics whose names are the letters of "abc"."""
    for name in "abc":
        mock_cluster.create_topic(name, partitions=1)
    return mock_cluster


def test_every_parameter_that_takes_names_refuses_a_single_one(letters: MockCluster) -> None:
    found = sorted(set(parameters()))
    assert len(found) > 60
    wrong = []
    with ExitStack() as clients:
        table = calls(letters.bootstrap, clients)
        for owner, name, parameter in found:
            call_of = table[f"{owner}.{name}"]
            for value, form in (("abc", '["abc"]'), (b"abc", "list")):
                with pytest.raises(ArgumentTypeError) as raised:
                    wrong.append((owner, name, parameter, call_of(parameter, value)))
                assert form in str(raised.value), (owner, name, parameter)
    assert wrong == []
    with ottla.Client(letters.bootstrap) as client:
        assert set("abc") <= set(client.topic_names())


@pytest.mark.parametrize("value", ["abc", b"abc", ("abc", 0), ["abc"], 7])
def test_every_call_that_takes_partitions_refuses_a_name(letters: MockCluster, value: Any) -> None:
    with (
        ottla.Admin(letters.bootstrap) as admin,
        ottla.Consumer(letters.bootstrap, group_id="g") as consumer,
    ):
        calls: dict[str, Callable[[], Any]] = {
            "assign": lambda: consumer.assign(value),
            "delete_group_offsets": lambda: admin.delete_group_offsets("g", value),
            "elect_leaders": lambda: admin.elect_leaders(value),
            "list_partition_reassignments": lambda: admin.list_partition_reassignments(value),
            "pause": lambda: consumer.pause(value),
            "seek_to_end": lambda: consumer.seek_to_end(value),
            "end_offsets": lambda: consumer.end_offsets(value),
        }
        for name, call in calls.items():
            if value == ("abc", 0) and name in {"pause", "seek_to_end", "end_offsets"}:
                continue
            with pytest.raises(ArgumentTypeError, match="partition"):
                raise AssertionError((name, call()))


def test_a_topic_and_its_letters_are_not_confused_where_one_name_is_enough(
    letters: MockCluster,
) -> None:
    letters.create_topic("abc", partitions=1)
    letters.append("abc", 0, [b"one"])
    topics: Any
    for topics in ("abc", ["abc"], iter(["abc"])):
        rows = [row for batch in ottla.scan(topics, letters.bootstrap) for row in batch.rows()]
        assert len(rows) == 1
    with pytest.raises(ArgumentTypeError):
        ottla.scan(b"abc", letters.bootstrap)  # type: ignore[arg-type] # the mistake
    for topics in (b"abc", [b"abc"]):
        with pytest.raises(ArgumentTypeError):
            ottla.transform(lambda _: None, topics, "out", letters.bootstrap, group_id="g")
        with pytest.raises(ArgumentTypeError):
            asyncio.run(transform_nothing(topics, letters.bootstrap))


def test_names_may_come_from_any_iterable(letters: MockCluster) -> None:
    with ottla.Admin(letters.bootstrap) as admin:
        assert set(admin.describe_topics(name for name in "abc")) == set("abc")
        assert set(admin.describe_topics({"a": 1, "b": 2})) == {"a", "b"}
        admin.delete_topics({"a", "b"})
        assert [topic.name for topic in admin.list_topics()] == ["c"]


def test_the_error_is_a_configuration_error_and_a_type_error() -> None:
    assert issubclass(ArgumentTypeError, ConfigError)
    assert issubclass(ArgumentTypeError, TypeError)
    assert inspect.getdoc(ArgumentTypeError)

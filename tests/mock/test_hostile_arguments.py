"""Arguments that a program passes by mistake: typed errors, and never another value.

Functions that call themselves through ottla, buffers that hold no bytes, text that UTF-8 cannot
encode, names that no request has room for.
"""

from __future__ import annotations

import array
import asyncio
import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ottla
from ottla import errors
from ottla.schema import Avro, Json
from ottla.testing import MockCluster
from tests.support.arrow import read_rows
from tests.support.subprocesses import run_python

HALF = "\ud83d"
LONG = "x" * 40_000
SURROGATE = "half of a surrogate pair"

# The stack of a process ends before Python's limit: a failure ends the process.
RECURSIVE = """
import ottla
from ottla.testing import MockCluster

calls = 0


def again(*arguments):
    global calls
    calls += 1
    {call}


with MockCluster(brokers=1) as cluster:
    cluster.create_topic("t", partitions=1)
    with ottla.Producer(cluster.bootstrap, {option}=again) as producer:
        try:
            producer.send("t", b"1")
        except ({error}) as error:
            assert "calls itself through ottla" in str(error), error
        else:
            raise AssertionError("no error")
assert calls <= 20, calls
"""


@pytest.mark.parametrize(
    ("option", "call", "error"),
    [
        ("value_serializer", 'return producer.send("t", b"a")', "ottla.errors.SerializationError"),
        ("key_serializer", 'producer.send("t", b"a", key=b"k")', "ottla.errors.SerializationError"),
        ("value_serializer", 'producer.send_batch("t", [b"a"])', "ottla.errors.SerializationError"),
        ("partitioner", 'producer.send("t", b"a")', "RecursionError"),
    ],
)
def test_a_function_that_calls_itself_is_an_error(option: str, call: str, error: str) -> None:
    """The process ended with SIGSEGV."""
    program = RECURSIVE.format(option=option, call=call, error=error)
    if option == "key_serializer":
        program = program.replace('send("t", b"1")', 'send("t", b"1", key=b"k")')
    run_python(program)


@pytest.mark.parametrize(
    "value",
    [
        np.array(["secret"], dtype=object),
        np.int64(1),
        np.uint8(1),
        np.float32("nan"),
        np.array([1, 2]),
        array.array("i", [1]),
    ],
    ids=repr,
)
def test_a_buffer_of_something_else_than_bytes_is_refused(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, value: Any
) -> None:
    """An array of objects was written as their addresses in the memory of the process."""
    for arguments in [{"value": value}, {"key": value}, {"headers": [("h", value)]}]:
        with pytest.raises(TypeError, match="expected bytes, str or None"):
            producer.send(single, **arguments)
    with pytest.raises(TypeError, match="bytes, str or None"):
        producer.send_batch(single, [b"good", value])
    producer.flush()
    assert mock_cluster.end_offset(single, 0) == 0


def test_buffers_of_bytes_are_sent(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    good = [bytearray(b"ab"), memoryview(b"ab"), np.frombuffer(b"ab", np.uint8)]
    for value in [*good, array.array("b", b"ab"), (ctypes.c_char * 2)(b"a", b"b")]:
        producer.send(single, value)
    producer.flush()
    rows = read_rows(ottla.scan(single, mock_cluster.bootstrap, columns=["value"]))
    assert [row["value"] for row in rows] == [b"ab"] * 5


def test_half_of_a_surrogate_pair_is_refused_by_name(producer: ottla.Producer, single: str) -> None:
    passed: dict[str, Any] = {"value": HALF, "key": HALF, "headers": [("h", HALF)]}
    for name, value in passed.items():
        with pytest.raises(errors.ConfigError, match=SURROGATE) as caught:
            producer.send(single, **{name: value})
        assert ("header" if name == "headers" else name) in str(caught.value)
        assert HALF not in str(caught.value)
    with pytest.raises(errors.ConfigError, match=f"client.id has {SURROGATE}"):
        ottla.Producer("localhost:1", client_id=HALF, connect=False)


@pytest.mark.parametrize("form", [Avro, Json])
def test_half_of_a_surrogate_pair_has_no_schema(form: Any) -> None:
    """It said: expected a str, not str."""
    text = '"string"' if form is Avro else '{"type": "string"}'
    with pytest.raises(ValueError, match=SURROGATE):
        form(schema=text, wire_format="none").serialize("t", HALF)


@pytest.mark.parametrize(
    "call",
    [
        lambda admin: admin.describe_groups([HALF]),
        lambda admin: admin.delete_topics([HALF]),
        lambda admin: admin.delete_groups([HALF]),
    ],
)
def test_half_of_a_surrogate_pair_names_nothing(
    mock_cluster: MockCluster, call: Callable[[Any], Any]
) -> None:
    with (
        ottla.Admin(mock_cluster.bootstrap) as admin,
        pytest.raises(errors.ConfigError, match=SURROGATE),
    ):
        call(admin)


def test_a_name_that_no_request_has_room_for_disturbs_no_other(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    """Lookups of other topics failed with its, as if the connection were bad."""
    began = time.monotonic()
    with pytest.raises(errors.ConfigError, match=r"topic .* has 40000 bytes"):
        producer.send(LONG, b"")
    with pytest.raises(errors.ConfigError, match=r"topic .* has 40000 bytes"):
        producer.send_batch(LONG, [b""])
    mock_cluster.create_topic("another")
    producer.send("another", b"").result(timeout=30)
    assert time.monotonic() - began < 30
    with ottla.Consumer(mock_cluster.bootstrap, group_id="g") as consumer:
        with pytest.raises(errors.ConfigError, match="40000 bytes"):
            consumer.subscribe([single, LONG])
        with pytest.raises(errors.ConfigError, match="40000 bytes"):
            consumer.assign([(LONG, 0)])


@pytest.mark.parametrize(
    "key", ["group_id", "group_instance_id", "transactional_id", "client_id", "client_rack"]
)
def test_a_setting_that_no_request_has_room_for_is_refused(key: str) -> None:
    """A consumer polled in silence, and a producer took 30 s to close."""
    options: dict[str, Any] = {"group_id": "g", key: LONG}
    with pytest.raises(errors.ConfigError, match=rf"{key.replace('_', '.')} .*40000 bytes"):
        ottla.Client("localhost:1", connect=False, **options)


def test_a_request_that_cannot_be_written_was_not_sent(mock_cluster: MockCluster) -> None:
    """It was repeated until the timeout, and nobody knew whether it was written."""
    began = time.monotonic()
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        with pytest.raises(errors.ConfigError, match="too long") as caught:
            admin.delete_topics([LONG], timeout=60)
        assert not caught.value.maybe_done
    assert time.monotonic() - began < 30


def test_a_callback_of_a_commit_is_checked_when_it_is_passed(mock_cluster: MockCluster) -> None:
    wrong: Any = 5
    with (
        ottla.Consumer(mock_cluster.bootstrap, group_id="g") as consumer,
        pytest.raises(TypeError, match="on_commit is not callable"),
    ):
        consumer.commit_async(None, wrong)

    async def run() -> None:
        async with ottla.AsyncConsumer(mock_cluster.bootstrap, group_id="g") as consumer:
            with pytest.raises(TypeError, match="on_commit is not callable"):
                consumer.commit_async(None, wrong)

    asyncio.run(run())

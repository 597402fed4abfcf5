"""``ottla consume``: filters, the newest records, and what bytes mean."""

from __future__ import annotations

import json
import struct

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.command import CommandResult, ottla_here


@pytest.fixture
def orders(mock_cluster: MockCluster, topic: str) -> str:
    """Nine JSON values in three partitions, and one that is no JSON."""
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for number in range(9):
            producer.send(
                topic,
                json.dumps({"id": number, "customer": {"name": f"c{number % 2}"}, "tags": ["a"]}),
                f"key-{number}",
                partition=number % 3,
                timestamp=1_000 + number,
                headers=[
                    ("source", b"shell" if number % 2 else b"web"),
                    ("number", b"%d" % number),
                ],
            )
        producer.send(topic, b"no json", partition=0, timestamp=500)
    return topic


def consume(cluster: MockCluster, topic: str, *arguments: str) -> CommandResult:
    return ottla_here("consume", cluster.bootstrap, "-t", topic, *arguments)


def printed(cluster: MockCluster, topic: str, *arguments: str) -> list[str]:
    done = consume(cluster, topic, "-e", "-f", "%k ", *arguments)
    assert (done.code, done.err) == (0, "")
    return sorted(done.text.split())


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["--key", "[45]$"], [4, 5]),
        (["--value", '"id": [0-2],'], [0, 1, 2]),
        (["--header", "source=web", "--key", "key"], [0, 2, 4, 6, 8]),
        (["--header", "number", "--header", "source=^shell$"], [1, 3, 5, 7]),
        (["--header", "nothing"], []),
        (["--where", "customer.name=c1"], [1, 3, 5, 7]),
        (["--where", ".id=3"], [3]),
        (["--where", "tags.0=a", "--where", "id=8"], [8]),
        (["--where", "tags.7=a"], []),
        (["--where", "customer={}"], []),
        (["-o", "s@1970-01-01T00:00:01.007Z", "--key", "."], [7, 8]),
        (["-o", "beginning", "-o", "e@1002"], [0, 1]),
    ],
)
def test_filters(
    mock_cluster: MockCluster, orders: str, arguments: list[str], numbers: list[int]
) -> None:
    assert printed(mock_cluster, orders, *arguments) == [f"key-{each}" for each in numbers]


def test_a_count_counts_what_is_printed(mock_cluster: MockCluster, orders: str) -> None:
    done = consume(mock_cluster, orders, "--where", "customer.name=c1", "-c", "2", "-f", "%o ")
    assert (done.code, len(done.text.split())) == (0, 2)


def test_the_newest_of_all_partitions(mock_cluster: MockCluster, orders: str) -> None:
    def newest(*arguments: str) -> list[str]:
        done = consume(mock_cluster, orders, "-f", "%k ", *arguments)
        assert (done.code, done.err) == (0, "")
        return done.text.split()

    assert newest("--last", "4") == ["key-5", "key-6", "key-7", "key-8"]
    assert newest("--last", "2", "--header", "source=web") == ["key-6", "key-8"]
    assert newest("--last", "1", "-p", "1") == ["key-7"]
    assert newest("--last", "0") == []
    assert len(newest("--last", "99", "--key", "key")) == 9


@pytest.mark.parametrize(
    ("kind", "data", "text", "value"),
    [
        ("string", "ä".encode(), "ä", "ä"),
        ("json", b'{"a": 1}', '{"a": 1}', {"a": 1}),
        ("hex", b"\x00\xff", "00ff", "00ff"),
        ("base64", b"\x00\xff", "AP8=", "AP8="),
        ("short", struct.pack(">h", -2), "-2", -2),
        ("integer", struct.pack(">i", 7), "7", 7),
        ("long", struct.pack(">q", 2**40), str(2**40), 2**40),
        ("float", struct.pack(">f", 0.5), "0.5", 0.5),
        ("double", struct.pack(">d", -1.25), "-1.25", -1.25),
        (
            "uuid",
            b"8d8ac610-566d-4ef0-9c22-186b2a5ed793",
            *["8d8ac610-566d-4ef0-9c22-186b2a5ed793"] * 2,
        ),
    ],
)
def test_what_bytes_mean(
    mock_cluster: MockCluster, single: str, kind: str, data: bytes, text: str, value: object
) -> None:
    mock_cluster.append(single, 0, [data])
    done = consume(mock_cluster, single, "-e", "--value-as", kind)
    assert (done.code, done.text) == (0, f"{text}\n")
    done = consume(mock_cluster, single, "-e", "--value-as", kind, "--key-as", kind, "-J")
    assert json.loads(done.text)["value"] == value
    assert json.loads(done.text)["key"] is None


@pytest.mark.parametrize("kind", ["string", "json", "short", "integer", "long", "double", "uuid"])
def test_bytes_that_are_something_else(mock_cluster: MockCluster, single: str, kind: str) -> None:
    mock_cluster.append(single, 0, [b"\xff\xff\xff"])
    done = consume(mock_cluster, single, "-e", "--value-as", kind)
    assert (done.code, done.out) == (1, b"")
    assert f"single-0 at offset 0: the value is not a valid {kind}, in 3 bytes" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--key", "("], "--key '(' is not a regular expression"),
        (["--header", "a=("], "--header '(' is not a regular expression"),
        (["--where", "a"], "expected FIELD=VALUE"),
        (["--last", "3", "-c", "3"], "--last replaces -o and -c"),
        (["--group", "g", "--last", "3"], "--group excludes"),
        (["-o", "soon"], "-o soon: expected beginning, end"),
        (["--value-as", "avro"], "invalid choice"),
    ],
)
def test_wrong_arguments(
    mock_cluster: MockCluster, single: str, arguments: list[str], message: str
) -> None:
    done = consume(mock_cluster, single, "-e", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err

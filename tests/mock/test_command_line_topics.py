"""``ottla consume`` of several topics, its headers, and bytes that are not text."""

from __future__ import annotations

import json
import struct

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.command import CommandResult, ottla_here

TOPICS = ("orders-eu", "orders-us", "payments")


@pytest.fixture
def filled(mock_cluster: MockCluster) -> MockCluster:
    """Three topics of two partitions with three records each, at times that alternate."""
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for place, name in enumerate(TOPICS):
            mock_cluster.create_topic(name, partitions=2)
            for n in range(6):
                producer.send(
                    name, f"{name} {n}", f"k{n}", partition=n % 2, timestamp=1000 * n + place
                )
    return mock_cluster


def consume(cluster: MockCluster, *arguments: str, code: int = 0) -> CommandResult:
    done = ottla_here("consume", cluster.bootstrap, *arguments)
    assert done.code == code, done.err
    return done


def values(done: CommandResult) -> list[str]:
    return sorted(done.text.splitlines())


def test_several_topics_show_the_topic(filled: MockCluster) -> None:
    two = ("-t", "payments", "-t", "orders-eu", "-t", "payments", "-e")
    expected = [f"{name}\t{name} {n}" for name in ("orders-eu", "payments") for n in range(6)]
    assert values(consume(filled, *two)) == expected
    shown = values(consume(filled, *two, "-K", "=", "-o", "1", "-p", "1"))
    names = ("orders-eu", "payments")
    assert shown == [f"{name}\tk{n}={name} {n}" for name in names for n in (3, 5)]
    assert values(consume(filled, *two, "-f", "%s\n")) == [each.split("\t")[1] for each in expected]
    lines = consume(filled, *two, "-J").text.splitlines()
    assert {json.loads(line)["topic"] for line in lines} == set(names)
    # One topic, even if it is given twice, is shown as before.
    one = consume(filled, "-t", "payments", "-t", "payments", "-e")
    assert values(one) == [f"payments {n}" for n in range(6)]


def test_a_pattern(filled: MockCluster) -> None:
    shown = values(consume(filled, "--pattern", "^orders-.*", "-e", "-o", "-1"))
    assert shown == [f"{name}\t{name} {n}" for name in ("orders-eu", "orders-us") for n in (4, 5)]
    # The shape of a line does not depend on how many topics match.
    assert values(consume(filled, "--pattern", "pay.*", "-e", "-c", "1", "-p", "0")) == [
        "payments\tpayments 0"
    ]
    done = consume(filled, "--pattern", "orders", "-e", code=1)
    assert "--pattern 'orders' matches the whole name of no topic" in done.err
    done = consume(filled, "--pattern", "(", "-e", code=2)
    assert "--pattern '(' is not a regular expression" in done.err


def test_the_newest_records_of_several_topics(filled: MockCluster) -> None:
    shown = consume(filled, "--pattern", ".*", "--last", "4", "-f", "%s\n").text.splitlines()
    assert shown == ["payments 4", "orders-eu 5", "orders-us 5", "payments 5"]
    again = consume(filled, "-t", "orders-us", "-t", "payments", "-o", "s@5000", "-e")
    assert values(again) == ["orders-us\torders-us 5", "payments\tpayments 5"]


@pytest.mark.parametrize("chosen", [["-t", "orders-eu", "-t", "orders-us"], ["--pattern", "ord.*"]])
def test_a_group_reads_several_topics(filled: MockCluster, chosen: list[str]) -> None:
    shown = values(consume(filled, *chosen, "-G", "billing", "-c", "12"))
    assert shown == [f"{name}\t{name} {n}" for name in ("orders-eu", "orders-us") for n in range(6)]


def test_wrong_choices_of_topics(filled: MockCluster) -> None:
    assert "one of the arguments -t/--topic --pattern is required" in consume(filled, code=2).err
    both = consume(filled, "-t", "payments", "--pattern", "pay.*", code=2)
    assert "not allowed with argument" in both.err
    done = consume(filled, "-t", "payments", "-t", "orders-eu", "-p", "2", "-e", code=1)
    assert "partition 2 of topic payments does not exist" in done.err
    done = consume(filled, "--pattern", ".*", "-e", "--value-format", "avro", "--schema-registry",
                   "http://127.0.0.1:1", code=2)  # fmt: skip
    assert "several topics have no common subject: give --value-subject" in done.err


@pytest.fixture
def headers(mock_cluster: MockCluster, single: str) -> str:
    """A topic with one record that has headers of several types."""
    given = [("retries", struct.pack(">i", 7)), ("trace", b"\xff\x01"), ("none", None)]
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, b"v", headers=given)
    return single


def test_headers_of_a_type(mock_cluster: MockCluster, headers: str) -> None:
    arguments = ("-t", headers, "-e", "--header-as", "retries=integer", "--header-as", "hex")
    assert consume(mock_cluster, *arguments, "-f", "%h").text == "retries=7,trace=ff01,none=NULL"
    record = json.loads(consume(mock_cluster, *arguments, "-J").text)
    assert record["headers"] == [["retries", 7], ["trace", "ff01"], ["none", None]]
    assert "replaced" not in record


def test_headers_that_are_something_else(mock_cluster: MockCluster, headers: str) -> None:
    arguments = ("-t", headers, "-e", "--header-as", "trace=long")
    done = consume(mock_cluster, *arguments, code=1)
    assert "single-0 at offset 0: the header trace is not a valid long, in 2 bytes" in done.err
    record = json.loads(consume(mock_cluster, *arguments, "-J", code=1).text)
    assert "the header trace is not a valid long" in record["error"]
    done = consume(mock_cluster, "-t", headers, "-e", "--header-as", "trace=number", code=2)
    assert "--header-as 'trace=number': expected TYPE or NAME=TYPE" in done.err
    done = consume(
        mock_cluster, "-t", headers, "-e", "--header-as", "hex", "--header-as", "long", code=2
    )
    assert "two types for all headers" in done.err


def test_replaced_bytes_are_named(mock_cluster: MockCluster, single: str) -> None:
    large = b"x" * (1 << 20) + b"\xff" + b"y"
    with ottla.Producer(
        mock_cluster.bootstrap, compression_type="gzip", max_request_size=4 << 20
    ) as producer:
        # The text has the character that stands for replaced bytes.
        producer.send(single, "\ufffd".encode(), b"k")
        producer.send(single, b"a\xffb", b"k")
        producer.send(single, large, b"\xfe", headers=[("h", b"\xfd")])
        producer.send(single, large.replace(b"\xff", b"z"), b"k")
    done = consume(mock_cluster, "-t", single, "-e", "-J")
    records = [json.loads(line) for line in done.text.splitlines()]
    assert [record.get("replaced") for record in records] == [
        None,
        ["value"],
        ["key", "value", "headers"],
        None,
    ]
    assert (records[0]["value"], records[1]["value"]) == ("\ufffd", "a\ufffdb")
    assert done.err == ""
    done = consume(mock_cluster, "-t", single, "-e", "-J", "-c", "2", "--value-as", "hex")
    assert "replaced" not in done.text

"""``ottla dead-letters``: letters of ottla and of other tools, listed and replayed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import ottla
from ottla.processing import Processor
from ottla.testing import Fault, MockCluster
from tests.support.command import ottla_here
from tests.support.processing import committed, run_until, written
from tests.support.waiting import wait_until

DEAD = "orders.dead-letters"


@pytest.fixture
def letters(mock_cluster: MockCluster, topic: str) -> MockCluster:
    """Letters of ottla, of a format of ottla, of Kafka Connect, of Spring, and of nobody."""
    mock_cluster.create_topic(DEAD, partitions=2)
    both = [("trace", b"t"), ("trace", None)]
    ottlas = {"topic": "orders", "partition": "2", "offset": "7", "timestamp": "5000"}
    failed = {"attempts": "3", "exception": "ValueError", "message": "no stock", "group": "ship"}
    connect = {"topic": "orders", "partition": "1", "offset": "3"}
    connect |= {"exception.class.name": "DataException", "exception.message": "bad schema"}
    spring: list[tuple[str, bytes]] = [
        ("kafka_dlt-original-topic", b"orders"),
        ("kafka_dlt-original-partition", (1).to_bytes(4, "big")),
        ("kafka_dlt-original-offset", (9).to_bytes(8, "big")),
        ("kafka_dlt-original-timestamp", (6000).to_bytes(8, "big")),
        ("kafka_dlt-exception-fqcn", b"java.lang.IllegalStateException"),
        ("kafka_dlt-exception-message", b"no"),
        ("kafka_dlt-original-consumer-group", b"spring"),
    ]
    place = {"topic": "orders", "partition": "0", "offset": "1"}
    undecoded = place | {"message": "value: bad byte 17"}
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
        for headers, value in (
            ([*both, *_prefixed("__ottla.errors.", ottlas | failed)], b"ottla"),
            (_prefixed("__ottla.errors.", undecoded), b"\xff"),
            (_prefixed("__connect.errors.", connect), b"connect"),
            (spring, b"spring"),
            ([("own", b"1")], b"unknown"),
        ):
            producer.send(DEAD, value, b"k", headers=headers, partition=0, timestamp=10_000)
            producer.flush()
    return mock_cluster


def _prefixed(prefix: str, fields: dict[str, str]) -> list[tuple[str, Any]]:
    return [(prefix + name, value.encode()) for name, value in fields.items()]


def command(cluster: MockCluster, *arguments: str) -> Any:
    return ottla_here("dead-letters", *arguments, "-b", cluster.bootstrap)


def test_list_groups_by_reason_whoever_wrote_the_letters(letters: MockCluster) -> None:
    done = command(letters, "list", DEAD, "--json", "--records")
    assert done.code == 0, done.err
    found = {each["reason"]: each for each in json.loads(done.text)}
    assert set(found) == {
        "ValueError",
        "value: bad byte #",
        "DataException",
        "java.lang.IllegalStateException",
        "unknown",
    }
    group = found["ValueError"]
    assert (group["origin"], group["group_id"], group["count"]) == ("orders", "ship", 1)
    assert (group["first_timestamp"], group["last_timestamp"]) == (10_000, 10_000)
    (letter,) = found["java.lang.IllegalStateException"]["letters"]
    assert (letter["origin_partition"], letter["origin_offset"], letter["offset"]) == (1, 9, 3)
    assert found["unknown"]["origin"] is None
    shown = command(letters, "list", DEAD).text
    assert "DataException" in shown
    assert shown.endswith("5 dead letters\n")


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--reason", "stock"], 1),
        (["--reason", "Exception"], 2),
        (["--origin", "orders"], 4),
        (["--since", "10000"], 5),
        (["--until", "10000"], 0),
        (["--offset", "2", "--offset", "4"], 2),
    ],
)
def test_filters(letters: MockCluster, options: list[str], count: int) -> None:
    done = command(letters, "list", DEAD, *options, "--json")
    assert sum(each["count"] for each in json.loads(done.text)) == count


def test_replay_writes_the_record_as_it_was(letters: MockCluster) -> None:
    """To its partition, with its own headers and time, and headers that say which letter it was."""
    done = command(letters, "replay", DEAD, "--offset", "0", "--offset", "3", "--yes")
    assert (done.code, done.text) == (0, "replayed 2 letters to topic orders\n")
    spring, first = written(letters.bootstrap, "orders")
    assert (spring.partition, spring.value, spring.timestamp) == (1, b"spring", 6000)
    assert (first.partition, first.key, first.value, first.timestamp) == (2, b"k", b"ottla", 5000)
    assert first.headers == (
        ("trace", b"t"),
        ("trace", None),
        ("__ottla.replay.topic", DEAD.encode()),
        ("__ottla.replay.partition", b"0"),
        ("__ottla.replay.offset", b"0"),
    )


def test_a_plan_writes_nothing(letters: MockCluster) -> None:
    done = command(letters, "replay", DEAD, "--origin", "orders", "--dry-run")
    assert (done.code, done.text) == (0, "replay to topic orders: 4 letters\n")
    done = command(letters, "replay", DEAD, "--origin", "orders")
    assert done.code == 1
    assert "repeat with --yes" in done.err
    assert not written(letters.bootstrap, "orders")


def test_letters_without_an_origin_are_said_and_the_others_replayed(letters: MockCluster) -> None:
    done = command(letters, "replay", DEAD, "--yes")
    assert done.code == 1
    assert "1 letter cannot be replayed: no header names the topic" in done.err
    assert len(written(letters.bootstrap, "orders")) == 4
    letters.create_topic("inbox", partitions=1)
    assert command(letters, "replay", DEAD, "--to", "inbox", "--yes").code == 0
    assert len(written(letters.bootstrap, "inbox")) == 5


def test_a_group_replays_each_letter_once(letters: MockCluster) -> None:
    """A letter that cannot be written holds its partition's progress; a second run goes on."""
    letters.create_topic("inbox", partitions=1)
    arguments = ["replay", DEAD, "--to", "inbox", "--group", "replays", "--yes"]
    fault = Fault.error("TOPIC_AUTHORIZATION_FAILED")
    letters.inject(fault, api="Produce", topic="inbox", times=1)
    failed = command(letters, *arguments)
    assert failed.code == 1
    assert "the letter of orders.dead-letters-0 at offset 0 was not replayed" in failed.err
    assert committed(letters, "replays", DEAD).get(0, 0) == 0
    before = len(written(letters.bootstrap, "inbox"))
    assert command(letters, *arguments).code == 0
    assert len(written(letters.bootstrap, "inbox")) == before + 5
    assert committed(letters, "replays", DEAD) == {0: 5, 1: 0}
    again = command(letters, *arguments)
    assert (again.code, again.text) == (0, "nothing to change\n")
    refused = command(letters, *arguments, "--reason", "x")
    assert (refused.code, "takes no single letters" in refused.err) == (2, True)


def test_what_a_processor_gave_up_is_replayed_and_handled(
    mock_cluster: MockCluster, topic: str
) -> None:
    """A record that fails again is a letter again, which says that it was a replay."""
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(topic, b"bad", b"k", headers=[("a", b"1")], partition=1)

    def handle(record: Any) -> None:
        raise ValueError(record.value)

    options: dict[str, Any] = {"group_id": "g", "retry_delays": [], "create_topics": True}
    processor = Processor(handle, topic, mock_cluster.bootstrap, **options)
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"] == 1)
    assert command(mock_cluster, "replay", DEAD, "--yes").code == 0
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"] == 2)
    done = command(mock_cluster, "list", DEAD, "--json", "--records")
    (group,) = json.loads(done.text)
    assert [each["is_replay"] for each in group["letters"]] == [False, True]
    assert [each["origin_partition"] for each in group["letters"]] == [1, 1]


def test_letters_without_a_time_are_listed_and_replayed(
    mock_cluster: MockCluster, topic: str
) -> None:
    mock_cluster.create_topic(DEAD, partitions=1)
    headers = _prefixed("__ottla.errors.", {"topic": topic, "exception": "ValueError"})
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        # Of this time, no microseconds are an int64: there is none in the column.
        for _ in range(2):
            producer.send(DEAD, b"a", headers=headers, timestamp=2**63 - 1)
    done = command(mock_cluster, "list", DEAD, "--json", "--records")
    assert done.code == 0, done.err
    (group,) = json.loads(done.text)
    assert (group["count"], group["first_timestamp"], group["last_timestamp"]) == (2, None, None)
    assert command(mock_cluster, "list", DEAD, "--records").code == 0
    assert command(mock_cluster, "list", DEAD, "--since", "12h").text.endswith("0 dead letters\n")
    assert command(mock_cluster, "replay", DEAD, "--yes").code == 0
    assert len(written(mock_cluster.bootstrap, topic)) == 2


@pytest.mark.parametrize("origin", [DEAD, "..", "x" * 40_000, "orders\x1b[31m"])
def test_a_hostile_origin_is_none(mock_cluster: MockCluster, topic: str, origin: str) -> None:
    """Replayed to its own topic, a letter would be a letter again and again."""
    mock_cluster.create_topic(DEAD, partitions=1)
    fields = {"topic": origin, "exception": "E" * 40_000, "message": "m" * 40_000}
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(DEAD, b"a", headers=_prefixed("__ottla.errors.", fields))
    done = command(mock_cluster, "list", DEAD, "--json", "--records")
    (group,) = json.loads(done.text)
    assert group["origin"] is None
    assert len(group["reason"]) < 5000
    assert len(group["letters"][0]["message"]) < 5000
    done = command(mock_cluster, "replay", DEAD, "--yes")
    assert (done.code, "no header names the topic" in done.err) == (1, True)
    assert len(written(mock_cluster.bootstrap, DEAD)) == 1


def test_a_group_with_members_is_refused_before_a_letter_is_written(letters: MockCluster) -> None:
    """Otherwise each try writes a window of letters again."""
    letters.create_topic("inbox", partitions=1)
    with ottla.Consumer(letters.bootstrap, group_id="busy") as consumer:
        consumer.subscribe(["orders"])
        wait_until(lambda: consumer.poll(timeout=0.05) or consumer.assignment())
        done = command(letters, "replay", DEAD, "--to", "inbox", "--group", "busy", "--yes")
    assert (done.code, "active members" in done.err) == (1, True)
    assert written(letters.bootstrap, "inbox") == []


def test_letters_of_a_topic_that_is_gone_delay_no_others(letters: MockCluster) -> None:
    """Nor does a header create a topic, or write to an internal one."""
    fields = {"partition": "0", "exception": "ValueError"}
    with ottla.Producer(letters.bootstrap) as producer:
        for origin in ("gone", "gone", "orders"):
            headers = _prefixed("__ottla.errors.", {"topic": origin, **fields})
            producer.send(DEAD, b"a", headers=headers, partition=1)
    started = time.monotonic()
    done = command(letters, "replay", f"{DEAD}:1", "--yes")
    assert time.monotonic() - started < 30
    assert (done.code, done.text) == (1, "replayed 1 letter to topic orders\n")
    assert "[topic gone]" in done.err
    with ottla.Client(letters.bootstrap) as client:
        assert "gone" not in client.topic_names()


def test_letters_are_not_replayed_to_their_own_topic(letters: MockCluster) -> None:
    done = command(letters, "replay", DEAD, "--to", DEAD, "--yes")
    assert (done.code, "would double them" in done.err) == (2, True)
    assert len(written(letters.bootstrap, DEAD)) == 5


@pytest.fixture
def brokers_letters(mock_cluster: MockCluster, topic: str) -> MockCluster:
    """Letters as brokers write them for share groups (KIP-1191): with the record, and without."""
    mock_cluster.create_topic(DEAD, partitions=1)
    where = {"topic": "orders", "partition": "1", "group": "workers", "delivery.count": "5"}
    rejected = where | {"message": "Offset rejected by client."}
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
        own = [("trace", b"t")]
        producer.send("orders", b"first", b"k", headers=own, partition=1, timestamp=5000)
        producer.flush()
        for offset, value in (("0", None), ("1", b"copied"), ("9", None)):
            headers = _prefixed("__dlq.errors.", rejected | {"offset": offset})
            producer.send(DEAD, value, value and b"k", headers=headers, partition=0)
            producer.flush()
    return mock_cluster


def test_brokers_letters_are_listed(brokers_letters: MockCluster) -> None:
    """Kafka 4.4 has them; they were of nobody, without an origin."""
    (group,) = json.loads(command(brokers_letters, "list", DEAD, "--json", "--records").text)
    assert (group["origin"], group["group_id"]) == ("orders", "workers")
    assert (group["reason"], group["count"]) == ("Offset rejected by client.", 3)
    places = [(each["origin_partition"], each["origin_offset"]) for each in group["letters"]]
    assert places == [(1, 0), (1, 1), (1, 9)]


def test_a_letter_without_its_record_is_not_replayed_as_an_empty_one(
    brokers_letters: MockCluster,
) -> None:
    """The record is read from where it was, with its headers; one that is gone is an error."""
    done = command(brokers_letters, "replay", DEAD, "--yes")
    assert (done.code, done.text) == (1, "replayed 2 letters to topic orders\n")
    assert f"the letter of {DEAD}-0 at offset 2 was not replayed: " in done.err
    _, first, second = written(brokers_letters.bootstrap, "orders")
    assert (first.key, first.value, first.timestamp) == (b"k", b"first", 5000)
    assert first.headers[0] == ("trace", b"t")
    assert (second.key, second.value) == (b"k", b"copied")
    assert all(each.partition == 1 for each in (first, second))

"""The clients of Kafka's system tests: ours alone, and mixed with Java's."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import ottla
from tests.cluster.conftest import Brokers
from tests.support.arrow import read_rows
from tests.support.command import ottla as command
from tests.support.committed import committed_rows
from tests.support.group_offsets import group_offsets
from tests.support.jars import REPOSITORY
from tests.support.kafka_cluster import KafkaCluster

TOPIC_FACTORY = Callable[..., str]
JAVA = "org.apache.kafka.tools"
Event = dict[str, Any]
# The clients and machines of CI are slow at times.
TIMEOUT = 150.0
# Enough for three copiers, one after the other.
RECORDS = 1500


def events_of(text: str) -> list[Event]:
    return [json.loads(line) for line in text.splitlines()]


def named(events: Sequence[Event], name: str) -> list[Event]:
    return [event for event in events if event.get("name") == name]


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start one of our clients."""
    return subprocess.Popen(
        [sys.executable, "-m", "ottla", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that the test started; none of them outlives it."""
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        process.kill()
        process.communicate()


def lines_until(process: subprocess.Popen[str], done: Callable[[Event], bool]) -> list[Event]:
    """Read a client's events up to the first one that is asked for."""
    assert process.stdout is not None
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if done(events[-1]):
            return events
    raise AssertionError(f"the client ended: {events}")


def committed(brokers: Brokers | KafkaCluster, topic: str, *, all_ended: bool = True) -> list[int]:
    rows = committed_rows(brokers.bootstrap, topic, all_ended=all_ended)
    return [int(row["value"]) for row in rows]


def fill(brokers: Brokers | KafkaCluster, topic: str, count: int, partitions: int) -> None:
    with ottla.Producer(brokers.bootstrap) as producer:
        numbers = range(count)
        producer.send_batch(
            topic, [b"%d" % n for n in numbers], partitions=[n % partitions for n in numbers]
        )


def test_the_producer_reports_each_record(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=2)
    options = ("--max-messages", "50", "--value-prefix", "7", "--repeating-keys", "3")
    done = command(
        "verifiable-producer", "--bootstrap-server", brokers.bootstrap, "--topic", topic, *options
    )
    assert (done.code, done.err) == (0, "")
    events = events_of(done.text)
    assert [event["name"] for event in events[:1] + events[-2:]] == [
        "startup_complete",
        "shutdown_complete",
        "tool_data",
    ]
    sent = named(events, "producer_send_success")
    assert sorted(int(event["value"].removeprefix("7.")) for event in sent) == [*range(50)]
    assert {event["key"] for event in sent} == {"0", "1", "2"}
    rows = read_rows(ottla.scan(topic, brokers.bootstrap))
    placed = {(row["partition"], row["offset"]): row["value"].decode() for row in rows}
    assert placed == {(event["partition"], event["offset"]): event["value"] for event in sent}
    [data] = named(events, "tool_data")
    assert (data["sent"], data["acked"], data["target_throughput"]) == (50, 50, -1)


def test_the_producer_keeps_a_rate_until_it_is_stopped(
    brokers: Brokers, processes: list[subprocess.Popen[str]]
) -> None:
    topic = brokers.create_topic()
    process = started(
        *("verifiable-producer", "--bootstrap-server", brokers.bootstrap, "--topic", topic),
        *("--throughput", "100", "--message-create-time", "1000"),
    )
    processes.append(process)
    began = time.monotonic()
    lines_until(process, lambda event: event.get("value") == "150")
    assert time.monotonic() - began > 1.0
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=TIMEOUT)
    events = events_of(rest)
    assert process.returncode == 0
    assert [event["name"] for event in events[-2:]] == ["shutdown_complete", "tool_data"]
    assert events[-1]["sent"] == events[-1]["acked"] >= 151
    times = [row["timestamp"] for row in read_rows(ottla.scan(topic, brokers.bootstrap))]
    assert times == sorted(times)


def test_the_consumer_reports_and_commits(brokers: Brokers) -> None:
    topic, group = brokers.create_topic(partitions=2), f"group-{uuid.uuid4().hex[:8]}"
    fill(brokers, topic, 100, 2)
    for protocol, start in (("classic", 0), ("consumer", 60)):
        done = command(
            *("verifiable-consumer", "--bootstrap-server", brokers.bootstrap, "--topic", topic),
            *("--group-id", group, "--group-protocol", protocol, "--verbose"),
            *("--max-messages", "60" if start == 0 else "40"),
        )
        assert (done.code, done.err) == (0, "")
        events = events_of(done.text)
        assert events[0]["name"] == "startup_complete"
        assert [event["name"] for event in events[-2:]] == [
            "shutdown_complete",
            "shutdown_requested",
        ]
        both = [{"topic": topic, "partition": 0}, {"topic": topic, "partition": 1}]
        assert [event["partitions"] for event in named(events, "partitions_assigned")][-1] == both
        assert len(named(events, "record_data")) == (60 if start == 0 else 40)
        summaries = [
            summary
            for event in named(events, "records_consumed")
            for summary in event["partitions"]
        ]
        assert sum(summary["count"] for summary in summaries) == (60 if start == 0 else 40)
        assert all(event["success"] for event in named(events, "offsets_committed"))
    with ottla.Admin(brokers.bootstrap) as admin:
        assert group_offsets(admin, group) == {(topic, 0): 50, (topic, 1): 50}


def test_the_copier_copies_each_record_once_with_random_aborts(brokers: Brokers) -> None:
    source, target = brokers.create_topic(partitions=2), brokers.create_topic(partitions=2)
    fill(brokers, source, 400, 2)
    common = (
        *("--broker-list", brokers.bootstrap, "--input-topic", source, "--output-topic", target),
        *("--transaction-size", "20", "--enable-random-aborts", "--use-group-metadata"),
    )
    group = f"group-{uuid.uuid4().hex[:8]}"
    one = ("--input-partition", "0", "--transactional-id", f"{group}-0", "--consumer-group", group)
    done = command("transactional-copier", *common, *one)
    assert (done.code, done.err) == (0, "")
    events = events_of(done.text)
    assert events[0]["stage"] == "ProcessLoop"
    assert events[-1]["shutdown_complete"] == f"{group}-0"
    assert (events[-1]["totalProcessed"], events[-1]["remaining"]) == (200, 0)
    assert committed(brokers, target) == [*range(0, 400, 2)]
    done = command("transactional-copier", *common, *one, "--group-mode")
    assert done.code == 0
    assert next(event["stage"] for event in events_of(done.text)[:-1]) in {
        "ProcessLoop",
        "RebalanceComplete",
    }
    assert sorted(committed(brokers, target)) == [*range(400)]


@pytest.mark.parametrize("arguments", [[], ["--topic", "t", "--acks", "many"]])
def test_wrong_arguments(arguments: list[str]) -> None:
    done = command("verifiable-producer", "--bootstrap-server", "127.0.0.1:1", *arguments)
    assert done.code == 2
    assert done.text == ""
    assert "--topic" in done.err or "acks" in done.err


def shape(events: Sequence[Event]) -> dict[str, set[str]]:
    """Return the fields of each kind of event."""
    return {event["name"]: set(event) for event in events}


@pytest.mark.cluster
def test_events_have_the_fields_of_javas(kafka: KafkaCluster, kafka_topic: TOPIC_FACTORY) -> None:
    topic = kafka_topic()
    common = ("--bootstrap-server", kafka.bootstrap, "--topic", topic, "--max-messages", "20")
    java = events_of(kafka.run_tool(f"{JAVA}.VerifiableProducer", *common))
    ours = events_of(command("verifiable-producer", *common).text)
    assert shape(ours) == shape(java)
    group = ("--verbose", "--group-id")
    java = events_of(kafka.run_tool(f"{JAVA}.VerifiableConsumer", *common, *group, "java"))
    ours = events_of(command("verifiable-consumer", *common, *group, "ours").text)
    assert shape(ours) == shape(java)


# 300 transactions of Java's take most of a minute, and who is fenced when depends on the machine.
@pytest.mark.deep
@pytest.mark.cluster
@pytest.mark.parametrize("level", [0, 2])
def test_copiers_of_both_ends_fence_each_other(
    kafka: KafkaCluster,
    kafka_topic: TOPIC_FACTORY,
    processes: list[subprocess.Popen[str]],
    level: int,
) -> None:
    kafka.set_transaction_version(level)
    source, target = kafka_topic(), kafka_topic()
    fill(kafka, source, RECORDS, 1)
    name = f"copier-{uuid.uuid4().hex[:8]}"
    arguments = (
        *("--broker-list", kafka.bootstrap, "--input-topic", source, "--output-topic", target),
        *("--input-partition", "0", "--transactional-id", name, "--consumer-group", name),
        *("--transaction-size", "5", "--use-group-metadata"),
    )
    java = kafka.start_tool(f"{JAVA}.TransactionalMessageCopier", *arguments)
    processes.append(java)
    lines_until(java, lambda event: event["totalProcessed"] > 0)
    ours = started("transactional-copier", *arguments)
    processes.append(ours)
    # A commit shows that it has taken over.
    lines_until(ours, lambda event: event["totalProcessed"] > 0)
    java.communicate(timeout=TIMEOUT)
    assert java.returncode != 0, "Java's copier was not fenced"
    numbers = committed(kafka, target, all_ended=False)
    assert numbers == [*range(len(numbers))]
    last = kafka.start_tool(f"{JAVA}.TransactionalMessageCopier", *arguments)
    processes.append(last)
    lines_until(last, lambda event: event["totalProcessed"] > 0)
    _, message = ours.communicate(timeout=TIMEOUT)
    assert ours.returncode == 1
    assert "a newer producer with " in message
    assert "has taken over" in message
    last.communicate(timeout=TIMEOUT)
    assert last.returncode == 0
    # Java's reads its offset before it fences, so that commits of ours may come between.
    numbers = committed(kafka, target)
    assert sorted(set(numbers)) == [*range(RECORDS)]
    steps = [after - before for before, after in itertools.pairwise(numbers)]
    assert len([step for step in steps if step != 1]) <= 1, "copied twice at another place"

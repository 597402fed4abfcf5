"""``ottla topics``, ``configs``, ``offsets`` and ``brokers``: on the mock and on Kafka."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable

import pytest

import ottla
from tests.cluster.conftest import Brokers
from tests.support.command import CommandResult, ottla_here
from tests.support.command_schemas import check_if_json, check_result
from tests.support.kafka_admin import wait_until
from tests.support.kafka_releases import ZOOKEEPER_RELEASES


def new_name() -> str:
    return f"cli-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def topic(brokers: Brokers) -> str:
    """A topic with 10 records in partition 0, and none in partition 1."""
    name = brokers.create_topic(partitions=2)
    with ottla.Producer(brokers.bootstrap) as producer:
        for number in range(10):
            producer.send(name, str(number), partition=0, timestamp=1_700_000_000_000 + number)
    return name


def run(brokers: Brokers, *arguments: str) -> CommandResult:
    done = ottla_here(*arguments, "-b", brokers.bootstrap)
    check_if_json(arguments, done)
    return done


def run_well(brokers: Brokers, *arguments: str) -> str:
    done = run(brokers, *arguments)
    assert (done.code, done.err) == (0, "")
    return done.text


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def names(brokers: Brokers) -> set[str]:
    listed = json.loads(run_well(brokers, "topics", "list", "--json"))
    return {each["name"] for each in listed}


def test_topics_are_created_listed_described_and_deleted(brokers: Brokers) -> None:
    first, second = new_name(), new_name()
    options = ("-p", "3", "-r", "2", "-c", "retention.ms=3600000")
    planned = run_well(brokers, "topics", "create", first, *options, "--dry-run")
    assert planned == f"create topic {first}: 3 partitions, 2 replicas\n"
    assert first not in names(brokers)
    created = run_well(brokers, "topics", "create", first, second, *options)
    assert created == f"created topic {first}\ncreated topic {second}\n"
    again = run(brokers, "topics", "create", first)
    assert again.code == 1
    assert again.err.startswith("ottla: ")
    assert first in again.err
    assert "TOPIC_ALREADY_EXISTS" in again.err
    assert run_well(brokers, "topics", "create", first, "--if-not-exists").startswith("exists:")

    def table() -> list[list[str]]:
        return lines(run_well(brokers, "topics", "list", "--match", f"^({first}|{second})$"))

    # Each command asks any broker, and a new topic reaches them one after the other.
    wait_until(
        lambda: ["2", "topics,", "6", "partitions"] in table(), lambda: "the topics are listed"
    )
    wait_until(lambda: [first, "3", "2"] in table(), lambda: "the topic is listed")

    described = run_well(brokers, "topics", "describe", first)
    assert described.startswith(f"{first}: 3 partitions, id ")
    assert "retention.ms=3600000" in described
    [plain] = json.loads(run_well(brokers, "topics", "describe", first, "--json"))
    assert plain["configs"]["retention.ms"] == "3600000"
    assert [(each["partition"], each["end"]) for each in plain["partitions"]] == [
        (0, 0),
        (1, 0),
        (2, 0),
    ]

    shown = run(brokers, "topics", "delete", first)
    assert (shown.code, shown.err) == (1, "ottla: nothing was changed; repeat with --yes\n")
    assert shown.text.startswith(f"delete topic {first}: 3 partitions\n")
    assert first in names(brokers)
    assert run_well(brokers, "topics", "delete", first, "--yes") == f"deleted topic {first}\n"
    [plain] = json.loads(run_well(brokers, "topics", "describe", second, "--json"))
    run_well(brokers, "topics", "delete", "--id", plain["topic_id"], "--yes")
    wait_until(lambda: not {first, second} & names(brokers), lambda: "the topics are gone")


def test_partitions_are_added(brokers: Brokers, topic: str) -> None:
    planned = run_well(brokers, "topics", "add-partitions", topic, "--total", "5", "--dry-run")
    assert planned == f"alter topic {topic}: partitions (2 -> 5)\n"
    run_well(brokers, "topics", "add-partitions", topic, "--total", "5")
    wait_until(
        lambda: "partition 4" not in run(brokers, "offsets", f"{topic}:4").err,
        lambda: "the topic has 5 partitions",
    )
    done = run(brokers, "topics", "add-partitions", topic, "--total", "3")
    assert (done.code, done.out) == (1, b"")
    assert "INVALID_PARTITIONS" in done.err


def test_offsets_and_deleted_records(brokers: Brokers, topic: str) -> None:
    table = lines(run_well(brokers, "offsets", topic, "--at", "1700000000004"))
    # A number is an offset; times are written as times.
    assert [f"{topic}-0", "0", "10", "10", "1700000000004"] in table
    at = "2023-11-14T22:13:20.004Z"
    found = json.loads(run_well(brokers, "offsets", topic, "--at", at, "--json"))
    assert [each["at"] for each in found] == [4, 0]
    assert [each["end"] for each in found] == [10, 0]

    before = ("topics", "delete-records", topic, "--before", at)
    shown = run(brokers, *before)
    assert (shown.code, shown.text) == (1, f"delete records of {topic}-0: at most 4 (0 -> 4)\n")
    assert run_well(brokers, *before, "--yes") == f"deleted records: {topic}-0 before 4\n"
    found = json.loads(run_well(brokers, "offsets", f"{topic}:0", "--json"))
    assert [each["earliest"] for each in found] == [4]
    assert run_well(brokers, *before, "--yes") == "nothing to change\n"
    done = run(brokers, "topics", "delete-records", f"{topic}:0", "--before", "99", "--yes")
    assert (done.code, done.out) == (1, b"")
    assert "OFFSET_OUT_OF_RANGE" in done.err
    done = run(brokers, "offsets", f"{topic}:7")
    assert (done.code, done.out) == (1, b"")
    assert f"partition 7 of topic {topic} does not exist: the topic has 2 partitions" in done.err


def test_brokers_with_their_disks(brokers: Brokers, topic: str) -> None:
    text = run_well(brokers, "brokers")
    assert re.search(r"^3 brokers, \d+( to \d+)? leaders? each", text, re.MULTILINE)
    loads = json.loads(run_well(brokers, "brokers", "--json"))
    assert [each["rack"] for each in loads] == ["rack-a", "rack-b", "rack-c"]
    assert sum(each["leader_count"] for each in loads) >= 2
    for each in loads:
        log_dirs = each["log_dirs"]
        assert all(log_dir["path"] in text for log_dir in log_dirs)
        replicas = [replica for log_dir in log_dirs for replica in log_dir["partitions"]]
        assert topic in {replica["topic"] for replica in replicas}


def test_results_and_errors_as_json(brokers: Brokers, topic: str) -> None:
    new = new_name()
    done = run(brokers, "topics", "create", new, topic, "--json")
    document, [error] = check_result("topics create", done, 1)
    assert [each["outcome"] for each in document["results"]] == ["done", "failed"]
    assert document["results"][1]["failure"] == error
    assert (error["name"], error["code"]) == ("TOPIC_ALREADY_EXISTS", 36)
    assert error["item"] == {"topic": topic}
    planned, [hint] = check_result(
        "topics delete", run(brokers, "topics", "delete", new, "--json"), 1
    )
    assert (planned["applied"], hint["name"]) == (False, "NotConfirmed")
    done = run(brokers, "topics", "delete", new, "--yes", "--json")
    deleted, _ = check_result("topics delete", done, 0)
    assert deleted["results"] == [{"item": {"topic": new}, "outcome": "done", "failure": None}]


def everywhere(condition: Callable[[], bool]) -> Callable[[], bool]:
    """Return whether a condition holds often: a command asks any broker, and they learn in turn."""
    return lambda: all(condition() for _ in range(6))


def test_configs(brokers: Brokers, topic: str) -> None:
    where = ("topic", topic)
    planned = run_well(brokers, "configs", "set", *where, "max.message.bytes=1000", "--dry-run")
    assert planned.startswith(f"alter topic {topic}: max.message.bytes (")
    assert "max.message.bytes" not in run_well(brokers, "configs", "describe", *where)
    run_well(brokers, "configs", "set", *where, "max.message.bytes=1000", "cleanup.policy+=compact")

    def described(*key: str) -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads(
            run_well(brokers, "configs", "describe", *where, *key, "--json")
        )
        return found

    wait_until(
        everywhere(
            lambda: {"max.message.bytes", "cleanup.policy"} <= {e["name"] for e in described()}
        ),
        lambda: "all brokers know the change",
    )
    shown = run_well(brokers, "configs", "describe", *where)
    assert ["max.message.bytes", "1000", "dynamic", "topic"] in lines(shown)
    assert ["cleanup.policy", "delete,compact", "dynamic", "topic"] in lines(shown)
    run_well(brokers, "configs", "unset", *where, "max.message.bytes")
    run_well(brokers, "configs", "set", *where, "cleanup.policy-=compact")
    wait_until(
        everywhere(lambda: described("max.message.bytes")[0]["source"] == "DEFAULT_CONFIG"),
        lambda: "all brokers know the change",
    )
    wait_until(
        everywhere(lambda: described("cleanup.policy")[0]["value"] == "delete"),
        lambda: "all brokers know the change",
    )
    everything = run_well(brokers, "configs", "describe", *where, "--all")
    assert ["cleanup.policy", "delete", "dynamic", "topic"] in lines(everything)
    assert len(everything.splitlines()) > 20
    of_all = ("broker", "default")
    run_well(brokers, "configs", "set", *of_all, "log.cleaner.backoff.ms=15001")
    wait_until(
        lambda: "15001" in run_well(brokers, "configs", "describe", *of_all),
        lambda: "all brokers know the change",
    )
    # A broker that does not know the key yet refuses to unset it, and each call may ask another.
    wait_until(
        lambda: run(brokers, "configs", "unset", *of_all, "log.cleaner.backoff.ms").code == 0,
        lambda: "the broker knows the change",
    )
    for arguments, message in (
        (("set", *where, "retention.ms=soon"), "retention.ms"),
        (("set", *where, "no.such.key=1"), "no.such.key"),
        (("describe", *where, "no.such.key"), "no.such.key"),
        (("describe", "topic", "no-such-topic"), "no-such-topic"),
        (("set", "broker", "first", "x=1"), "expected the id of a broker"),
    ):
        done = run(brokers, "configs", *arguments)
        assert done.code in {1, 2}
        assert message in done.err


def test_replicas_are_reassigned_and_leaders_elected(brokers: Brokers, topic: str) -> None:
    def replicas() -> list[list[int]]:
        [plain] = json.loads(run_well(brokers, "topics", "describe", topic, "--json"))
        return [each["replicas"] for each in plain["partitions"]]

    reassign = ("topics", "reassign", topic)
    shown = run(brokers, *reassign, "--to", "2,3", "-r", "2")
    assert (shown.code, len(shown.text.splitlines())) == (1, 2)
    assert len(replicas()[0]) == 3
    done = run(brokers, *reassign, "--to", "2,3", "-r", "2", "--yes", "--wait")
    assert (done.code, done.text) == (0, f"reassigned {topic}-0\nreassigned {topic}-1\n")
    wait_until(lambda: replicas() == [[2, 3], [3, 2]], lambda: "the replicas are moved")
    assert json.loads(run_well(brokers, "topics", "reassignments", "--json")) == []
    assert run_well(brokers, "topics", "reassignments").endswith("0 reassignments\n")

    def elect(*arguments: str) -> str:
        return run_well(brokers, "topics", "elect-leaders", topic, *arguments)

    def preferred_lead() -> bool:
        return elect("--dry-run") == "nothing to change\n"

    elect()
    wait_until(preferred_lead, lambda: "the preferred replicas lead")
    run(brokers, *reassign, "--to", "3,2", "--yes", "--wait")
    wait_until(lambda: replicas() == [[3, 2], [2, 3]], lambda: "the order is changed")
    wait_until(everywhere(lambda: not preferred_lead()), lambda: "all know the order")
    planned = elect("--dry-run")
    assert [line.split(" (")[0] for line in planned.splitlines()] == [
        f"elect partition {topic}-0",
        f"elect partition {topic}-1",
    ]
    elected = f"elected the leader of {topic}-0\nelected the leader of {topic}-1\n"
    assert elect() == elected
    wait_until(preferred_lead, lambda: "the preferred replicas lead")
    for arguments, message in (
        (("--to", "1,1"), "names a broker twice"),
        (("--to", "one"), "expected ids"),
        (("--to", "1"), "would have 2 replicas, but --to names 1"),
    ):
        done = run(brokers, *reassign, *arguments)
        assert (done.code, done.out) == (2, b"")
        assert message in done.err
    done = run(brokers, *reassign, "--to", "1,99", "--yes")
    assert (done.code, done.out) == (1, b"")
    done = run(brokers, *reassign, "--cancel", "--yes")
    assert (done.code, done.out) == (1, b"")
    assert "NO_REASSIGNMENT_IN_PROGRESS" in done.err


def test_configurations_are_compared(brokers: Brokers, topic: str) -> None:
    other = brokers.create_topic(partitions=1)
    diff = ("configs", "diff")
    assert run(brokers, *diff, "topic", topic, other).text == "nothing differs\n"
    done = run(brokers, *diff, "topic", topic, other)
    assert (done.code, done.err) == (0, "")
    settings = ("retention.ms=86400000", "max.message.bytes=1000")
    run_well(brokers, "configs", "set", "topic", topic, *settings)
    wait_until(
        everywhere(lambda: run(brokers, *diff, "topic", topic, other).code == 1),
        lambda: "all brokers know the change",
    )
    done = run(brokers, *diff, "topic", topic, other)
    assert (done.code, done.err) == (1, "")
    header, *rows, total = lines(done.text)
    assert header == ["key", "topic", topic, "topic", other]
    assert [row[:2] for row in rows] == [
        ["max.message.bytes", "1000"],
        ["retention.ms", "86400000"],
    ]
    assert total == ["2", "keys", "differ"]
    done = run(brokers, *diff, "topic", topic, other, "--ignore", "retention.ms", "--json")
    assert done.code == 1
    found = json.loads(done.text)
    assert found["resources"] == [{"type": "topic", "name": name} for name in (topic, other)]
    assert [each["name"] for each in found["differences"]] == ["max.message.bytes"]
    assert found["not_compared"] == ["retention.ms"]
    done = run(brokers, *diff, "topic", topic)
    assert done.code == 1
    assert "dynamic topic" in done.text
    # Only what every broker has for itself differs.
    done = run(brokers, *diff, "broker", "--ignore", "log.dirs", "--ignore", "log.dir", "--json")
    found = json.loads(done.text)
    assert [each["name"] for each in found["resources"]] == ["1", "2", "3"]
    assert {each["name"] for each in found["differences"]} <= {"metadata.log.dir"}
    own_id = "broker.id" if brokers.release in ZOOKEEPER_RELEASES else "node.id"
    assert own_id in found["not_compared"]
    done = run(brokers, *diff, "broker", "1", "2", "--all")
    assert done.code == 1
    assert own_id in done.text
    # As diff, it ends with another code if it does not know.
    done = run(brokers, *diff, "topic", topic, new_name())
    assert (done.code, done.out) == (2, b"")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in done.err
    assert run(brokers, *diff, "topic").code == 2

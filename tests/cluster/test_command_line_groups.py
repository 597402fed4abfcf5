"""``ottla groups``: on the mock and on Kafka."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import pytest

import ottla
from tests.cluster.conftest import Brokers
from tests.cluster.test_command_line_topics import lines, run, run_well
from tests.support.kafka_admin import wait_until


def new_group() -> str:
    return f"cli-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def topic(brokers: Brokers) -> str:
    """A topic of two partitions with 10 records each, an hour apart."""
    name = brokers.create_topic(partitions=2)
    start = int(time.time() * 1000) - 10 * 3_600_000
    with ottla.Producer(brokers.bootstrap) as producer:
        for number in range(10):
            for partition in range(2):
                at = start + number * 3_600_000
                producer.send(name, str(number), partition=partition, timestamp=at)
    return name


def committed(brokers: Brokers, group: str) -> list[int]:
    [found] = json.loads(run_well(brokers, "groups", "offsets", group, "--json"))
    return [each["offset"] for each in found["offsets"]]


def test_offsets_are_reset_by_every_kind_of_target(
    brokers: Brokers, topic: str, tmp_path: Path
) -> None:
    group = new_group()
    reset = ("groups", "reset", group)
    shown = run(brokers, *reset, "--to", "4", "-t", topic)
    assert (shown.code, shown.err) == (1, "ottla: nothing was changed; repeat with --yes\n")
    assert shown.text == (
        f"reset group {group}: {topic}-0 (none -> 4)\nreset group {group}: {topic}-1 (none -> 4)\n"
    )
    # Nothing was committed, so there is no such group.
    assert run(brokers, "groups", "offsets", group).code == 1
    run_well(brokers, *reset, "--to", "4", "-t", topic, "--yes")
    assert committed(brokers, group) == [4, 4]
    file = tmp_path / "offsets.json"
    file.write_text(run_well(brokers, "groups", "offsets", group, "--json"))
    for target, expected in (
        ("earliest", [0, 0]),
        ("latest", [10, 10]),
        ("-3", [7, 7]),
        ("+99", [10, 10]),
        ("270m", [6, 6]),
        ("2099-01-01T00:00:00Z", [10, 10]),
    ):
        run_well(brokers, *reset, f"--to={target}", "--yes")
        assert committed(brokers, group) == expected, target
    run_well(brokers, *reset, "--to", "2", "-t", f"{topic}:1", "--yes")
    assert committed(brokers, group) == [10, 2]
    shown = run(brokers, *reset, "--from-file", str(file))
    assert (shown.code, len(shown.text.splitlines())) == (1, 2)
    run_well(brokers, *reset, "--from-file", str(file), "--yes")
    assert committed(brokers, group) == [4, 4]
    assert run_well(brokers, *reset, "--from-file", str(file), "--yes") == "nothing to change\n"
    for arguments, message in (
        (("--to", "soon", "--yes"), "'soon' is not an offset"),
        (("--to", "earliest", "-t", f"{topic}:first", "--yes"), "names no partition"),
        (("--from-file", str(tmp_path / "none")), "none"),
    ):
        done = run(brokers, *reset, *arguments)
        assert (done.code, done.out) == (2, b"")
        assert message in done.err
    assert committed(brokers, group) == [4, 4]


def test_lag_of_all_groups_and_of_one(brokers: Brokers, topic: str) -> None:
    group = new_group()
    run_well(brokers, "groups", "reset", group, "--to", "4", "-t", topic, "--yes")
    table = lines(run_well(brokers, "groups", "lag"))
    assert [group, "Empty", "2", "12"] in table
    listed = json.loads(run_well(brokers, "groups", "lag", "--json"))
    assert {each["group_id"]: each["lag"] for each in listed}[group] == 12
    text = run_well(brokers, "groups", "lag", group)
    assert [f"{topic}-0", "4", "10", "6", "6", "h", "0", "min"] in [
        [*line[:7], "0", line[8]] if len(line) == 9 else line for line in lines(text)
    ]
    assert "lag 12 in 2 partitions; the oldest unread record is 6 h" in text
    before = time.monotonic()
    measured = ("groups", "lag", group, "--for", "1s", "--json")
    done = run(brokers, *measured)
    assert time.monotonic() - before >= 1
    [found] = json.loads(done.text)
    # Nobody has committed in this second, as in most seconds of a healthy group.
    unknown = {"read": None, "written": 0.0, "seconds_to_clear": None, "state": "unknown"}
    assert [each["trend"] for each in found["partitions"]] == [unknown] * 2
    assert found["trend"] == unknown
    done = run(brokers, "groups", "lag", "--for", "1s")
    assert done.code == 2
    done = run(brokers, "groups", "lag", new_group())
    assert (done.code, done.out) == (1, b"")
    assert "GROUP_ID_NOT_FOUND" in done.err


def test_members_are_described_and_removed(brokers: Brokers, topic: str) -> None:
    group = new_group()
    config = {"group.id": group, "client.id": "the-member", "auto.offset.reset": "earliest"}
    with ottla.Consumer(brokers.bootstrap, config, topics=[topic]) as consumer:
        wait_until(lambda: bool(consumer.poll(timeout=0.5)), lambda: "the member reads")
        text = run_well(brokers, "groups", "describe", group)
        assert text.startswith(f"{group}: Classic, Stable, range, coordinated by broker ")
        assert ["the-member", "127.0.0.1", topic, "0-1"] in lines(text)
        [plain] = json.loads(run_well(brokers, "groups", "describe", group, "--json"))
        [member] = plain["members"]
        assert member["assignment"] == [
            {"topic": topic, "partition": 0},
            {"topic": topic, "partition": 1},
        ]
        assert group in run_well(brokers, "groups", "list", "--state", "Stable")
        assert group not in run_well(brokers, "groups", "list", "--state", "Empty")

        done = run(brokers, "groups", "reset", group, "--to", "earliest", "-t", topic, "--yes")
        assert done.code == 1
        assert "active members" in done.err
        done = run(brokers, "groups", "delete", group, "--yes")
        assert (done.code, done.out) == (1, b"")
        assert "1 member" in done.err
        remove = ("groups", "remove-members", group)
        done = run(brokers, *remove, "--member", "nobody", "--yes")
        assert (done.code, done.out) == (1, b"")
        assert "UNKNOWN_MEMBER_ID" in done.err
        done = run(brokers, *remove, "--member", member["member_id"])
        assert (done.code, done.text.split()[:2]) == (1, ["remove", "member"])
        removed = run_well(brokers, *remove, "--member", member["member_id"], "--yes")
        assert removed == f"removed member {member['member_id']}\n"
    assert "no members" in run_well(brokers, "groups", "describe", group)


def test_groups_and_offsets_are_deleted(brokers: Brokers, topic: str) -> None:
    group = new_group()
    run_well(brokers, "groups", "reset", group, "--to", "4", "-t", topic, "--yes")
    delete = ("groups", "delete-offsets", group)
    shown = run(brokers, *delete, f"{topic}:1")
    assert (shown.code, shown.text) == (
        1,
        f"delete offset of group {group}: {topic}-1 (4 -> none)\n",
    )
    deleted = run_well(brokers, *delete, f"{topic}:1", "--yes")
    assert deleted == f"deleted the offset of {topic}-1\n"
    assert committed(brokers, group) == [4]
    done = run(brokers, *delete, "elsewhere", "--yes")
    assert (done.code, done.out) == (2, b"")
    shown = run(brokers, "groups", "delete", group)
    assert (shown.code, shown.text) == (1, f"delete group {group}: Empty\n")
    assert run_well(brokers, "groups", "delete", group, "--yes") == f"deleted group {group}\n"
    assert group not in run_well(brokers, "groups", "list")
    done = run(brokers, "groups", "delete", group, "--yes")
    assert (done.code, done.out) == (1, b"")
    assert "GROUP_ID_NOT_FOUND" in done.err


def test_consuming_as_a_member(brokers: Brokers, topic: str) -> None:
    group = new_group()
    consume = ("consume", "-t", topic, "-G", group)
    first = run_well(brokers, *consume, "-c", "7").split()
    assert len(first) == 7
    rest = run_well(brokers, *consume, "-e").split()
    assert sorted(first + rest) == sorted(str(number) for number in range(10) for _ in range(2))
    assert committed(brokers, group) == [10, 10]
    assert run_well(brokers, *consume, "-e") == ""
    run_well(brokers, "groups", "reset", group, "--to", "9", "-t", topic, "--yes")
    assert run_well(brokers, *consume, "-e", "--value", "8") == ""
    assert committed(brokers, group) == [10, 10]
    for arguments in (("-p", "0"), ("--last", "2"), ("-o", "5")):
        assert run(brokers, *consume, *arguments).code == 2

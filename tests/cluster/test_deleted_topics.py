"""A topic that is deleted while a group reads it delays no member, poll or commit."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import ottla
from ottla import errors
from tests.cluster.conftest import Brokers
from tests.support.consumers import KINDS, TIMEOUT

PROTOCOLS: dict[str, dict[str, Any]] = {
    "range": {"partition_assignment_strategy": "range"},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky"},
    "consumer": {"group_protocol": "consumer"},
}
MEMBERS = 3
# Seconds of a poll of the members, and the longest that a member may wait beyond it.
POLL = 0.3
LONGEST_WAIT = 1.0


class PauseMeter(threading.Thread):
    """Measures the longest pause of the machine, which delays everything."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        """Measure until `ended` is set."""
        while not self.ended.is_set():
            began = time.monotonic()
            time.sleep(0.02)
            self.longest = max(self.longest, time.monotonic() - began - 0.02)


class Member(threading.Thread):
    """Polls until `ended` is set, and measures its polls."""

    def __init__(self, brokers: Brokers, pattern: str, group: str, **config: Any) -> None:
        super().__init__(daemon=True)
        self.consumer: ottla.Consumer[Any, Any] = ottla.Consumer(
            brokers.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            metadata_max_age_ms=1000,
            # Automatic commits happen when partitions are given up, and on close.
            auto_commit_interval_ms=3_600_000,
            **config,
        )
        self.consumer.subscribe(pattern=re.compile(pattern))
        self.ended = threading.Event()
        self.longest_poll = 0.0
        self.close_time = 0.0
        self.counts: dict[str, int] = {}
        self.errors: list[Exception] = []

    def run(self) -> None:
        """Poll until `ended` is set, then close."""
        try:
            while not self.ended.is_set():
                began = time.monotonic()
                for record in self.consumer.poll(timeout=POLL):
                    self.counts[record.topic] = self.counts.get(record.topic, 0) + 1
                self.longest_poll = max(self.longest_poll, time.monotonic() - began)
            began = time.monotonic()
            self.consumer.close(timeout=30)
            self.close_time = time.monotonic() - began
        except Exception as error:  # noqa: BLE001 - the test raises it
            self.errors.append(error)


def until(condition: Callable[[], bool], seconds: float = TIMEOUT) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.05)


def fill(brokers: Brokers, topic: str, count: int = 10) -> None:
    with ottla.Producer(brokers.bootstrap) as producer:
        for partition in range(3):
            for _ in range(count):
                producer.send(topic, b"v", partition=partition)


@pytest.mark.deep
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_deleted_topic_stalls_no_member(brokers: Brokers, protocol: str) -> None:
    """Regression: polls waited for a minute, and with range all members read nothing."""
    gone, stays = brokers.create_topic(3), brokers.create_topic(3)
    group = f"group-{stays}"
    fill(brokers, gone)
    fill(brokers, stays)
    pattern = f"{gone}|{stays}"
    members = [Member(brokers, pattern, group, **PROTOCOLS[protocol]) for _ in range(MEMBERS)]
    for member in members:
        member.start()

    def read(topic: str) -> int:
        return sum(member.counts.get(topic, 0) for member in members)

    with ottla.Admin(brokers.bootstrap) as admin:
        until(lambda: read(gone) >= 30 and read(stays) >= 30)
        until(lambda: all(len(member.consumer.assignment()) == 2 for member in members))
        pauses = PauseMeter()
        pauses.start()
        for member in members:
            member.longest_poll = 0.0
        admin.delete_topics([gone])
        # The group gives up the topic; records of the other one are read all the time.
        until(lambda: all(len(member.consumer.assignment()) == 1 for member in members))
        before = read(stays)
        fill(brokers, stays)
        until(lambda: read(stays) >= before + 30)
        for member in members:
            member.ended.set()
        for member in members:
            member.join(60)
        pauses.ended.set()
        assert not any(member.errors for member in members), [m.errors for m in members]
        allowed = LONGEST_WAIT + pauses.longest
        polls = [round(member.longest_poll, 2) for member in members]
        closes = [round(member.close_time, 2) for member in members]
        assert max(polls) < POLL + allowed, (polls, pauses.longest)
        assert max(closes) < allowed, (closes, pauses.longest)
        committed = admin.list_group_offsets([group])[group]
        found = {
            partition: offset for partition, offset in committed.items() if partition[0] == stays
        }
        assert len(found) == 3, committed


def test_commits_of_a_deleted_topic(brokers: Brokers, kind: Any) -> None:
    """Offsets of a deleted topic fail at once, and those of the other topic are committed."""
    gone, stays = brokers.create_topic(1), brokers.create_topic(1)
    with (
        ottla.Admin(brokers.bootstrap) as admin,
        kind(brokers.bootstrap, group_id=f"group-{stays}", enable_auto_commit=False) as consumer,
    ):
        consumer.assign([(gone, 0), (stays, 0)])
        assert consumer.position(gone, 0) == consumer.position(stays, 0) == 0
        admin.delete_topics([gone])

        until(lambda: all(topic.name != gone for topic in admin.list_topics()))
        began = time.monotonic()
        with pytest.raises(errors.UnknownTopicError, match=gone) as raised:
            consumer.commit({(gone, 0): 5, (stays, 0): 7})
        assert "deleted" in str(raised.value)
        # Without a limit of its own it would take a minute.
        assert time.monotonic() - began < 30
        assert consumer.committed((stays, 0))[stays, 0].offset == 7
        with suppress(errors.UnknownTopicError):
            consumer.commit()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]

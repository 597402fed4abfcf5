"""Listings of 10,000 topics and 2,000 groups: their time and memory. A deep test: it measures."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

import ottla
from ottla.admin import NewTopic
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

TOPICS, GROUPS, BATCH = 10_000, 2_000, 500
# Seconds beyond those of the brokers, and MiB of memory.
MAX_SECONDS, MAX_MEMORY = 2.0, 256


@pytest.fixture(scope="module")
def large_kafka() -> Iterator[KafkaCluster]:
    """Provide brokers with many topics, and groups that are behind in two of them."""
    with KafkaCluster() as kafka, ottla.Admin(kafka.bootstrap) as admin:
        for first in range(0, TOPICS, BATCH):
            names = [f"many-{number}" for number in range(first, first + BATCH)]
            admin.create_topics([NewTopic(name, 1, 1) for name in names], timeout=300)
        with ottla.Producer(kafka.bootstrap) as producer:
            for number in range(GROUPS + 1):
                producer.send(f"many-{number}", b"a record")
        for number in range(GROUPS):
            places = [(f"many-{number}", 0), (f"many-{number + 1}", 0)]
            admin.alter_group_offsets(f"group-{number}", dict.fromkeys(places, 0))
        yield kafka


# The peak of a new process includes the memory of the one that started it: a small one does.
MEASURED = """
import os, sys
program, output = sys.argv[1:3]
to_file = [(os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
child = os.posix_spawn(program, [program, *sys.argv[3:]], os.environ, file_actions=to_file)
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(kafka: KafkaCluster, output: Path, *arguments: str) -> tuple[str, float, float]:
    """Run a command; return its output, its seconds, and its greatest memory in MiB."""
    started = time.monotonic()
    command = ["-m", "ottla", *arguments, "-b", kafka.bootstrap]
    measured = subprocess.run(
        [sys.executable, "-S", "-c", MEASURED, sys.executable, str(output), *command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds = time.monotonic() - started
    return output.read_text(), seconds, int(measured.stdout) / 1024


def seconds_of_brokers(kafka: KafkaCluster) -> float:
    """Return how long another client, which is connected, waits for all topics and groups."""
    client = AdminClient({"bootstrap.servers": kafka.bootstrap})
    client.list_topics(timeout=60)
    started = time.monotonic()
    client.list_topics(timeout=60)
    client.list_consumer_groups().result()
    return time.monotonic() - started


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (("topics", "list"), TOPICS),
        (("topics", "list", "--json"), TOPICS),
        (("topology",), TOPICS),
        (("groups", "list"), GROUPS),
        (("groups", "lag"), GROUPS),
        (("brokers",), 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_listings_take_little_time_and_memory(
    large_kafka: KafkaCluster, tmp_path: Path, arguments: tuple[str, ...], count: int
) -> None:
    allowed = MAX_SECONDS + seconds_of_brokers(large_kafka)
    text, seconds, memory = run(large_kafka, tmp_path / "output", *arguments)
    if "--json" in arguments:
        assert len(json.loads(text)) == count
    else:
        assert text.count("\n") > count
    assert seconds < allowed, f"{seconds:.1f} s"
    assert memory < MAX_MEMORY, f"{memory:.0f} MiB"


def test_all_groups_are_behind(large_kafka: KafkaCluster, tmp_path: Path) -> None:
    text, *_ = run(large_kafka, tmp_path / "output", "groups", "lag", "--json")
    lags = json.loads(text)
    assert [each["lag"] for each in lags] == [2] * GROUPS

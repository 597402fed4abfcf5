"""``ottla topics clone``, ``groups clone`` and ``topics top``: on the mock and on Kafka."""

from __future__ import annotations

import json
import threading
import uuid

import pytest

import ottla
from ottla.admin import ConfigResource
from tests.cluster.conftest import Brokers
from tests.cluster.test_command_line_topics import run, run_well


@pytest.mark.deep  # two seconds and more; tests/mock has the details
def test_a_topic_and_a_group_are_cloned(brokers: Brokers) -> None:
    source = brokers.create_topic(3, {"max.message.bytes": "2000000"})
    copy, group, copied_group = (f"copy-{uuid.uuid4().hex[:12]}" for _ in range(3))
    with ottla.Producer(brokers.bootstrap) as producer:
        for number in range(6):
            producer.send(source, str(number), partition=number % 3)
    clone = ("topics", "clone", source, copy)
    planned = run_well(brokers, *clone, "--dry-run")
    assert f"create topic {copy}: 3 partitions, 3 replicas\n" in planned
    with ottla.Admin(brokers.bootstrap) as admin:
        assert copy not in {each.name for each in admin.list_topics()}
        run_well(brokers, *clone)
        described = admin.describe_topics([copy])[copy]
        assert [len(each.replicas) for each in described.partitions] == [3] * 3
        resources = [ConfigResource("topic", name) for name in (source, copy)]
        of_source, of_copy = (
            {key: each.value for key, each in configs.items() if not each.is_default}
            for configs in admin.describe_configs(resources).values()
        )
        assert of_copy == of_source
        assert of_copy["max.message.bytes"] == "2000000"
        ends = admin.list_offsets({(copy, each): "latest" for each in range(3)})
        assert {each.offset for each in ends.values()} == {0}
        assert "TOPIC_ALREADY_EXISTS" in run(brokers, *clone).err

        admin.alter_group_offsets(group, {(source, 0): 1, (source, 2): 2})
        clone = ("groups", "clone", group, copied_group)
        assert len(run_well(brokers, *clone, "--dry-run").splitlines()) == 2
        run_well(brokers, *clone)
        offsets = admin.list_group_offsets([group, copied_group])
        assert offsets[copied_group] == offsets[group]
        # Another offset is replaced only with --yes.
        admin.alter_group_offsets(copied_group, {(source, 0): 0})
        assert run(brokers, *clone).code == 1
        run_well(brokers, *clone, "--yes")
        assert admin.list_group_offsets([copied_group])[copied_group] == offsets[group]


def test_the_topic_that_is_written_is_at_the_top(brokers: Brokers) -> None:
    written, idle = brokers.create_topic(2), brokers.create_topic()
    started, done = threading.Event(), threading.Event()

    def write() -> None:
        with ottla.Producer(brokers.bootstrap) as producer:
            while not done.wait(0.02):
                for partition in range(2):
                    producer.send(written, b"x" * 100, partition=partition).result(timeout=30)
                started.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert started.wait(30)
        top = ("topics", "top", written, idle, "--for", "500ms", "--json")
        found = json.loads(run_well(brokers, *top))
        by_broker = json.loads(run_well(brokers, *top, "--by", "broker"))
    finally:
        done.set()
        thread.join()
    first, second = found["rows"]
    assert (first["topic"], second["topic"]) == (written, idle)
    assert first["records_per_second"] > 0
    assert first["bytes_per_second"] > 100 * first["records_per_second"]
    assert second["records_per_second"] == second["bytes_per_second"] == 0
    assert sum(row["partition_count"] for row in by_broker["rows"]) == 3

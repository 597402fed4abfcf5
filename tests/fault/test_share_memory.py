"""The memory of a share consumer over a million records with explicit acknowledgement.

The measured consumer runs in its own process.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

import ottla
from ottla.admin import ConfigResource
from tests.fault.test_memory import MEASURE, MEGABYTE
from tests.support.child import run_child
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
RECORDS = 1_000_000
VALUE_BYTES = 200
FETCH_BYTES = 2 * MEGABYTE
BROKERS = 3
BATCH = 4_000
"""Records of a batch, which is below FETCH_BYTES."""

POLL = """
def read_one():
    records = consumer.poll(timeout=1)
    for record in records:
        consumer.acknowledge(record)
    return len(records)
"""
POLL_ARROW = """
import pyarrow
def read_one():
    batch = consumer.poll_arrow(timeout=1)
    if batch is None:
        return 0
    consumer.acknowledge_all()
    return pyarrow.record_batch(batch).num_rows
"""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("call", [POLL, POLL_ARROW], ids=["poll", "poll_arrow"])
def test_memory_is_bounded_by_a_fetch_of_each_leader(
    kafka: KafkaCluster, kafka_topic: TopicFactory, call: str
) -> None:
    topic, group = kafka_topic(6, 1), f"share-{uuid.uuid4().hex[:8]}"
    with ottla.Admin(kafka.bootstrap) as admin:
        configs = {"share.auto.offset.reset": "earliest"}
        admin.alter_configs({ConfigResource("group", group): configs})
    with ottla.Producer(kafka.bootstrap, batch_size=FETCH_BYTES) as producer:
        values = [bytes(VALUE_BYTES)] * BATCH
        for number in range(RECORDS // BATCH):
            producer.send_batch(topic, values, partitions=[number % 6] * BATCH)
        producer.flush(timeout=300)
    ended = run_child(
        MEASURE
        + f"""
consumer = ottla.ShareConsumer(
    {kafka.bootstrap!r},
    topics=[{topic!r}],
    group_id={group!r},
    share_acknowledgement_mode="explicit",
    fetch_max_bytes={FETCH_BYTES},
)
{call}
failed = []
consumer.set_acknowledgement_commit_callback(lambda error, _: error and failed.append(error))
count = polls = most = 0
before = None
while count < {RECORDS}:
    count += read_one()
    polls += 1
    # By then, code is loaded and connections are open.
    if before is None and count:
        before = resident()
    if polls % 20 == 0 and before:
        most = max(most, resident() - before)
consumer.close()
most = max(most, resident() - before)
say(count, most, len(failed))
""",
        timeout=800,
    )
    assert ended.code == 0, ended.output
    count, most, failed = map(int, ended.output.splitlines()[-1].split())
    assert (count, failed) == (RECORDS, 0)
    print(f"{most / MEGABYTE:.1f} MB more")
    # One fetch of each leader is buffered; one of them is decoded, and one is with the application.
    # The log has 200 MB.
    limit = (BROKERS + 2) * FETCH_BYTES + 24 * MEGABYTE
    assert most <= limit, f"{most / MEGABYTE:.1f} MB more, {limit / MEGABYTE:.0f} are allowed"
    with ottla.Admin(kafka.bootstrap) as admin:
        offsets = admin.list_share_group_offsets([group])[group]
    assert {each.lag for each in offsets.values()} == {0}

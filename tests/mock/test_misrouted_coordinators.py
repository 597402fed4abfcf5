"""A coordinator that was looked up while the cluster advertised a wrong address for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.waiting import wait_until

_TIMEOUT = 30.0


@contextmanager
def _moved_behind_another(cluster: MockCluster, key: str) -> Iterator[None]:
    """Move a coordinator to a broker whose address leads to another one, for a moment."""
    before = cluster.coordinator(key)
    assert before is not None
    after = 1 + before % 3
    own = cluster.brokers[after]
    cluster.advertise(after, cluster.brokers[before])
    cluster.move_coordinator(key, after)
    corrected = threading.Timer(0.5, cluster.advertise, (after, own))
    corrected.start()
    try:
        yield
    finally:
        corrected.join()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_finds_its_coordinator_again(
    mock_cluster: MockCluster, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    mock_cluster.create_topic("t", partitions=1)
    mock_cluster.append("t", 0, [b"1"])
    config = {"group.id": "g", "group.protocol": protocol, "auto.offset.reset": "earliest"}
    with ottla.Consumer(mock_cluster.bootstrap, config=config) as consumer:
        consumer.subscribe(["t"])
        wait_until(lambda: list(consumer.poll(timeout=0.2)))
        with caplog.at_level(logging.WARNING), _moved_behind_another(mock_cluster, "g"):
            consumer.commit(timeout=_TIMEOUT)
    assert mock_cluster.committed("g") == {("t", 0): 1}
    assert "rejects this member" not in caplog.text


def test_a_transaction_finds_its_coordinator_again(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=1)
    with ottla.Producer(mock_cluster.bootstrap, transactional_id="tx") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("t", value=b"1")
        producer.flush()
        with _moved_behind_another(mock_cluster, "tx"):
            producer.commit_transaction(timeout=_TIMEOUT)
    config = {"isolation.level": "read_committed"}
    with ottla.Client(mock_cluster.bootstrap, config=config) as client:
        [row] = pa.table(ottla.scan("t", client)).to_pylist()
    assert row["value"] == b"1"

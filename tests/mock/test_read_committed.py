"""``isolation.level=read_committed``: aborted records are not returned, reading waits for open
transactions, and the position moves past both."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.consumers import KINDS, TIMEOUT, read


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


@pytest.fixture
def log(mock_cluster: MockCluster, single: str) -> str:
    """A topic with one non-transactional record and two open transactions, at offsets 1 to 4."""
    mock_cluster.append(single, 0, [b"0"])
    mock_cluster.append_in_transaction(single, 0, 7, [b"1", b"2"])
    mock_cluster.append_in_transaction(single, 0, 8, [b"3", b"4"])
    mock_cluster.append(single, 0, [b"5"])
    return single


def columns(consumer: Any, count: int) -> list[int]:
    """Return the offsets of `count` records, read as columns."""
    offsets: list[int] = []
    deadline = time.monotonic() + TIMEOUT
    while len(offsets) < count:
        assert time.monotonic() < deadline, offsets
        batch = consumer.poll_arrow(timeout=0.5)
        if batch is not None:
            offsets += pa.record_batch(batch)["offset"].to_pylist()
    return offsets


@pytest.mark.parametrize("how", ["poll", "poll_arrow", "iterate"])
def test_aborted_records_are_not_returned(
    mock_cluster: MockCluster, kind: Any, log: str, how: str
) -> None:
    def take(count: int) -> list[int]:
        if how == "poll_arrow":
            return columns(consumer, count)
        records = read(consumer, count) if how == "poll" else [next(consumer) for _ in range(count)]
        return [record.offset for record in records]

    config = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
    with kind(mock_cluster.bootstrap, group_id="g", **config) as consumer:
        consumer.assign([(log, 0)])
        # Up to the first open transaction: the last stable offset, where this consumer's log ends.
        assert take(1) == [0]
        assert consumer.poll(timeout=0.2) == []
        assert consumer.end_offsets() == {(log, 0): 1}
        assert consumer.lag() == {(log, 0): 0}
        mock_cluster.end_transaction(log, 0, 7, commit=False)
        assert consumer.end_offsets() == {(log, 0): 3}
        mock_cluster.end_transaction(log, 0, 8, commit=True)
        assert take(3) == [3, 4, 5]
        # The log ends in records that are not returned: the position still reaches its end.
        mock_cluster.append_in_transaction(log, 0, 9, [b"8"])
        mock_cluster.end_transaction(log, 0, 9, commit=False)
        deadline = time.monotonic() + TIMEOUT
        while consumer.position(log, 0) < 10:
            assert time.monotonic() < deadline, consumer.position(log, 0)
            assert consumer.poll(timeout=0.1) == []
        assert consumer.lag() == {(log, 0): 0}
        consumer.commit()
    assert mock_cluster.committed("g") == {(log, 0): 10}


def test_read_uncommitted_returns_everything(
    mock_cluster: MockCluster, kind: Any, log: str
) -> None:
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(log, 0)])
        assert [record.offset for record in read(consumer, 6)] == list(range(6))
        mock_cluster.end_transaction(log, 0, 7, commit=False)
        assert consumer.end_offsets() == {(log, 0): 7}
        mock_cluster.append(log, 0, [b"7"])
        # The transaction marker is not a record.
        assert [record.offset for record in read(consumer, 1)] == [7]


def test_a_scan_ends_before_the_first_open_transaction(mock_cluster: MockCluster, log: str) -> None:
    """Regression: the end was the high watermark, so the scan waited for open transactions."""

    def offsets(**how: Any) -> list[int]:
        batches = ottla.scan(log, mock_cluster.bootstrap, isolation_level="read_committed", **how)
        return [n for batch in batches for n in pa.record_batch(batch)["offset"].to_pylist()]

    assert offsets() == [0]
    assert offsets(start="latest") == []
    with pytest.raises(errors.TimeoutError, match=r"an open transaction holds back .* offset 1"):
        offsets(end=6, timeout=2.0)
    mock_cluster.end_transaction(log, 0, 7, commit=True)
    mock_cluster.end_transaction(log, 0, 8, commit=False)
    assert offsets() == [0, 1, 2, 5]
    with ottla.Client(mock_cluster.bootstrap, isolation_level="read_uncommitted") as client:
        mock_cluster.append_in_transaction(log, 0, 9, [b"open"])
        ends = {
            level: client.list_offsets({(log, 0): "latest"}, isolation_level=level)[log, 0].offset
            for level in (None, "read_committed", "read_uncommitted")
        }
    assert ends == {None: 9, "read_committed": 8, "read_uncommitted": 9}

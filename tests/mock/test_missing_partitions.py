"""A partition that an existing topic does not have is an error long before the timeout."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import ottla
from ottla.errors import UnknownTopicError
from ottla.testing import Fault, MockCluster

MISSING = ("single", 7)
# Nothing below waits that long, unless the whole timeout is used up.
TIMEOUT = 60.0


def scan(client: ottla.Client) -> None:
    for _ in client.scan([(*MISSING, 0, 5)], timeout=TIMEOUT):
        pass


def position(client: ottla.Client) -> None:
    with ottla.Consumer(client) as consumer:
        consumer.assign([MISSING])
        consumer.position(*MISSING, timeout=TIMEOUT)


def consumer_call(call: Callable[[ottla.Consumer], Any]) -> Callable[[ottla.Client], None]:
    def run(client: ottla.Client) -> None:
        with ottla.Consumer(client) as consumer:
            call(consumer)

    return run


CALLS: dict[str, Callable[[ottla.Client], Any]] = {
    "list_offsets": lambda c: c.list_offsets({MISSING: "latest"}, timeout=TIMEOUT),
    "some exist": lambda c: c.list_offsets(
        {MISSING: "latest", ("single", 0): "latest"}, timeout=TIMEOUT
    ),
    "end_offsets": consumer_call(lambda c: c.end_offsets(MISSING, timeout=TIMEOUT)),
    "beginning_offsets": consumer_call(lambda c: c.beginning_offsets(MISSING, timeout=TIMEOUT)),
    "offsets_for_times": consumer_call(
        lambda c: c.offsets_for_times({MISSING: 0}, timeout=TIMEOUT)
    ),
    "position": position,
    "scan": scan,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_missing_partition_is_reported_before_the_timeout(
    name: str, mock_cluster: MockCluster, single: str
) -> None:
    began = time.monotonic()
    config: dict[str, Any] = {"group_id": "g", "auto_offset_reset": "earliest"}
    with (
        ottla.Client(mock_cluster.bootstrap, **config) as client,
        pytest.raises(UnknownTopicError, match=r"partitions are 0 to 0.*single-7"),
    ):
        CALLS[name](client)
    assert time.monotonic() - began < TIMEOUT / 2


def test_the_producers_of_a_missing_partition_are_described_as_an_error(
    mock_cluster: MockCluster, single: str
) -> None:
    began = time.monotonic()
    with ottla.Admin(mock_cluster.bootstrap) as admin, pytest.raises(UnknownTopicError):
        admin.describe_producers([MISSING], timeout=TIMEOUT)
    assert time.monotonic() - began < TIMEOUT / 2


def test_a_partition_that_the_metadata_lacks_for_a_moment_is_found(
    mock_cluster: MockCluster, topic: str
) -> None:
    mock_cluster.inject(Fault.omit_partition(1), api="Metadata", topic=topic, times=2)
    with ottla.Client(mock_cluster.bootstrap) as client:
        assert client.list_offsets({(topic, 1): "latest"})[topic, 1].offset == 0

"""Errors have classes that callers can catch separately."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster

TIMEOUT = 60.0


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(brokers=1) as cluster:
        cluster.create_topic("orders")
        cluster.append("orders", 0, [b"a", b"b"])
        yield cluster


def read_one(consumer: ottla.Consumer) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not consumer.poll(timeout=0.5, max_records=1):
        assert time.monotonic() < deadline, "no record within the timeout"


def test_creating_an_existing_topic(cluster: MockCluster) -> None:
    with ottla.Admin(cluster.bootstrap) as admin, pytest.raises(errors.TopicExistsError) as caught:
        admin.create_topic("orders")
    assert caught.value.name == "TOPIC_ALREADY_EXISTS"
    assert caught.value.context["topic"] == "orders"
    assert not isinstance(caught.value, errors.ConfigError)


def test_record_too_large_is_a_value_error(cluster: MockCluster) -> None:
    with (
        ottla.Producer(cluster.bootstrap) as producer,
        pytest.raises(ValueError, match="is larger than") as caught,
    ):
        producer.send("orders", bytes(2_000_000))
    assert type(caught.value) is errors.RecordTooLargeError


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commit_of_an_expelled_member(cluster: MockCluster, protocol: str) -> None:
    with ottla.Consumer(
        cluster.bootstrap,
        {"group.protocol": protocol},
        topics=["orders"],
        group_id="g",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        read_one(consumer)
        (member,) = cluster.members("g")
        cluster.expire_member("g", member.id)
        with pytest.raises(errors.CommitFailedError, match="has removed this member") as caught:
            consumer.commit()
        assert not caught.value.maybe_done
        assert not caught.value.fatal, "the next poll joins the group again"
        assert "not known whether" not in str(caught.value)


def test_offsets_of_an_active_group_cannot_be_changed(cluster: MockCluster) -> None:
    with (
        ottla.Consumer(
            cluster.bootstrap, topics=["orders"], group_id="g", auto_offset_reset="earliest"
        ) as consumer,
        ottla.Admin(cluster.bootstrap) as admin,
    ):
        read_one(consumer)
        with pytest.raises(errors.FencedError, match="the group has active members") as caught:
            admin.alter_group_offsets("g", {("orders", 0): 1})
        assert not caught.value.fatal


def test_closed_producer_raises_closed_error(cluster: MockCluster) -> None:
    producer = ottla.Producer(cluster.bootstrap)
    producer.close()
    with pytest.raises(errors.ClosedError, match="this producer was closed"):
        producer.send("orders", b"value")
    with pytest.raises(errors.ClosedError, match="this producer was closed"):
        producer.send_batch("orders", [b"value"])

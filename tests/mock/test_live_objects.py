"""Proves what a running producer or consumer can be asked and told: its cluster, its unacknowledged
records, the bounds of logs, other credentials, and to give records up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.admin import SetPassword
from ottla.testing import MockCluster

USER: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256"}


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        cluster.create_topic("t", partitions=2)
        yield cluster


def test_producers_and_consumers_know_their_cluster(cluster: MockCluster) -> None:
    with (
        ottla.Producer(cluster.bootstrap) as producer,
        ottla.Consumer(cluster.bootstrap) as consumer,
    ):
        for asked in (producer.cluster(["t"]), consumer.cluster(["t"])):
            assert sorted(asked.topics) == ["t"]
            assert sorted(asked.brokers) == [1, 2, 3]

    async def twins() -> None:
        async with (
            ottla.AsyncProducer(cluster.bootstrap) as producer,
            ottla.AsyncConsumer(cluster.bootstrap) as consumer,
        ):
            assert sorted((await producer.cluster(["t"])).topics) == ["t"]
            assert sorted((await consumer.cluster(["t"])).topics) == ["t"]

    asyncio.run(twins())


def test_purge_gives_up_what_waits(cluster: MockCluster) -> None:
    with ottla.Producer(cluster.bootstrap, linger_ms=60_000) as producer:
        waiting = producer.send("t", b"given up")
        assert producer.unacknowledged_records == 1
        assert producer.purge() == 1
        with pytest.raises(errors.PurgedError) as purged:
            waiting.result()
        assert not purged.value.maybe_done
        assert producer.unacknowledged_records == 0
        producer.send("t", b"kept", partition=0)
    assert pa.table(ottla.scan("t", cluster.bootstrap))["value"].to_pylist() == [b"kept"]


def test_asyncio_purges_records_that_wait_for_their_topic() -> None:
    async def run() -> None:
        with MockCluster(auto_create_topics=False) as cluster:
            async with ottla.AsyncProducer(cluster.bootstrap) as producer:
                waiting = producer.send("unknown", b"v")
                assert producer.unacknowledged_records == 1
                assert producer.purge() == 1
                with pytest.raises(errors.PurgedError, match="not sent"):
                    await waiting
                assert producer.unacknowledged_records == 0

    asyncio.run(run())


def test_watermarks_are_those_of_the_last_fetch(cluster: MockCluster) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        producer.send_batch("t", [b"v"] * 5, partitions=[0] * 5).result()
    with ottla.Consumer(cluster.bootstrap, topics=["t"], auto_offset_reset="earliest") as consumer:
        assert consumer.watermarks() == {}
        assert len(consumer.poll(timeout=30, max_records=3)) == 3
        bounds = consumer.watermarks()[("t", 0)]
        assert bounds is not None
        assert repr(bounds) == (
            "Watermarks(log_start_offset=0, last_stable_offset=5, high_watermark=5)"
        )
        assert consumer.lag()[("t", 0)] == 2


def test_a_poll_returns_the_records_of_the_named_partitions_only(cluster: MockCluster) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        producer.send_batch("t", [b"0", b"1"] * 5, partitions=[0, 1] * 5).result()
    with ottla.Consumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0), ("t", 1)])
        for partition in (1, 0):
            read: list[ottla.Record] = []
            while len(read) < 5:
                read += consumer.poll(timeout=30, partitions=[("t", partition)])
            assert {record.partition for record in read} == {partition}
        assert consumer.poll(timeout=0) == []

    async def twin() -> None:
        async with ottla.AsyncConsumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0), ("t", 1)])
            read = await consumer.poll(timeout=30, partitions=[("t", 1)])
            assert {record.value for record in read} == {b"1"}

    asyncio.run(twin())


def test_high_watermark_and_last_stable_offset_are_looked_up_by_isolation_level(
    cluster: MockCluster,
) -> None:
    with ottla.Producer(cluster.bootstrap, transactional_id="x") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("t", b"open", partition=0).result()
        with ottla.Consumer(cluster.bootstrap, isolation_level="read_committed") as consumer:
            assert consumer.end_offsets(("t", 0)) == {("t", 0): 0}
            ends = consumer.end_offsets(("t", 0), isolation_level="read_uncommitted")
            assert ends == {("t", 0): 1}
        producer.abort_transaction()


def test_metadata_of_an_offset_is_text_or_none(cluster: MockCluster) -> None:
    assert ottla.OffsetAndMetadata(1).metadata == ""
    none = ottla.OffsetAndMetadata(1, None)
    assert (none.metadata, repr(none)) == (
        None,
        "OffsetAndMetadata(offset=1, metadata=None, leader_epoch=-1)",
    )
    assert none != ottla.OffsetAndMetadata(1)
    with ottla.Consumer(cluster.bootstrap, group_id="g") as consumer:
        consumer.assign([("t", 0), ("t", 1)])
        consumer.commit({("t", 0): none, ("t", 1): ottla.OffsetAndMetadata(2, "note")})
        committed = consumer.committed(("t", 0), ("t", 1))
    # A broker stores null as empty text.
    assert [at and at.metadata for at in committed.values()] == ["", "note"]


def test_a_consumer_of_the_consumer_protocol_has_its_member_id_before_it_joins(
    cluster: MockCluster,
) -> None:
    with ottla.Consumer(cluster.bootstrap, group_id="g", group_protocol="consumer") as consumer:
        assert consumer.group_metadata().member_id == ""
        consumer.subscribe(["t"])
        member_id = consumer.group_metadata().member_id
        assert member_id
        while not consumer.assignment():
            consumer.poll(timeout=0.1)
        assert consumer.group_metadata().member_id == member_id


def test_credentials_are_replaced_while_the_client_runs() -> None:
    with MockCluster(brokers=1, users={"ann": "old"}) as cluster:
        cluster.create_topic("t")
        with ottla.Producer(
            cluster.bootstrap, sasl_username="ann", sasl_password="old", **USER
        ) as producer:
            producer.send("t", b"1").result()
            cluster.set_user("ann", "new")
            producer.set_sasl_credentials("ann", "new")
            cluster.stop_broker(1)
            cluster.start_broker(1)
            producer.send("t", b"2").result()
            with pytest.raises(errors.ConfigError, match="empty"):
                producer.set_sasl_credentials("ann", "")
        with ottla.Admin(
            cluster.bootstrap, sasl_username="ann", sasl_password="new", **USER
        ) as admin:
            salted = SetPassword("third", "SCRAM-SHA-256", salt=b"own salt")
            assert "own salt" not in repr(salted)
            admin.alter_user_scram_credentials({"ann": [salted]})
        with ottla.Consumer(
            cluster.bootstrap, sasl_username="ann", sasl_password="third", **USER
        ) as consumer:
            assert consumer.topic_names() == ["t"]


def test_credentials_of_a_client_without_passwords_cannot_be_set(cluster: MockCluster) -> None:
    with (
        ottla.Client(cluster.bootstrap) as client,
        pytest.raises(errors.ConfigError, match="without SASL"),
    ):
        client.set_sasl_credentials("ann", "secret")


def test_a_configuration_is_checked_without_a_broker() -> None:
    ottla.check_config({"bootstrap.servers": "127.0.0.1:1", "linger.ms": 5}, acks="all")
    for config, said in (
        ({"linger.mss": 5}, "linger.ms"),
        ({"acks": 1, "transactional.id": "x"}, "acks"),
        ({"bootstrap.servers": "host"}, "port"),
        ({"sasl.mechanism": "PLAIN", "security.protocol": "SASL_SSL"}, "sasl.username"),
        ({"group.id": "g", "heartbeat.interval.ms": 46_000}, "heartbeat.interval.ms"),
        ({"ssl.truststore.location": "/no/such/file", "security.protocol": "SSL"}, "/no/such/file"),
    ):
        with pytest.raises(errors.ConfigError, match=said):
            ottla.check_config({"bootstrap.servers": "127.0.0.1:1", **config})

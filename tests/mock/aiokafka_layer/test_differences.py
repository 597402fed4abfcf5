"""aiokafka's layer: differences from aiokafka; docs/compare/stand-ins.md has their reasons."""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from typing import Any

import pytest

from ottla.compat.aiokafka import (
    AIOKafkaClient,
    AIOKafkaConsumer,
    AIOKafkaProducer,
    TopicPartition,
)
from ottla.compat.aiokafka.admin import AIOKafkaAdminClient
from ottla.compat.aiokafka.consumer import _membership
from ottla.compat.aiokafka.coordinator.assignors.sticky.sticky_assignor import (
    StickyPartitionAssignor,
)
from ottla.compat.aiokafka.errors import NoOffsetForPartitionError
from ottla.testing import Fault, MockCluster
from tests.support.loops import run

P0, P1 = TopicPartition("pairs", 0), TopicPartition("pairs", 1)


def consumer(cluster: MockCluster, *topics: str, **options: Any) -> AIOKafkaConsumer:
    defaults: dict[str, Any] = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50}
    return AIOKafkaConsumer(*topics, bootstrap_servers=cluster.bootstrap, **(defaults | options))


def test_what_is_written_after_start_is_read(
    mock_cluster: MockCluster, pairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_membership, "_POSITION_SECONDS", 60)

    async def read() -> None:
        reader = consumer(mock_cluster, auto_offset_reset="latest")
        reader.assign([P0])
        async with reader:
            mock_cluster.append(pairs, 0, [b"after"])
            assert (await reader.getone()).value == b"after"

    run(read())


def test_a_partition_without_a_position_keeps_others_back(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def read() -> None:
        reader = consumer(mock_cluster, auto_offset_reset="none", group_id="g")
        reader.assign([P0, P1])
        async with reader:
            reader.seek(P0, 0)
            for _ in range(2):
                with pytest.raises(NoOffsetForPartitionError):
                    await reader.getone()
            reader.seek(P1, 9)
            read = [await reader.getone() for _ in range(11)]
            assert sorted((record.partition, record.offset) for record in read) == [
                *((0, offset) for offset in range(10)),
                (1, 9),
            ]

    run(read())


def test_the_time_of_known_offsets_is_that_of_the_call(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def read() -> None:
        reader = consumer(mock_cluster)
        reader.assign([P0])
        async with reader:
            await reader.getone()
            before = int(time.time() * 1000)
            found = reader.last_poll_timestamp(P0)
            assert found is not None
            assert before <= found <= time.time() * 1000

    run(read())


def test_a_send_does_not_wait_for_the_batches_before_it(
    mock_cluster: MockCluster, pairs: str
) -> None:
    mock_cluster.inject(Fault.error("NOT_ENOUGH_REPLICAS"), api="Produce")

    async def write() -> None:
        writer = AIOKafkaProducer(
            bootstrap_servers=mock_cluster.bootstrap, max_batch_size=100, request_timeout_ms=60_000
        )
        await writer.start()
        sent = [await writer.send(pairs, b"v" * 60, partition=0) for _ in range(5)]
        assert not any(each.done() for each in sent)
        mock_cluster.clear_faults()
        await asyncio.gather(*sent)
        await writer.stop()

    run(write())


def test_times_that_are_not_sent_as_they_are() -> None:
    async def create() -> tuple[dict[str, Any], dict[str, Any]]:
        reader = AIOKafkaConsumer(fetch_max_wait_ms=500)
        writer = AIOKafkaProducer(request_timeout_ms=1000, linger_ms=7)
        read, written = reader._options, writer._options
        await asyncio.gather(reader.stop(), writer.stop())
        return read.to_config(), written.to_config(writer.client.cluster)

    read, written = run(create())
    assert read["fetch_max_wait_ms"] == 450
    assert written["delivery_timeout_ms"] == 2007


def test_a_domain_name_for_kerberos_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def create() -> None:
        client = AIOKafkaClient(
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="GSSAPI",
            sasl_kerberos_domain_name="example.org",
        )
        client.options.to_config(asyncio.get_running_loop())

    with caplog.at_level(logging.WARNING):
        run(create())
    assert "sasl_kerberos_domain_name has no effect" in caplog.text


def test_subscriptions_and_assignments_of_members_are_not_encoded(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def describe() -> None:
        async with (
            AIOKafkaAdminClient(bootstrap_servers=mock_cluster.bootstrap) as admin,
            consumer(mock_cluster, pairs, group_id="readers", client_id="reader"),
        ):
            [response] = await admin.describe_consumer_groups(["readers"])
            [(_, client_id, _, subscription, assignment)] = response.groups[0][5]
            assert (client_id, subscription, assignment) == ("reader", b"", b"")
            with pytest.raises(NotImplementedError):
                await admin.find_coordinator("transaction", 1)

    run(describe())


def test_the_core_alone_has_the_sticky_assignor() -> None:
    with pytest.raises(NotImplementedError):
        StickyPartitionAssignor.assign(None, {})  # type: ignore[arg-type]


def test_internals_are_not_there() -> None:
    assert not hasattr(AIOKafkaClient, "send")
    for name in ("conn", "producer.sender", "protocol.produce", "record"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"ottla.compat.aiokafka.{name}")

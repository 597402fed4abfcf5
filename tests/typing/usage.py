"""Correct uses that type checkers in strict mode accept; never run.

Uses that they must report are in mistakes.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import ottla
from ottla import assignors, deserializers, errors, serializers
from ottla.testing import Fault, MockCluster

if TYPE_CHECKING:
    from ottla.config_types import ProducerConfig


def delivered(error: errors.KafkaError | None, where: ottla.RecordMetadata) -> None:
    print(error and error.maybe_done, where.offset)


def serializing(bootstrap: str) -> None:
    ottla.Producer(bootstrap, key_serializer=serializers.str, value_serializer=serializers.json)
    ottla.AsyncProducer(bootstrap, key_serializer=serializers.int, value_serializer=repr)


def producing(bootstrap: str) -> None:
    with ottla.Producer(bootstrap, {"linger.ms": 5}, compression_type="zstd") as producer:
        delivery: ottla.Delivery = producer.send("t", b"v", "k", headers=[("h", None)], timestamp=5)
        producer.send(
            "t", memoryview(b"v"), headers={"h": "x"}, timestamp=datetime.now(timezone.utc)
        )
        metadata: ottla.RecordMetadata = delivery.result(timeout=1.5)
        offset: int | None = metadata.offset
        error: errors.KafkaError | None = delivery.exception()
        count: int = producer.send_batch(
            "t", ["a", None], [b"k", None], partitions=[0, None]
        ).result()
        producer.send("t", b"v", on_delivery=delivered)
        delivery.add_done_callback(lambda done: print(done.exception()))
        leaders: list[int | None] = [p.leader for p in producer.partitions_for("t").values()]
        print(leaders)
        producer.flush(timeout=1)
        print(offset, error, count)


def consuming(bootstrap: str) -> None:
    def assigned(consumer: ottla.Consumer, partitions: list[tuple[str, int]]) -> None:
        consumer.seek_to_beginning(*partitions)

    with ottla.Consumer(
        bootstrap, {"group.id": "g"}, topics=["a"], value_deserializer=deserializers.json
    ) as consumer:
        consumer.subscribe(pattern="a.*", on_assigned=assigned)
        for record in consumer:
            place: tuple[str, int, int] = (record.topic, record.partition, record.offset)
            headers: tuple[tuple[str, bytes | None], ...] = record.headers
            if record.value is not None:
                print(place, headers, record.key, record.value["anything"])
        records: list[ottla.Record] = consumer.poll(timeout=0.5, max_records=10)
        batch: ottla.RecordBatch | None = consumer.poll_arrow(columns=["value"])
        consumer.commit(records[0])
        consumer.commit({("a", 0): 5, ("a", 1): ottla.OffsetAndMetadata(5, "x")})
        consumer.commit_async(on_commit=lambda error, offsets: print(error, offsets["a", 0].offset))
        committed: dict[tuple[str, int], ottla.OffsetAndMetadata | None] = consumer.committed()
        ends: dict[tuple[str, int], int] = consumer.end_offsets(("a", 0), timeout=1)
        member: str = consumer.group_metadata().member_id
        print(records, batch, committed, ends, member)


class Order:
    """The value type of the next function's deserializer."""

    def __init__(self, data: bytes) -> None:
        self.amount = len(data)


class Upper:
    """A deserializer object."""

    def deserialize(
        self, topic: str, data: bytes, headers: tuple[tuple[str, bytes | None], ...]
    ) -> str:
        return data.decode().upper()


def typed_records(bootstrap: str) -> list[ottla.Record[str | None, Order | None]]:
    consumer = ottla.Consumer(
        bootstrap, group_id="g", key_deserializer=Upper(), value_deserializer=Order
    )
    same: ottla.Consumer[str, Order] = consumer
    record = next(consumer)
    amount: int = 0 if record.value is None else record.value.amount
    key: str = record.key or "none"
    made: ottla.Record[str, int] = ottla.Record("t", 0, 5, key="a", value=5)
    print(same, amount, key, made.key.upper(), made.value + 1)
    return consumer.poll(max_records=1)


@dataclass
class Payment:
    """A class whose schema is derived."""

    id: int
    note: str | None = None


def objects(bootstrap: str, registry: ottla.schema.Registry) -> list[int]:
    avro: ottla.schema.Avro[Payment] = ottla.schema.Avro(Payment, registry, register=True)
    json: ottla.schema.Json[Payment] = ottla.schema.Json(Payment, wire_format="none")
    many = ottla.schema.Json(list[Payment], wire_format="none")
    first: Payment = many.deserialize("t", b"[]")[0]
    consumer = ottla.Consumer(
        bootstrap, group_id="g", key_deserializer=json, value_deserializer=avro
    )
    same: ottla.Consumer[Payment, Payment] = consumer
    record: ottla.Record[Payment | None, Payment | None] = next(consumer)
    note: str | None = record.key.note if record.key is not None else first.note
    ottla.Producer(bootstrap, value_serializer=avro).send("t", Payment(1))
    ottla.scan("t", bootstrap, value_format=avro)
    plain: ottla.schema.Avro = ottla.schema.Avro(registry)
    untyped = ottla.Consumer(bootstrap, value_deserializer=plain)
    value: dict[str, int] | None = next(untyped).value
    print(same, note, value, avro.arrow_type())
    return [record.value.id for record in consumer if record.value is not None]


async def objects_asynchronously(bootstrap: str, registry: ottla.schema.AsyncRegistry) -> int:
    value = ottla.schema.Avro(Payment, registry=registry)
    consumer = ottla.AsyncConsumer(bootstrap, group_id="g", value_deserializer=value)
    share = ottla.ShareConsumer(bootstrap, group_id="g", value_deserializer=value)
    found: list[ottla.Record[bytes | None, Payment | None]] = await consumer.poll()
    found += share.poll()
    return sum(record.value.id for record in found if record.value is not None)


def nothing_deserialized(consumer: ottla.Consumer, record: ottla.Record) -> bytes | None:
    polled: list[ottla.Record] = consumer.poll()
    print(polled)
    return record.value


def configured(bootstrap: str, settings: dict[str, Any]) -> None:
    ottla.Client(bootstrap, linger_ms=5, group_id="g", security_protocol="SSL")
    ottla.Producer(bootstrap, acks=1, batch_size="16384", enable_idempotence=False)
    ottla.Producer(bootstrap, partitioner=lambda topic, key, value, partitions: partitions - 1)
    ottla.Producer(bootstrap, settings, linger_ms=None)
    ottla.Producer(bootstrap, **settings)
    ottla.Consumer(bootstrap, partition_assignment_strategy=[ByName(), "range"], group_id="g")
    ottla.Admin(bootstrap, client_id="admin").create_topic("t", configs={"retention.ms": "5"})
    ottla.scan("t", bootstrap, isolation_level="read_committed")
    ottla.diagnose(bootstrap, request_timeout_ms=1000)
    ottla.AsyncClient(bootstrap, sasl_oauth_token=lambda: ("token", 5.0))
    common: ProducerConfig = {"linger_ms": 5, "compression_type": "zstd"}
    ottla.AsyncProducer(bootstrap, **common)


class ByName:
    """An assignor."""

    name = "by-name"

    def assign(
        self,
        topics: Mapping[str, Mapping[int, Sequence[str]]],
        members: Sequence[assignors.MemberSubscription],
    ) -> dict[str, list[tuple[str, int]]]:
        return {members[0].member_id: [(t, p) for t, of in topics.items() for p in of]}


async def consuming_asynchronously(bootstrap: str) -> None:
    async def revoked(consumer: ottla.AsyncConsumer, partitions: list[tuple[str, int]]) -> None:
        await consumer.commit()

    async with ottla.AsyncConsumer(bootstrap, group_id="g") as consumer:
        consumer.subscribe(["a"], on_revoked=revoked)
        async for record in consumer:
            offset: int = record.offset
            print(offset)
        records: list[ottla.Record] = await consumer.poll(timeout=1)
        json = ottla.AsyncConsumer(bootstrap, key_deserializer=deserializers.str)
        keys: list[str | None] = [record.key for record in await json.poll()]
        print(keys)
        position: int = await consumer.position("a", 0)
        print(records, position)


def reading(client: ottla.Client) -> None:
    scan: ottla.Scan = ottla.scan(["a", "b"], client, start={0: 5}, end="latest", partitions=[0])
    for batch in scan:
        names: list[str] = batch.column_names
        rows: int = len(batch)
        print(names, rows)
    leader: int | None = client.cluster(["a"]).topics["a"].partitions[0].leader
    rack: str | None = client.cluster().brokers[1].rack
    listed: dict[tuple[str, int], ottla.OffsetAndTimestamp] = client.list_offsets(
        {("a", 0): "latest"}
    )
    print(leader, rack, listed)


async def asynchronous(bootstrap: str) -> None:
    with ottla.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5}) as producer:
        metadata: ottla.RecordMetadata = await producer.send("t", b"v")
        print(metadata.offset)
    async with ottla.AsyncClient(bootstrap, {"client.id": "a"}) as client:
        leader: int | None = (await client.cluster(["a"])).topics["a"].partitions[0].leader
        names: list[str] = await client.topic_names(timeout=1)
        listed: dict[tuple[str, int], ottla.OffsetAndTimestamp] = await client.list_offsets(
            {("a", 0): "latest"}
        )
        events: ottla.AsyncEvents = await client.events(all_topics=True)
        nothing: ottla.Event | None = await events.next(timeout=0.1)
        async for event in events:
            topic: str | None = event.topic
            print(leader, names, listed, nothing, topic)


def failing() -> None:
    try:
        ottla.Client("localhost:9092", timeout=1)
    except errors.TimeoutError as error:
        code: int | None = error.code
        place: object = error.context.get("address")
        print(code, place, error.retriable)


def mocking() -> None:
    with MockCluster(brokers=3) as cluster:
        fault: int = cluster.inject(Fault.disconnect("after"), api="Produce", times=1)
        print(cluster.fault_hits(fault), cluster.brokers[1])

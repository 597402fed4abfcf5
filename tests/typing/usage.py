"""What users write, as the type checker sees it; read by mypy alone, never run."""

from __future__ import annotations

from datetime import datetime

import ottla
from ottla import deserializers, errors, serializers
from ottla.testing import Fault, MockCluster


def delivered(error: errors.KafkaError | None, where: ottla.RecordMetadata) -> None:
    print(error and error.maybe_done, where.offset)


def serializing(bootstrap: str) -> None:
    ottla.Producer(bootstrap, key_serializer=serializers.str, value_serializer=serializers.json)
    ottla.AsyncProducer(bootstrap, key_serializer=serializers.int, value_serializer=repr)
    ottla.Producer(bootstrap, value_serializer="json")  # type: ignore[arg-type]


def producing(bootstrap: str) -> None:
    with ottla.Producer(bootstrap, {"linger.ms": 5}, compression_type="zstd") as producer:
        delivery: ottla.Delivery = producer.send("t", b"v", "k", headers=[("h", None)], timestamp=5)
        producer.send("t", memoryview(b"v"), headers={"h": "x"}, timestamp=datetime(2024, 1, 1))  # noqa: DTZ001
        metadata: ottla.RecordMetadata = delivery.result(timeout=1.5)
        offset: int | None = metadata.offset
        error: errors.KafkaError | None = delivery.exception()
        count: int = producer.send_batch(
            "t", ["a", None], [b"k", None], partitions=[0, None]
        ).result()
        producer.send("t", b"v", partition="0")  # type: ignore[arg-type]
        producer.send("t", b"v", on_delivery=delivered)
        producer.send("t", b"v", on_delivery=len)  # type: ignore[arg-type]
        producer.flush(1)
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
            record.offset = 5  # type: ignore[misc]
            print(place, headers, record.value["anything"])
        records: list[ottla.Record] = consumer.poll(timeout=0.5, max_records=10)
        batch: ottla.RecordBatch | None = consumer.poll_arrow(columns=["value"])
        consumer.commit({("a", 0): 5, ("a", 1): ottla.OffsetAndMetadata(5, "x")})
        consumer.commit({("a", 0): "5"})  # type: ignore[dict-item]
        consumer.commit_async(on_commit=lambda error, offsets: print(error, offsets["a", 0].offset))
        committed: dict[tuple[str, int], ottla.OffsetAndMetadata | None] = consumer.committed()
        ends: dict[tuple[str, int], int] = consumer.end_offsets(("a", 0), timeout=1)
        consumer.pause("a", 0)  # type: ignore[arg-type]
        member: str = consumer.group_metadata().member_id
        print(records, batch, committed, ends, member)


async def consuming_asynchronously(bootstrap: str) -> None:
    async def revoked(consumer: ottla.AsyncConsumer, partitions: list[tuple[str, int]]) -> None:
        await consumer.commit()

    async with ottla.AsyncConsumer(bootstrap, group_id="g") as consumer:
        consumer.subscribe(["a"], on_revoked=revoked)
        async for record in consumer:
            offset: int = record.offset
            print(offset)
        records: list[ottla.Record] = await consumer.poll(1)
        position: int = await consumer.position("a", 0)
        consumer.poll().append(5)  # type: ignore[attr-defined]
        print(records, position)


def reading(client: ottla.Client) -> None:
    scan: ottla.Scan = ottla.scan(["a", "b"], client, start={0: 5}, end="latest", partitions=[0])
    for batch in scan:
        names: list[str] = batch.column_names
        rows: int = len(batch)
        print(names, rows)
    ottla.scan("a", start=1.5)  # type: ignore[arg-type]
    leader: int | None = client.cluster(["a"]).topics["a"].partitions[0].leader
    rack: str | None = client.cluster().brokers[1].rack
    listed: dict[tuple[str, int], ottla.OffsetAndTimestamp] = client.list_offsets(
        {("a", 0): "latest"}
    )
    client.cluster().generation = 5  # type: ignore[misc]
    print(leader, rack, listed)


async def asynchronous(bootstrap: str) -> None:
    async with ottla.AsyncClient(bootstrap, {"client.id": "a"}) as client:
        leader: int | None = (await client.cluster(["a"])).topics["a"].partitions[0].leader
        names: list[str] = await client.list_topics(timeout=1)
        listed: dict[tuple[str, int], ottla.OffsetAndTimestamp] = await client.list_offsets(
            {("a", 0): "latest"}
        )
        events: ottla.AsyncEvents = await client.events(all_topics=True)
        nothing: ottla.Event | None = await events.next(timeout=0.1)
        async for event in events:
            topic: str | None = event.topic
            print(leader, names, listed, nothing, topic)
        client.list_topics().upper()  # type: ignore[attr-defined]


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
        Fault.disconnect("never")  # type: ignore[arg-type]
        print(cluster.fault_hits(fault), cluster.brokers[1])

"""What programs do with kafka-python, as functions that return what they saw.

Each takes the module, so that the layer and the original can be compared. Invariant: a trace has no
times, ids or orders that depend on chance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tests.support.waiting import wait_until

Trace = list[Any]
FAST = {"heartbeat_interval_ms": 200, "session_timeout_ms": 10_000}


def poll_until(consumer: Any, condition: Callable[[list[Any]], object]) -> list[Any]:
    """Poll until a condition on all records holds, and return them."""
    records: list[Any] = []

    def polled() -> object:
        for some in consumer.poll(timeout_ms=100).values():
            records.extend(some)
        return condition(records)

    wait_until(polled)
    return records


def knowing(consumer: Any, topic: str) -> Any:
    """Return a consumer that knows its topic.

    The original may join its group before, and then gets no partitions, sometimes for good.
    """
    wait_until(lambda: consumer.partitions_for_topic(topic))
    return consumer


def produce(kafka: Any, bootstrap: str, topic: str, group: str) -> Trace:
    """Send records of all kinds, and read them."""
    trace: Trace = []
    with kafka.KafkaProducer(bootstrap_servers=bootstrap) as producer:
        trace.append(sorted(producer.partitions_for(topic)))
        future = producer.send(topic, b"value", b"key", [("h", b"1")], 1, 1_700_000_000_000)
        trace.append(tuple(future.get(timeout=60)))
        offsets: list[int] = []
        future = producer.send(topic, key=b"tombstone", partition=0)
        future.add_callback(lambda metadata: offsets.append(metadata.offset))
        wait_until(lambda: offsets)
        trace += offsets
        trace.append((future.succeeded(), future.failed(), future.is_done))
        for key in (b"", b"a", b"\xff" * 9):
            trace.append(producer.send(topic, b"keyed", key).get(timeout=60).partition)
        for wrong in ({"value": "text"}, {}, {"value": b"v", "partition": 99}):
            try:
                producer.send(topic, **wrong)
            except (KeyError, TypeError, ValueError) as error:
                trace.append(type(error).__name__)
    consumer = kafka.KafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=60_000
    )
    records = [next(consumer) for _ in range(5)]
    consumer.close()
    for record in sorted(records, key=lambda each: (each.partition, each.offset)):
        shown = record._replace(timestamp=0 if record.partition != 1 else record.timestamp)
        trace.append(tuple(shown) if record.offset == 0 else (record.key, record.value))
    return trace


def rebalance(kafka: Any, bootstrap: str, topic: str, group: str) -> Trace:
    """Let a second member join and leave, with commits in the listener."""
    with kafka.KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for partition in range(4):
            for number in range(10):
                producer.send(topic, b"%d" % number, partition=partition)
    # By member: the order between members is chance.
    calls: dict[str, list[tuple[str, int]]] = {"first": [], "second": []}
    seen: list[tuple[int, int]] = []
    consumers: dict[str, Any] = {}

    class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            self.calls = calls[name]

        def on_partitions_revoked(self, revoked: Any) -> None:
            self.calls.append(("revoked", len(revoked)))

        def on_partitions_assigned(self, assigned: Any) -> None:
            self.calls.append(("assigned", len(assigned)))

    def member(name: str) -> None:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", **FAST
        )
        consumer.subscribe([topic], listener=Listener(name))
        consumers[name] = knowing(consumer, topic)

    def balanced() -> bool:
        for consumer in consumers.values():
            for records in consumer.poll(timeout_ms=50, max_records=3).values():
                seen.extend((record.partition, record.offset) for record in records)
        owned = [len(consumer.assignment()) for consumer in consumers.values()]
        return sum(owned) == 4 and all(owned)

    member("first")
    wait_until(balanced)
    member("second")
    wait_until(balanced)
    consumers.pop("second").close()
    wait_until(balanced)
    wait_until(lambda: balanced() and len(seen) >= 40)
    consumers.pop("first").close()
    complete = [(partition, offset) for partition in range(4) for offset in range(10)]
    return [_once(calls["first"]), _once(calls["second"]), sorted(set(seen)) == complete]


def _once(calls: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Leave out rebalances that have changed nothing: the original may have many."""
    found: list[tuple[str, int]] = []
    for call in calls:
        if len(found) >= 2 and call == found[-2] and call[1] == found[-1][1]:
            found.pop()
        else:
            found.append(call)
    return found


def commits(kafka: Any, bootstrap: str, topic: str, group: str) -> Trace:
    """Commit in all ways, leave by an exception, and continue."""
    with kafka.KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)
    trace: Trace = []
    where = kafka.TopicPartition(topic, 0)
    options = {
        "bootstrap_servers": bootstrap,
        "group_id": group,
        "auto_offset_reset": "earliest",
        **FAST,
    }
    with kafka.KafkaConsumer(topic, **options) as consumer:
        for record in knowing(consumer, topic):
            if record.offset == 2:
                break
        trace.append(consumer.position(where))
    with contextlib.suppress(ZeroDivisionError), kafka.KafkaConsumer(topic, **options) as consumer:
        trace.append(next(knowing(consumer, topic)).offset)
        trace.append(1 // 0)
    with kafka.KafkaConsumer(topic, **options, enable_auto_commit=False) as consumer:
        trace.append(knowing(consumer, topic).committed(where))
        trace.append([r.offset for r in poll_until(consumer, lambda records: len(records) >= 7)])
        trace.append(consumer.committed(where))
        calls: list[Any] = []
        future = consumer.commit_async(callback=lambda *arguments: calls.append(arguments))
        poll_until(consumer, lambda _: calls and future.is_done)
        [(offsets, response)] = calls
        trace.append((offsets[where].offset, isinstance(response, Exception)))
        consumer.commit({where: kafka.OffsetAndMetadata(4, "note", -1)})
        trace.append(tuple(consumer.committed(where, metadata=True)))
        trace.append(consumer.highwater(where))
        consumer.seek(where, 8)
        trace.append([r.offset for r in poll_until(consumer, lambda records: len(records) >= 2)])
        consumer.seek_to_beginning()
        trace.append(consumer.position(where))
        consumer.pause(where)
        trace.append(consumer.poll(timeout_ms=50))
        consumer.resume(where)
        trace.append(poll_until(consumer, bool)[0].offset)
    with kafka.KafkaConsumer(**options) as consumer:
        trace.append(consumer.committed(where))
        consumer.assign([where])
        trace.append(poll_until(consumer, bool)[0].offset)
        trace.append(consumer.end_offsets([where])[where])
        trace.append(consumer.offsets_for_times({where: 2**62})[where])
    return trace


def transactions(kafka: Any, bootstrap: str, topic: str, group: str) -> Trace:
    """Abort, commit with offsets, and be fenced."""
    trace: Trace = []
    where = kafka.TopicPartition(topic, 0)
    options = {"bootstrap_servers": bootstrap, "transactional_id": group}
    producer = kafka.KafkaProducer(**options)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"aborted", partition=0).get(timeout=60)
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send(topic, b"committed", partition=0)
    producer.send_offsets_to_transaction({where: kafka.OffsetAndMetadata(7, "", -1)}, group)
    producer.commit_transaction()
    with kafka.KafkaProducer(**options) as newer:
        newer.init_transactions()
        try:
            producer.begin_transaction()
            producer.send(topic, b"late", partition=0)
            producer.commit_transaction()
        except kafka.errors.KafkaError:
            trace.append("fenced")
        newer.begin_transaction()
        newer.send(topic, b"last", partition=0)
        newer.commit_transaction()
    producer.close()
    with kafka.KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
    ) as consumer:
        trace.append(consumer.committed(where))
        consumer.assign([where])
        consumer.seek_to_beginning()
        records = poll_until(consumer, lambda found: len(found) >= 2)
        trace.append([record.value for record in records])
    return trace


def patterns(kafka: Any, bootstrap: str, topic: str, group: str) -> Trace:
    """Subscribe without a group, by name and by pattern."""
    with kafka.KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for partition in range(4):
            producer.send(topic, b"v", partition=partition)
    trace: Trace = []
    options = {"bootstrap_servers": bootstrap, "auto_offset_reset": "earliest"}
    for subscription in ({"topics": [topic]}, {"pattern": f"^{topic[:-2]}"}):
        with kafka.KafkaConsumer(**options) as consumer:
            trace.append(consumer.subscription())
            consumer.subscribe(**subscription)
            records = poll_until(consumer, lambda found: len(found) >= 4)
            trace.append(sorted(record.partition for record in records))
            trace.append(consumer.subscription() == {topic})
            trace.append(len(consumer.assignment()))
            trace.append(tuple(consumer.group_metadata()))
            try:
                consumer.commit()
            except kafka.errors.KafkaError as error:
                trace.append(type(error).__name__)
            consumer.unsubscribe()
            trace.append((consumer.subscription(), consumer.assignment()))
    return trace


SCENARIOS = {each.__name__: each for each in (produce, rebalance, commits, transactions, patterns)}

"""kafka-python, which is Python all the way; with codecs it needs other packages."""

from __future__ import annotations

from typing import Any

from kafka import KafkaProducer  # type: ignore[import-not-found,import-untyped,unused-ignore]

from benches.peers.producers.task import BATCH_SIZE, LINGER_MS, Kind, Task, Way

NAME = "kafka-python"


def _send(task: Task) -> None:
    parts = list(task.parts())
    producer: Any = KafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=LINGER_MS,
        batch_size=BATCH_SIZE,
    )
    producer.send(task.topic, b"first").get(60)
    with task.measured():
        for part in parts:
            sent = [producer.send(task.topic, value) for value in part]
        producer.flush()
        if not sent[-1].succeeded():
            raise SystemExit("not all was delivered")
    producer.close()


WAYS = [Way("send", Kind.RECORD, _send, 0.05, ("none",))]

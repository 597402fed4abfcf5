"""kafka-python, a pure-Python client; codecs need other packages."""

from __future__ import annotations

from typing import Any

from kafka import KafkaProducer  # type: ignore[import-not-found,import-untyped,unused-ignore]

from benches.peers.producers.task import BATCH_SIZE, LINGER_MS, Call, Kind, Task

NAME = "kafka-python"


def _send(task: Task) -> None:
    chunks = list(task.chunks())
    producer: Any = KafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=LINGER_MS,
        batch_size=BATCH_SIZE,
    )
    producer.send(task.topic, b"first").get(60)
    with task.measured():
        for chunk in chunks:
            sent = [producer.send(task.topic, value) for value in chunk]
        producer.flush()
        if not sent[-1].succeeded():
            raise SystemExit("not all was delivered")
    producer.close()


CALLS = [Call("send", Kind.RECORD, _send, 0.05, ("none",))]

"""The producer of each process, with ottla in place of confluent-kafka."""

import atexit
import os
import threading
from functools import cache

from ottla.compat.confluent_kafka import Consumer, Producer

KAFKA = os.environ["KAFKA"]


@cache
def producer() -> Producer:
    """Return the producer of this process: workers are forked, and each has its own."""
    made = Producer({"bootstrap.servers": KAFKA, "linger.ms": 5})
    # Delivery callbacks run in poll().
    threading.Thread(target=_poll, args=(made,), daemon=True).start()
    atexit.register(made.flush, 30)
    return made


def _poll(made: Producer) -> None:
    while True:
        made.poll(1)


def consumer(group: str) -> Consumer:
    """Return a consumer whose offsets the program commits."""
    return Consumer(
        {
            "bootstrap.servers": KAFKA,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )

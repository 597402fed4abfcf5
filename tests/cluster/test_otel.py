"""A trace from a producer to a consumer through real brokers."""

from __future__ import annotations

from typing import Any

import pytest

import ottla
from tests.support import loops
from tests.support.consumers import KINDS, read
from tests.support.telemetry import Telemetry, context, linked

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_poll_is_linked_to_the_sends(kafka: Any, kafka_topic: Any, kind: str) -> None:
    telemetry, topic = Telemetry(), kafka_topic()

    async def send() -> None:
        async with ottla.AsyncProducer(
            kafka.bootstrap, interceptors=[telemetry.producer()]
        ) as producer:
            await producer.send(topic, b"a")

    if kind == "sync":
        with ottla.Producer(kafka.bootstrap, interceptors=[telemetry.producer()]) as producer:
            producer.send(topic, b"a").result(timeout=60)
    else:
        loops.run(send(), 120)
    with KINDS[kind](
        kafka.bootstrap,
        topics=[topic],
        group_id=f"traced-{topic}",
        auto_offset_reset="earliest",
        interceptors=[telemetry.consumer()],
    ) as consumer:
        read(consumer, 1)
    [sent], [poll] = telemetry.spans("send"), telemetry.spans("poll")
    assert linked(poll) == [context(sent)]
    assert telemetry.open_spans() == 0

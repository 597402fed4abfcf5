"""A consumer that is closed, or has no brokers, refuses each call and never hangs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.support.confluent_consumers import (
    PATIENCE,
)


def test_after_close_every_call_is_an_error(either: Any) -> None:
    consumer = either.Consumer({"group.id": "g"})
    consumer.close()
    consumer.close()
    part = either.TopicPartition("t", 0, 1)
    calls = {
        "assign": ([part],),
        "assignment": (),
        "commit": (),
        "committed": ([part],),
        "consume": (),
        "consumer_group_metadata": (),
        "get_watermark_offsets": (part,),
        "incremental_assign": ([part],),
        "memberid": (),
        "offsets_for_times": ([part],),
        "pause": ([part],),
        "poll": (),
        "position": ([part],),
        "seek": (part,),
        "store_offsets": (None, [part]),
        "subscribe": (["t"],),
        "unassign": (),
        "unsubscribe": (),
    }
    for call, arguments in calls.items():
        with pytest.raises(RuntimeError, match="Consumer closed"):
            getattr(consumer, call)(*arguments)
    for call in ("list_topics", "cluster_id"):
        with pytest.raises(RuntimeError, match="Handle has been closed"):
            getattr(consumer, call)()


def test_a_poll_that_is_closed_by_another_thread_ends(peer: Any) -> None:
    consumer = peer.Consumer({"group.id": "g"})
    consumer.assign([peer.TopicPartition("t", 0)])
    ends: list[str] = []

    def poll() -> None:
        try:
            while True:
                consumer.poll(PATIENCE)
        except RuntimeError as error:
            ends.append(str(error))

    thread = threading.Thread(target=poll)
    thread.start()
    consumer.close()
    thread.join(PATIENCE)
    assert ends == ["Consumer closed"]


def test_a_subclass_that_forgets_its_base_is_closed(either: Any) -> None:
    class Forgetful(either.Consumer):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

    with pytest.raises(RuntimeError, match="Consumer closed"):
        Forgetful().poll()


def test_without_a_broker_calls_time_out(either: Any) -> None:
    consumer = either.Consumer({"group.id": "g"})
    part = either.TopicPartition("t", 0, 1)
    assert consumer.poll(0.01) is None
    assert consumer.consume(5, 0.01) == []
    for call in (consumer.list_topics, lambda timeout: consumer.committed([part], timeout=timeout)):
        with pytest.raises(either.KafkaException) as late:
            call(timeout=0.05)
        assert late.value.args[0].code() in {-185, -195}
    consumer.close()

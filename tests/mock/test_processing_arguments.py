"""``ottla.processing`` on the mock: arguments, topics that are missing, signals."""

from __future__ import annotations

import asyncio
import functools
import signal
from typing import Any

import numpy as np
import pytest

import ottla
from ottla import errors
from ottla.processing import AsyncProcessor, Processor
from ottla.schema import Json
from ottla.testing import MockCluster
from tests.support.processing import (
    PROCESSORS,
    committed,
    make,
    run_to_error,
    running,
)
from tests.support.waiting import wait_until


@pytest.fixture(params=PROCESSORS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The class: blocking or asyncio."""
    return PROCESSORS[request.param]


def test_missing_topics_are_an_error_that_names_all(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    processor = kind(print, [topic, "gone"], mock_cluster.bootstrap, group_id="g")
    with pytest.raises(errors.UnknownTopicError) as failed:
        run_to_error(processor)
    for name in ("gone", "orders.retry.1m", "orders.retry.10m", "gone.dead-letters"):
        assert name in str(failed.value)


def test_created_topics_have_the_partitions_of_their_topic(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    processor = make(kind, mock_cluster, print, retry_delays=[90, 3600, 0.25])
    with running(processor):
        wait_until(lambda: committed(mock_cluster, "billing", "orders.retry.90s"))
    with ottla.Client(mock_cluster.bootstrap) as client:
        names = {f"orders.retry.{each}" for each in ("90s", "1h", "250ms")}
        assert {*names, "orders.dead-letters", topic} == set(client.topic_names())
        assert len(client.partitions_for("orders.retry.1h")) == 3


def test_bad_arguments_are_refused(mock_cluster: MockCluster, kind: Any) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"group_id": None}, "group.id is missing"),
        ({"retry_delays": [-1]}, r"retry_delays\[0\] is -1"),
        ({"retry_topic": "orders"}, "two purposes"),
        ({"retry_topic": "{topic}.retry"}, "two purposes"),
        ({"dead_letter_topic": "{topic}"}, "is read, and cannot be"),
        ({"batch": True, "keep_order": True}, "leave out batch"),
        ({"retry_on": [ValueError], "stop_on": [ValueError]}, "two arguments"),
        ({"stop_on": [KeyboardInterrupt]}, "subclass of Exception"),
        ({"enable_auto_commit": True}, "enable.auto.commit"),
        ({"acks": 1}, "acks"),
        ({"request_required_acks": 0}, "request.required.acks"),
        ({"exactly_once": True, "isolation_level": "read_uncommitted"}, "needs read_committed"),
        ({"max_records": 0}, "max_records is 0"),
        ({"retry_topic": "{topic}.{delai}"}, r"retry_topic: 'orders\.\{delai\}' is not a name"),
        ({"dead_letter_topic": "{topic} dead"}, "dead_letter_topic: 'orders dead' is not a name"),
        ({"value_deserializer": "json"}, "value_deserializer is of type str: expected a callable"),
        ({"key_deserializer": Json}, "key_deserializer is the class Json: expected a callable"),
        ({"max_poll_interval_ms": "5m"}, "max.poll.interval.ms is '5m'"),
        *(
            ({name: "false"}, f"{name} is of type str: expected True or False")
            for name in ("batch", "keep_order", "exactly_once", "create_topics")
        ),
        ({"batch": 1}, "batch is of type int: expected True or False"),
        ({"retry_delays": None}, r"retry_delays is None: expected seconds, such as \[60, 600\]"),
        ({"stop_on": None}, "stop_on is None: expected a list"),
        ({"interceptors": None}, "interceptors is None: expected a list"),
        ({"describe_error": None}, "describe_error is of type NoneType: expected a function"),
    ]
    for options, message in cases:
        with pytest.raises(errors.ConfigError, match=message):
            make(kind, mock_cluster, print, **options)
    with pytest.raises(errors.StateError, match="does not run"):
        print(make(kind, mock_cluster, print).producer)


def test_topics_that_are_missing(kind: Any) -> None:
    with pytest.raises(errors.ArgumentTypeError, match="topics is None: expected a topic or a l"):
        kind(print, None, "host:1", group_id="g")
    with pytest.raises(errors.ConfigError, match="topics is empty"):
        kind(print, [], "host:1", group_id="g")


def test_flags_may_be_of_numpy(kind: Any) -> None:
    kind(print, "t", "host:1", group_id="g", batch=np.bool_(True), exactly_once=np.bool_(False))


async def coroutine(_: Any) -> None:
    """A handler of AsyncProcessor."""


def generator(_: Any) -> Any:
    """A mistake: its code does not run when it is called."""
    yield


class Coroutine:
    """An object whose calls are coroutines."""

    async def __call__(self, _: Any) -> None:
        """Do nothing."""


@pytest.mark.parametrize("handler", [coroutine, functools.partial(coroutine), Coroutine()])
def test_a_coroutine_function_is_for_the_processor_of_asyncio(
    mock_cluster: MockCluster, handler: Any
) -> None:
    """Its records counted as handled, and it never ran."""
    text = "handler is a coroutine function, which Processor does not await: use AsyncProcessor"
    with pytest.raises(errors.ArgumentTypeError, match=text):
        make(Processor, mock_cluster, handler)
    make(AsyncProcessor, mock_cluster, handler)


def test_a_handler_that_does_not_run_is_refused(mock_cluster: MockCluster, kind: Any) -> None:
    with pytest.raises(errors.ArgumentTypeError, match="handler is a generator function"):
        make(kind, mock_cluster, generator)
    with pytest.raises(errors.ArgumentTypeError, match="handler is of type NoneType"):
        make(kind, mock_cluster, None)


@pytest.mark.parametrize(
    ("handler", "kinds", "message"),
    [
        (lambda record: coroutine(record), [Processor], "the handler returned a coroutine"),
        (lambda record: generator(record), [Processor, AsyncProcessor], "returned a generator"),
    ],
)
def test_a_record_whose_handler_did_not_run_is_not_committed(
    mock_cluster: MockCluster, topic: str, handler: Any, kinds: list[Any], message: str
) -> None:
    """What such a function returns says that its code has not run."""
    mock_cluster.append(topic, 0, [b"1"])
    for kind in kinds:
        with pytest.raises(errors.ConfigError, match=message):
            run_to_error(make(kind, mock_cluster, handler))
    assert not any(committed(mock_cluster, "billing", topic).values())


def test_no_retry_topic_is_the_dead_letters_of_another_topic(kind: Any) -> None:
    """Its letters would be handled as records to retry."""
    names = {"retry_topic": "{topic}.y", "dead_letter_topic": "{topic}.x.y", "retry_delays": [1]}
    with pytest.raises(errors.ConfigError, match="two purposes"):
        kind(print, ["a", "a.x"], "host:1", group_id="g", **names)


def test_a_signal_that_cannot_be_handled_leaves_the_others_as_they_were(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:

    def run() -> None:
        done = make(kind, mock_cluster, print).run(signals=[signal.SIGTERM, signal.SIGKILL])
        if done is not None:
            asyncio.run(done)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(OSError, match="Invalid argument"):
        run()
    assert signal.getsignal(signal.SIGTERM) is before

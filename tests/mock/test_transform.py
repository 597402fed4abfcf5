"""``transform`` on the mock: transactions that fail, positions, wrong arguments."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest

import ottla
from ottla import deserializers, errors, serializers
from ottla._internal import transform_steps as transformation
from ottla.testing import Fault, MockCluster
from tests.support import loops
from tests.support.arrow import read_rows

CONFIG = {"group.id": "billing", "transactional.id": "billing-1"}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformation, "_PAUSE", 0.001)


def numbers(cluster: MockCluster, topic: str) -> list[int]:
    rows = read_rows(ottla.scan(topic, cluster.bootstrap, isolation_level="read_committed"))
    return sorted(int(row["value"]) for row in rows)


def fill(cluster: MockCluster, count: int) -> None:
    cluster.create_topic("source", partitions=2)
    cluster.create_topic("target", partitions=2)
    with ottla.Producer(cluster.bootstrap) as producer:
        for i in range(count):
            producer.send("source", b"%d" % i, partition=i % 2)


def run(cluster: MockCluster, target: int, **config: str) -> ottla.TransformSummary:
    """Copy until the target has this many records."""
    settings = {**CONFIG, **{name.replace("_", "."): value for name, value in config.items()}}

    class Stop:
        def is_set(self) -> bool:
            return len(numbers(cluster, "target")) >= target

    return ottla.transform(
        lambda record: record.value,
        "source",
        "target",
        cluster.bootstrap,
        settings,
        max_records=10,
        stop=Stop(),
    )


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize(
    ("api", "code", "times"),
    [
        ("Produce", "TOPIC_AUTHORIZATION_FAILED", 2),
        ("EndTxn", "TRANSACTION_ABORTABLE", 1),
        ("TxnOffsetCommit", "ILLEGAL_GENERATION", 2),
    ],
)
def test_a_failed_transaction_is_repeated(
    mock_cluster: MockCluster, version: int, api: str, code: str, times: int
) -> None:
    mock_cluster.set_transaction_version(version)
    fill(mock_cluster, 60)
    mock_cluster.inject(Fault.error(code), api=api, times=times)
    summary = run(mock_cluster, 60)
    assert numbers(mock_cluster, "target") == list(range(60))
    assert (summary.records, summary.aborted) == (60, times)


def test_an_abort_that_fails_for_good_is_an_error(mock_cluster: MockCluster) -> None:
    fill(mock_cluster, 10)
    # Fatal, while the transaction is aborted.
    mock_cluster.inject(Fault.error("TRANSACTION_ABORTABLE"), api="EndTxn", times=2)
    with pytest.raises(errors.BrokerError, match="TRANSACTION_ABORTABLE") as failed:
        run(mock_cluster, 10)
    assert failed.value.fatal


def test_a_transaction_that_always_fails_is_an_error(mock_cluster: MockCluster) -> None:
    fill(mock_cluster, 10)
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce")
    with pytest.raises(errors.TransactionAbortableError, match="TOPIC_AUTHORIZATION_FAILED"):
        run(mock_cluster, 10)
    mock_cluster.clear_faults()
    run(mock_cluster, 10)
    assert numbers(mock_cluster, "target") == list(range(10))


def test_an_abort_before_the_first_commit_skips_nothing(mock_cluster: MockCluster) -> None:
    fill(mock_cluster, 10)
    started = threading.Event()
    stop = threading.Event()
    summaries: list[ottla.TransformSummary] = []

    def copy() -> None:
        summaries.append(
            ottla.transform(
                lambda record: record.value,
                "source",
                "target",
                mock_cluster.bootstrap,
                {**CONFIG, "auto.offset.reset": "latest"},
                stop=stop,
            )
        )

    thread = threading.Thread(target=copy)
    thread.start()
    while len(mock_cluster.committed("billing")) < 2:
        started.wait(0.02)
    mock_cluster.inject(Fault.error("TRANSACTION_ABORTABLE"), api="EndTxn", times=1)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for i in range(10, 20):
            producer.send("source", b"%d" % i, partition=i % 2)
    while len(numbers(mock_cluster, "target")) < 10:
        started.wait(0.02)
    stop.set()
    thread.join(30)
    assert numbers(mock_cluster, "target") == list(range(10, 20))
    assert summaries[0].aborted == 1


@pytest.mark.parametrize(
    ("returned", "message"),
    [((b"k", b"v", b"x"), "expected \\(key, value\\)"), (object(), "value")],
)
def test_a_wrong_output_is_a_type_error(
    mock_cluster: MockCluster, returned: Any, message: str
) -> None:
    fill(mock_cluster, 1)
    with pytest.raises(TypeError, match=message):
        ottla.transform(
            lambda _: returned, "source", "target", mock_cluster.bootstrap, group_id="billing"
        )
    assert numbers(mock_cluster, "target") == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, r"group\.id"),
        ({"group.id": "g", "enable.auto.commit": True}, r"enable\.auto\.commit"),
        ({"group.id": "g", "acks": 1}, r"acks=all"),
    ],
)
def test_wrong_settings(mock_cluster: MockCluster, config: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message):
        ottla.transform(lambda record: record, "a", "b", mock_cluster.bootstrap, config)


@pytest.mark.parametrize("call", [ottla.transform, ottla.transform_async])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": None}, "function is of type NoneType: expected a function"),
        ({"topics": None}, "topics is None: expected a topic or a list"),
        ({"topics": b"a"}, "topics is the bytes b'a': expected a list"),
        ({"topics": []}, "topics is empty: name a topic to read"),
        ({"output": None}, "output is the NoneType None: expected a str"),
        ({"arrow": "false"}, "arrow is of type str: expected True or False"),
        ({"stop": 5}, "stop is of type int: expected a flag"),
    ],
)
def test_arguments_of_another_type(call: Any, arguments: dict[str, Any], message: str) -> None:
    whole = {"function": print, "topics": "a", "output": "b", "config": CONFIG, **arguments}

    def run() -> None:
        # Nothing is connected to first.
        done = call(bootstrap="no-such-host:1", **whole)
        if done is not None:
            loops.run(done)

    with pytest.raises(errors.ConfigError, match=message):
        run()


def test_conversions_that_fail_or_do_not_apply(mock_cluster: MockCluster) -> None:
    fill(mock_cluster, 1)
    where = "source", "target", mock_cluster.bootstrap, CONFIG
    with pytest.raises(errors.SerializationError, match="value of the record at offset 0"):
        ottla.transform(lambda record: record, *where, value_deserializer=deserializers.int32)
    with pytest.raises(errors.SerializationError, match="cannot be serialized"):
        ottla.transform(lambda _: "text", *where, value_serializer=serializers.int32)
    assert numbers(mock_cluster, "target") == []
    with pytest.raises(errors.ConfigError, match="key_serializer: Arrow columns have bytes"):
        ottla.transform(lambda batch: batch, *where, arrow=True, key_serializer=serializers.json)


def test_input_of_transactions_that_are_not_decided_is_refused(mock_cluster: MockCluster) -> None:
    """The processor refuses it likewise: what was made of aborted records would stay."""
    fill(mock_cluster, 1)
    with pytest.raises(errors.ConfigError, match="transform needs read_committed"):
        run(mock_cluster, 1, isolation_level="read_uncommitted")


def test_the_outcome_of_a_commit_is_not_awaited_without_limit(mock_cluster: MockCluster) -> None:
    """The error is clear, and another call continues where the transaction has ended."""
    fill(mock_cluster, 5)
    mock_cluster.inject(Fault.silence(), api="EndTxn")
    limits = {"request_timeout_ms": "300", "delivery_timeout_ms": "500", "max_block_ms": "200"}
    with pytest.raises(errors.TimeoutError, match=r"unknown after 0.5 s \(delivery") as failed:
        run(mock_cluster, 5, **limits)
    assert failed.value.fatal
    assert failed.value.maybe_done
    mock_cluster.clear_faults()
    summary = run(mock_cluster, 5)
    assert numbers(mock_cluster, "target") == list(range(5))
    assert summary.records == 5


async def coroutine(_: Any) -> None:
    """A function that has to be awaited."""


def generator(_: Any) -> Any:
    """A function whose code does not run when it is called."""
    yield


def test_a_function_that_does_not_run_is_refused_at_once() -> None:
    """Nothing is connected to first, and no record counts as transformed."""
    where = "a", "b", "no-such-host:1", CONFIG
    text = "function is a coroutine function, which transform does not await: use transform_async"
    with pytest.raises(errors.ArgumentTypeError, match=text):
        ottla.transform(functools.partial(coroutine), *where)
    with pytest.raises(errors.ArgumentTypeError, match="function is a generator function"):
        ottla.transform(generator, *where)
    with pytest.raises(errors.ArgumentTypeError, match="function is a generator function"):
        loops.run(ottla.transform_async(generator, *where))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("arrow", [False, True])
def test_what_a_function_returns_without_having_run_is_an_error(
    mock_cluster: MockCluster, arrow: bool
) -> None:
    fill(mock_cluster, 1)
    where = "source", "target", mock_cluster.bootstrap, CONFIG
    with pytest.raises(errors.ConfigError, match="the function returned a coroutine"):
        ottla.transform(lambda each: coroutine(each), *where, arrow=arrow)
    with pytest.raises(errors.ConfigError, match="the function returned a generator"):
        loops.run(ottla.transform_async(lambda each: generator(each), *where, arrow=arrow))
    assert numbers(mock_cluster, "target") == []
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        committed = admin.list_group_offsets(["billing"])["billing"]
    assert not any(each.offset for each in committed.values())

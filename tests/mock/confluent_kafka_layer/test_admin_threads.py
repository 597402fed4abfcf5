"""The stand-in's ``AdminClient``: it is lazy, its calls are ordered, bounded and end with it."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from ottla.compat.confluent_kafka import KafkaError, KafkaException, TopicPartition
from ottla.compat.confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    _threads,
)
from ottla.testing import Fault, MockCluster
from tests.support.child import assert_interruptible
from tests.support.subprocesses import run_python
from tests.support.waiting import wait_until


def _threads_of_admins() -> int:
    return sum(thread.name == "ottla-admin" for thread in threading.enumerate())


@pytest.fixture
def admin(mock_cluster: MockCluster) -> Iterator[AdminClient]:
    with AdminClient({"bootstrap.servers": mock_cluster.bootstrap}) as admin:
        yield admin


def _code(call: Callable[[], object]) -> int:
    with pytest.raises(KafkaException) as raised:
        call()
    error: KafkaError = raised.value.args[0]
    return error.code()


def test_constructing_starts_nothing(mock_cluster: MockCluster) -> None:
    before = _threads_of_admins()
    admin = AdminClient({"bootstrap.servers": mock_cluster.bootstrap})
    assert _threads_of_admins() <= before
    assert mock_cluster.request_count("ApiVersions") == 0
    assert len(admin) == 0


def test_calls_return_at_once_and_run_on_few_threads(mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.delay(0.02), api="DescribeCluster")
    before = _threads_of_admins()
    with AdminClient({"bootstrap.servers": mock_cluster.bootstrap}) as admin:
        futures = [admin.describe_cluster() for _ in range(12)]
        assert len(admin) > 0
        for future in futures:
            assert len(future.result(30).nodes) == 3
        assert _threads_of_admins() - before <= _threads.MAX_THREADS
    wait_until(lambda: _threads_of_admins() <= before)
    assert len(admin) == 0


def test_too_many_waiting_calls_fail(
    admin: AdminClient, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_threads, "MAX_WAITING", 2)
    mock_cluster.inject(Fault.delay(0.5), api="DescribeCluster", times=1)
    futures = [admin.describe_cluster() for _ in range(_threads.MAX_THREADS + 3)]
    failures = [each.exception(30) for each in futures]
    codes = {each.args[0].code() for each in failures if each is not None}
    assert codes == {KafkaError._QUEUE_FULL}


def test_a_change_precedes_what_is_asked_after_it(
    admin: AdminClient, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("ordered", partitions=1)
    mock_cluster.append("ordered", 0, [b"a", b"b", b"c"])
    mock_cluster.inject(Fault.delay(0.2), api="DeleteRecords")
    place = TopicPartition("ordered", 0)
    deleted = admin.delete_records([TopicPartition("ordered", 0, 2)])[place]
    earliest = admin.list_offsets({place: OffsetSpec.earliest()})[place]
    assert deleted.result(30).low_watermark == 2
    assert earliest.result(30).offset == 2


def test_changes_happen_in_their_order(admin: AdminClient, mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.delay(0.2), api="CreateTopics", times=1)
    created = admin.create_topics([NewTopic("in-turn", 1, 1)])["in-turn"]
    enlarged = admin.create_partitions([NewPartitions("in-turn", 4)])["in-turn"]
    deleted = admin.delete_topics(["in-turn"])["in-turn"]
    assert [each.result(30) for each in (created, enlarged, deleted)] == [None] * 3


def test_a_call_that_hangs_does_not_hold_up_others(
    admin: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_threads, "_PATIENCE", 0.1)
    resource = ConfigResource("broker", "77", set_config={"log.cleaner.threads": "1"})
    with pytest.deprecated_call():
        hanging = admin.alter_configs([resource], request_timeout=60)[resource]
    assert len(admin.describe_cluster(request_timeout=50).result(40).nodes) == 3
    assert not hanging.done()


def test_closing_ends_calls_that_run_and_that_wait() -> None:
    admin = AdminClient({"bootstrap.servers": "127.0.0.1:1"})
    futures = [admin.describe_cluster() for _ in range(_threads.MAX_THREADS + 4)]
    with admin:
        pass
    codes = {each.exception(10).args[0].code() for each in futures}  # type: ignore[union-attr]
    assert codes == {KafkaError._DESTROY}
    with pytest.raises(RuntimeError, match="AdminClient has been closed"):
        admin.describe_cluster()
    with pytest.raises(RuntimeError, match="Handle has been closed"):
        admin.list_topics()


def test_a_client_that_was_dropped_ends_its_calls_and_its_threads(
    mock_cluster: MockCluster,
) -> None:
    before = _threads_of_admins()
    mock_cluster.inject(Fault.delay(0.1), api="DescribeCluster", times=1)
    future = AdminClient({"bootstrap.servers": mock_cluster.bootstrap}).describe_cluster()
    gc.collect()
    assert len(future.result(30).nodes) == 3
    wait_until(lambda: _threads_of_admins() <= before)
    wait_until(lambda: all(mock_cluster.connections(each) == 0 for each in mock_cluster.brokers))


def test_a_dropped_client_without_calls_closes_its_connections(mock_cluster: MockCluster) -> None:
    admin = AdminClient({"bootstrap.servers": mock_cluster.bootstrap})
    assert admin.list_topics(timeout=30).brokers
    del admin
    gc.collect()
    wait_until(lambda: all(mock_cluster.connections(each) == 0 for each in mock_cluster.brokers))


def test_callbacks_of_futures_may_call(admin: AdminClient) -> None:
    found: list[object] = []
    done = threading.Event()

    def next_call(_: object) -> None:
        found.append(len(admin.list_topics(timeout=30).brokers))
        found.append(len(admin.describe_cluster().result(30).nodes))
        done.set()

    started = time.monotonic()
    admin.create_topics([NewTopic("then", 1, 1)])["then"].add_done_callback(next_call)
    assert done.wait(30)
    assert found == [3, 3]
    # They do not wait for the change whose callback they are in.
    assert time.monotonic() - started < 30


def test_request_timeout_is_the_time_of_the_call(mock_cluster: MockCluster) -> None:
    mock_cluster.inject(Fault.delay(30), api="DescribeCluster")
    with AdminClient({"bootstrap.servers": mock_cluster.bootstrap}) as admin:
        late = admin.describe_cluster(request_timeout=0.2)
        assert _code(lambda: late.result(20)) == KafkaError._TIMED_OUT
        none = admin.describe_cluster(request_timeout=0)
        assert _code(lambda: none.result(20)) == KafkaError._TIMED_OUT


def test_without_brokers_calls_time_out() -> None:
    with AdminClient({"socket.timeout.ms": 50}) as admin:
        future = admin.create_topics([NewTopic("nowhere", 1, 1)])["nowhere"]
        assert _code(lambda: future.result(20)) == KafkaError._TIMED_OUT
        assert _code(lambda: admin.list_topics(timeout=0.1)) == KafkaError._TRANSPORT
        with pytest.deprecated_call():
            assert _code(lambda: admin.list_groups(timeout=0.1)) == KafkaError._TIMED_OUT


def test_a_fork_has_connections_and_threads_of_its_own(mock_cluster: MockCluster) -> None:
    script = f"""
import gc, os, threading, time
from ottla.compat.confluent_kafka.admin import AdminClient
unused, used = (AdminClient({{"bootstrap.servers": "{mock_cluster.bootstrap}"}}) for _ in "ab")
assert len(used.describe_cluster().result(30).nodes) == 3
pid = os.fork()
if pid == 0:
    for admin in unused, used:
        assert len(admin.describe_cluster().result(30).nodes) == 3
        assert len(admin.list_topics(timeout=30).brokers) == 3
    del admin, unused, used
    gc.collect()
    while any(each.name == "ottla-admin" for each in threading.enumerate()):
        time.sleep(0.01)
    os._exit(7)
_, status = os.waitpid(pid, 0)
assert os.waitstatus_to_exitcode(status) == 7
assert len(used.describe_cluster().result(30).nodes) == 3
"""
    run_python(script)


def test_exit_does_not_wait_for_calls() -> None:
    script = """
from ottla.compat.confluent_kafka.admin import AdminClient
admin = AdminClient({"bootstrap.servers": "127.0.0.1:1"})
future = admin.describe_cluster(request_timeout=600)
"""
    started = time.monotonic()
    run_python(script)
    assert time.monotonic() - started < 60


@pytest.mark.parametrize(
    "wait",
    ["admin.list_topics()", "admin.describe_cluster().result()", "admin.poll(600)"],
)
def test_ctrl_c_ends_waits(wait: str) -> None:
    program = f"""
from ottla.compat.confluent_kafka.admin import AdminClient
admin = AdminClient({{"bootstrap.servers": "127.0.0.1:1"}})
try:
    say("waiting")
    {wait}
except KeyboardInterrupt:
    say("interrupted")
"""
    assert_interruptible(program, 1.0)

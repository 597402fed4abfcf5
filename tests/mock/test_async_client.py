"""``AsyncClient`` returns the results of ``Client`` as native futures."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import time
import weakref
from pathlib import Path

import pytest

import ottla
from ottla import AsyncClient, AsyncEvents, errors
from ottla.testing import Fault, MockCluster
from tests.support.child import assert_interruptible, run_child
from tests.support.loops import run

TIMEOUT = 60.0


async def wait_until_fault_hit(cluster: MockCluster, fault: int) -> None:
    """Wait until a request hits the fault."""
    deadline = time.monotonic() + TIMEOUT
    for _ in iter(lambda: cluster.fault_hits(fault), 1):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_results_match_the_sync_client(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with AsyncClient(mock_cluster.bootstrap) as client:
            with ottla.Client(mock_cluster.bootstrap) as twin:
                cluster = await client.cluster([topic])
                assert cluster.cluster_id == twin.cluster().cluster_id
                assert list(cluster.topics) == [topic]
                assert client.leader(topic, 0) == mock_cluster.leader(topic, 0)
                assert await client.topic_names() == twin.topic_names() == [topic]
                assert (await client.cluster(refresh=True)).generation > cluster.generation
                assert list((await client.cluster(all_topics=True)).topics) == [topic]
                spec = {(topic, 0): "latest", (topic, 2): "earliest"}
                assert await client.list_offsets(spec) == twin.list_offsets(spec)
                assert {type(c) for c in client.connections()} == {ottla.ConnectionStatus}
                assert set(client.metrics()) == set(twin.metrics())
        assert repr(client).startswith("AsyncClient(bootstrap=")
        assert repr(client).endswith("closed)")
        with pytest.raises(errors.ClosedError):
            await client.cluster()

    run(work())


def test_methods_match_the_sync_client() -> None:
    def public(cls: type) -> set[str]:
        return {name for name in vars(cls) if not name.startswith("_")}

    # Scans are read by threads. Connecting is a separate call, since a constructor cannot be
    # awaited.
    assert public(AsyncClient) == public(ottla.Client) - {"scan"} | {"connect"}
    assert public(AsyncEvents) == public(ottla.Events)


def test_connect_is_awaitable_and_raises_typed_errors() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{listener.getsockname()[1]}"

    async def work() -> None:
        client = AsyncClient(closed, timeout=5)
        assert client.connections() == []
        with pytest.raises(errors.BootstrapError) as raised:
            await client.connect()
        assert [(a.address, a.phase) for a in raised.value.attempts] == [(closed, "TCP")]
        with pytest.raises(errors.BootstrapError):
            async with client:
                raise AssertionError("the client connected")
        with pytest.raises(errors.ConfigError):
            AsyncClient(closed, no_such_key=1)  # type: ignore[call-arg]

    run(work())


def test_calls_without_a_running_loop_raise(mock_cluster: MockCluster) -> None:
    client = AsyncClient(mock_cluster.bootstrap)
    with pytest.raises(RuntimeError, match="no running event loop"):
        client.cluster()


def test_concurrent_calls_from_loops_in_several_threads(
    mock_cluster: MockCluster, topic: str
) -> None:
    client = AsyncClient(mock_cluster.bootstrap)
    before = threading.active_count()
    most: list[int] = []

    async def work() -> None:
        spec = {(topic, 0): "latest"}
        for _ in range(5):
            listed = await asyncio.gather(*(client.list_offsets(spec) for _ in range(200)))
            assert {found[topic, 0].offset for found in listed} == {0}
            most.append(threading.active_count())

    threads = [threading.Thread(target=run, args=(work(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(most) == 20
    # Waiting starts no threads.
    assert max(most) <= before + len(threads) + 1
    assert client.connections()


def test_waiting_does_not_block_the_loop(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with AsyncClient(mock_cluster.bootstrap) as client:
            await client.cluster([topic])
            mock_cluster.inject(Fault.silence(), api="ListOffsets", times=1)
            listing = asyncio.ensure_future(client.list_offsets({(topic, 0): "latest"}))
            for _ in range(100):
                await asyncio.sleep(0.01)
            # At least a second, far less than the request's timeout.
            assert not listing.done()
            listing.cancel()
            assert (await client.list_offsets({(topic, 1): "latest"}))[topic, 1].offset == 0

    run(work())


def test_client_is_usable_after_a_cancelled_call(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with AsyncClient(mock_cluster.bootstrap) as client:
            await client.cluster([topic])
            fault = mock_cluster.inject(Fault.silence(), api="ListOffsets")
            listing = asyncio.ensure_future(client.list_offsets({(topic, 0): "latest"}))
            await wait_until_fault_hit(mock_cluster, fault)
            listing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await listing
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.list_offsets({(topic, 0): "latest"}), 0.2)
            assert (await client.cluster(refresh=True)).brokers

    run(work())


def test_close_ends_pending_calls(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        client = AsyncClient(mock_cluster.bootstrap)
        await client.cluster([topic])
        fault = mock_cluster.inject(Fault.silence(), api="ListOffsets")
        listing = asyncio.ensure_future(client.list_offsets({(topic, 0): "latest"}))
        await wait_until_fault_hit(mock_cluster, fault)
        await client.close()
        with pytest.raises(errors.ClosedError):
            await listing

    run(work())


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_loops_and_clients_do_not_leak(mock_cluster: MockCluster) -> None:
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def work() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        async with AsyncClient(mock_cluster.bootstrap) as client:
            events = await client.events()
            waiting = asyncio.ensure_future(events.next())
            await client.cluster(refresh=True)
            waiting.cancel()

    run(work())
    before, threads = descriptors(), threading.active_count()
    for _ in range(50):
        run(work())
    gc.collect()
    deadline = time.monotonic() + TIMEOUT
    while descriptors() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert descriptors() <= before
    assert threading.active_count() == threads
    assert [ref for ref in loops if ref() is not None] == []


SETUP = """
import asyncio
cluster = MockCluster(brokers=1)
cluster.create_topic("t")
cluster.inject(Fault.silence(), api="ListOffsets")
"""


def test_ctrl_c_interrupts_the_wait() -> None:
    program = f"""{SETUP}
async def main():
    async with ottla.AsyncClient(cluster.bootstrap) as client:
        waiting = asyncio.ensure_future(client.list_offsets({{("t", 0): "latest"}}))
        say("waiting")
        await waiting
try:
    asyncio.run(main())
except KeyboardInterrupt:
    say("interrupted")
    os._exit(7)
"""
    assert_interruptible(program, 0.5, code=7)


def test_exit_with_a_pending_call() -> None:
    program = f"""{SETUP}
async def main():
    client = ottla.AsyncClient(cluster.bootstrap)
    await client.cluster(["t"])
    waiting = asyncio.ensure_future(client.list_offsets({{("t", 0): "latest"}}))
    await asyncio.sleep(0.1)
    say("leaving")
    sys.exit(21)
asyncio.run(main())
"""
    ended = run_child(program)
    assert ended.output == "leaving\n"
    assert ended.code == 21
    assert ended.seconds < 60


def test_after_fork_the_old_object_raises_and_a_new_one_works() -> None:
    program = f"""{SETUP}
bootstrap = cluster.bootstrap
client = ottla.AsyncClient(bootstrap)
async def use(client):
    return (await client.cluster(["t"])).topics["t"].name
assert asyncio.run(use(client)) == "t"
child = os.fork()
if not child:
    try:
        asyncio.run(use(client))
    except ottla.errors.ClosedError as error:
        assert "forked from it: create a new one here" in str(error)
    else:
        os._exit(1)
    assert repr(client) == "AsyncClient(created in another process)"
    assert asyncio.run(use(ottla.AsyncClient(bootstrap))) == "t"
    os._exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
assert asyncio.run(use(client)) == "t"
say("fine")
"""
    ended = run_child(program)
    assert ended.output.endswith("fine\n"), ended.output
    assert ended.code == 0

"""Proves: a server that accepts connections and never responds is a warning within seconds, and one
line when it has passed; the error of a call that runs out of time names what it waited for.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.scripted_servers import scripted_server, wait_for_end

SILENT = r"the bootstrap server does not respond; `ottla doctor {server}` checks each step"
# What a call says depends on whose deadline passes first, its own or the connection's.
NO_RESPONSE = (
    r"the bootstrap server (does not respond|cannot be used: no response within \d+ ms)"
    r"; `ottla doctor {server}` checks each step"
)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and never responds."""
    with scripted_server(wait_for_end) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[int], list[str]]:
    """The messages of a level."""
    caplog.set_level(logging.INFO)

    def messages(level: int) -> list[str]:
        found = [record for record in caplog.records if record.levelno == level]
        return [record.getMessage() for record in found if record.name == "ottla.client"]

    return messages


def wait_for(messages: Callable[[], list[str]]) -> list[str]:
    deadline = time.monotonic() + 30
    while not (found := messages()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def late(call: Callable[[], object]) -> errors.TimeoutError:
    with pytest.raises(errors.TimeoutError) as caught:
        call()
    return caught.value


def test_lookups_of_a_client_that_has_not_connected(silent: str) -> None:
    with ottla.Client(silent, connect=False) as client:
        for call in (
            lambda: client.cluster(["t"], timeout=0.5),
            lambda: client.list_offsets({("t", 0): "earliest"}, timeout=0.5),
        ):
            error = late(call)
            cause = NO_RESPONSE.format(server=silent)
            assert re.match(rf"looking up \w+ did not succeed within 500 ms: {cause}", str(error))
            assert error.context["address"] == silent
            assert error.context["phase"] == "ApiVersions"
    with ottla.Admin(silent, connect=False) as admin:
        error = late(lambda: admin.list_groups(timeout=0.5))
        assert re.search(NO_RESPONSE.format(server=silent), str(error))


def test_asyncio_calls_say_the_same(silent: str) -> None:
    async def call() -> errors.TimeoutError:
        client = ottla.AsyncClient(silent)
        try:
            with pytest.raises(errors.TimeoutError) as caught:
                await client.cluster(["t"], timeout=0.5)
        finally:
            await client.close()
        return caught.value

    error = asyncio.run(call())
    assert re.search(NO_RESPONSE.format(server=silent), str(error))


def test_of_two_calls_both_name_the_server(silent: str) -> None:
    """One of them asks for the metadata, and the other waits for its response."""
    with ottla.Client(silent, connect=False) as client, ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(late, lambda: client.cluster(["t"], timeout=1)) for _ in range(2)]
        for call in calls:
            assert re.search(NO_RESPONSE.format(server=silent), str(call.result()))


def test_a_warning_within_seconds_and_one_line_when_it_has_passed(
    logged: Callable[[int], list[str]],
) -> None:
    with MockCluster(brokers=1) as cluster, ottla.Client(cluster.bootstrap) as other:
        cluster.inject(Fault.delay(4), api="ApiVersions", times=1)
        began = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            admin = pool.submit(ottla.Admin, cluster.bootstrap)
            (warning,) = wait_for(lambda: logged(logging.WARNING))
            assert time.monotonic() - began < 4
            # Calls copy the levels of the loggers, at most once a second.
            other.topic_names()
            admin.result().close()
    found = re.fullmatch(
        rf"finding the cluster has been failing for 2 s: {SILENT.format(server='.*')} \[.*\]",
        warning,
    )
    assert found, warning
    assert "ApiVersions" in warning
    assert len(logged(logging.WARNING)) == 1
    (recovered,) = wait_for(lambda: logged(logging.INFO))
    assert re.fullmatch(r"recovered after [3-9] s: finding the cluster", recovered)


@pytest.mark.parametrize("maker", ["Producer", "Consumer", "ShareConsumer"])
def test_a_first_use_warns_too(silent: str, logged: Callable[[int], list[str]], maker: str) -> None:
    if maker == "Producer":
        with ottla.Producer(silent, connect=False, max_block_ms=3_500) as producer:
            error = late(lambda: producer.send("t", b""))
            assert re.search(NO_RESPONSE.format(server=silent), str(error))
        warnings = logged(logging.WARNING)
    else:
        made = getattr(ottla, maker)(silent, topics=["t"], group_id="g", connect=False)
        with made as consumer:
            while not (warnings := logged(logging.WARNING)):
                assert not consumer.poll(timeout=0.2)
    assert SILENT.format(server=silent) in warnings[0]


def test_the_warning_counts_from_the_first_attempt(
    silent: str, logged: Callable[[int], list[str]]
) -> None:
    config = {"socket.connection.setup.timeout.ms": 2_500}
    with ottla.Client(silent, config, connect=False) as client:
        late(lambda: client.cluster(timeout=15))
    seconds = [
        int(found[1])
        for line in logged(logging.WARNING)
        if (found := re.match(r"finding the cluster has been failing for (\d+) s", line))
    ]
    assert seconds[0] == 2
    assert 12 <= seconds[1] <= 15


def test_another_server_ends_the_warning_of_a_silent_one(
    silent: str, logged: Callable[[int], list[str]]
) -> None:
    """The silent one is not said to work."""
    with (
        MockCluster(brokers=1) as cluster,
        ottla.Client(cluster.bootstrap) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        cluster.inject(Fault.delay(3.5), api="ApiVersions", times=1)
        admin = pool.submit(ottla.Admin, f"{silent},{cluster.bootstrap}")
        wait_for(lambda: logged(logging.WARNING))
        other.topic_names()
        admin.result().close()
    assert len(logged(logging.WARNING)) in (1, 2)
    assert [re.sub(r"\d", "n", line) for line in wait_for(lambda: logged(logging.INFO))] == [
        "recovered after n s: finding the cluster"
    ]


def test_a_request_without_a_response(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t")
    address = mock_cluster.bootstrap.split(",")[0]
    with ottla.Client(mock_cluster.bootstrap) as client:
        client.cluster(["t"])
        mock_cluster.inject(Fault.delay(5), api="ListOffsets", times=None)
        error = late(lambda: client.list_offsets({("t", 0): "earliest"}, timeout=0.5))
        assert "no response to ListOffsets yet" in str(error)
        assert error.context["address"].startswith(address.split(":")[0])
        mock_cluster.clear_faults()


def test_a_broker_that_cannot_be_reached(mock_cluster: MockCluster) -> None:
    """The bootstrap server responds, and the address that the cluster advertises does not."""
    with scripted_server(wait_for_end) as port:
        mock_cluster.create_topic("t", partitions=1)
        mock_cluster.advertise(1, f"127.0.0.1:{port}")
        with ottla.Client(mock_cluster.bootstrap) as client:
            error = late(lambda: client.list_offsets({("t", 0): "earliest"}, timeout=0.5))
    assert "the broker does not respond; the cluster advertises" in str(error)
    assert error.context["broker"] == 1
    assert error.context["phase"] == "ApiVersions"

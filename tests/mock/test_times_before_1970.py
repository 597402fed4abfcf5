"""Times before 1970 are before all records, in every argument that takes a time.

On the wire, -1, -2 and -3 name the end, the beginning and the latest time: no time may become one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.command import CommandResult, ottla_here
from tests.support.consumers import TIMEOUT

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
TIMES = [EPOCH - timedelta(milliseconds=n) for n in (0.5, 1, 2, 3, 4, 1000)]
TIMES += [datetime.min.replace(tzinfo=timezone.utc)]
TEXTS = [time.isoformat() for time in TIMES] + ["30000d", "9000000d"]


@pytest.fixture
def filled(mock_cluster: MockCluster, producer: ottla.Producer) -> str:
    """A topic whose first two records were deleted, and whose latest time is not its last."""
    mock_cluster.create_topic("old", partitions=1)
    for n, millis in enumerate((5, 6, 7, 9000, 8)):
        producer.send("old", str(n), timestamp=millis).result(timeout=TIMEOUT)
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.delete_records({("old", 0): 2})
    return "old"


@pytest.mark.parametrize("time", TIMES)
def test_the_first_record_is_found(mock_cluster: MockCluster, filled: str, time: datetime) -> None:
    """By clients, consumers, scans and admin clients."""
    place, servers = (filled, 0), mock_cluster.bootstrap
    with ottla.Client(servers) as client, ottla.Admin(servers) as admin:
        assert client.list_offsets({place: time})[place].offset == 2
        assert admin.list_offsets({place: time})[place].offset == 2
        assert sum(batch.num_rows for batch in ottla.scan(filled, client, start=time)) == 3
        assert sum(batch.num_rows for batch in ottla.scan(filled, client, end=time)) == 0
    with ottla.Consumer(servers) as consumer:
        found = consumer.offsets_for_times({place: time})[place]
        assert found is not None
        assert (found.offset, found.timestamp) == (2, 7)

    async def look_up() -> int | None:
        async with ottla.AsyncAdmin(servers) as admin:
            offset = (await admin.list_offsets({place: time}))[place].offset
        async with ottla.AsyncConsumer(servers) as consumer:
            found = (await consumer.offsets_for_times({place: time}))[place]
        assert found is not None
        assert offset == found.offset
        return found.offset

    assert asyncio.run(look_up()) == 2


@pytest.mark.parametrize("text", TEXTS)
def test_commands_begin_at_the_first_record(
    mock_cluster: MockCluster, filled: str, text: str
) -> None:
    """Also if it is so long ago that Python has no such time."""
    servers = mock_cluster.bootstrap
    mock_cluster.commit("readers", filled, 0, 4)

    def run(*arguments: str) -> CommandResult:
        done = ottla_here(*arguments)
        assert "Traceback" not in done.err
        return done

    assert run("consume", servers, "-t", filled, "-e", "-o", text).text == "2\n3\n4\n"
    assert run("consume", servers, "-t", filled, "-o", f"e@{text}").text == ""
    shown = run("offsets", filled, "-b", servers, "--at", text, "--json").text
    assert '"at": 2' in shown
    reset = run("groups", "reset", "readers", "-b", servers, "--to", text, "--yes")
    assert reset.code == 0, reset.err
    assert mock_cluster.committed("readers") == {(filled, 0): 2}


def test_milliseconds_before_1970_are_before_all_records(
    mock_cluster: MockCluster, filled: str
) -> None:
    """As a number of ``s@`` and ``e@``."""
    for spec, expected in (("s@-1", "2\n3\n4\n"), ("s@-3", "2\n3\n4\n"), ("e@-2", "")):
        done = ottla_here("consume", mock_cluster.bootstrap, "-t", filled, "-e", "-o", spec)
        assert (done.text, done.err) == (expected, ""), spec


def test_a_time_of_a_record_finds_it(mock_cluster: MockCluster, filled: str) -> None:
    """A part of a millisecond is dropped from both alike."""
    time = EPOCH + timedelta(milliseconds=8999, microseconds=999)
    call: Callable[[datetime], Any]
    with (
        ottla.Admin(mock_cluster.bootstrap) as admin,
        ottla.Client(mock_cluster.bootstrap) as client,
    ):
        for call in (
            lambda time: admin.list_offsets({(filled, 0): time}),
            lambda time: client.list_offsets({(filled, 0): time}),
        ):
            assert call(time)[filled, 0].offset == 3
            later = call(time + timedelta(microseconds=2))[filled, 0]
            assert later.offset == 3
            assert call(time + timedelta(milliseconds=2))[filled, 0].offset in (None, -1)


def test_negative_numbers_stay_errors(mock_cluster: MockCluster, filled: str) -> None:
    """They are not times, but mistakes for the names."""
    with ottla.Client(mock_cluster.bootstrap) as client, pytest.raises(errors.ConfigError):
        client.list_offsets({(filled, 0): -2})
    with ottla.Admin(mock_cluster.bootstrap) as admin, pytest.raises(errors.ConfigError):
        admin.list_offsets({(filled, 0): -2})

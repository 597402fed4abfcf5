"""The console's stream: samples and events of the client, shared by all pages."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ottla
from ottla.console import Console, serve
from ottla.console.observer import KEPT_EVENTS, Observer
from ottla.console.source import Source
from ottla.testing import MockCluster
from tests.support.console import Stream, request
from tests.support.waiting import wait_until


def test_the_stream_has_the_cluster_and_its_events(
    console: Console, mock_cluster: MockCluster, topic: str
) -> None:
    with Stream(console) as stream:
        cluster = stream.wait_for("cluster")
        assert [broker["id"] for broker in cluster["brokers"]] == [1, 2, 3]
        assert cluster["partitions"] == 3
        connections = stream.wait_for("connections")
        assert {each["state"] for each in connections} <= {"connected", "connecting"}
        leader = mock_cluster.leader(topic, 0)
        assert leader is not None
        mock_cluster.move_leader(topic, 0, leader % 3 + 1)
        moved: list[dict[str, Any]] = []
        version = cluster["version"]
        while not moved or version == cluster["version"]:
            kind, value = next(stream)
            if kind == "events":
                moved += [each for each in value if each["kind"] == "leader_changed"]
            if kind == "cluster":
                version = value["version"]
        assert [(each["topic"], each["partition"]) for each in moved] == [(topic, 0)]
        assert (moved[0]["before"], moved[0]["after"]) == (leader, leader % 3 + 1)


def test_an_unreachable_cluster_is_shown(mock_cluster: MockCluster) -> None:
    for broker in mock_cluster.brokers:
        mock_cluster.stop_broker(broker)
    with ottla.Client(mock_cluster.bootstrap, connect=False) as client, serve(client) as console:
        with Stream(console) as stream:
            attempts = next(value for kind, value in stream if kind == "connections" and value)
            assert {each["role"] for each in attempts} == {"bootstrap"}
            problem = next(value for kind, value in stream if kind == "problem" and value)
            assert "no metadata" in problem["message"]
        mock_cluster.start_broker(1)
        with Stream(console) as stream:
            assert stream.wait_for("cluster")["cluster_id"]


def test_a_broker_that_only_replicas_name_is_missing(
    console: Console, mock_cluster: MockCluster, topic: str
) -> None:
    with Stream(console) as stream:
        stream.wait_for("cluster")
        mock_cluster.stop_broker(2)
        missing = next(
            value
            for kind, value in stream
            if kind == "cluster" and any(each["missing"] for each in value["brokers"])
        )
    broker = missing["brokers"][1]
    assert (broker["id"], broker["address"], broker["leads"]) == (2, None, 0)
    assert broker["replicas"] == 3
    rows = request(console, "/api/topics").json["rows"]
    assert rows[0]["under_replicated"] == 3
    partition = request(console, f"/api/topic?name={topic}").json["rows"][0]
    assert partition["state"] == "under"


def test_a_client_without_open_pages_is_not_sampled(
    console: Console, mock_cluster: MockCluster
) -> None:
    with Stream(console) as stream:
        stream.wait_for("cluster")
    # The server notices a closed page with the next sample that it sends.
    while mock_cluster.request_count("Metadata") < 3:
        time.sleep(0.1)

    def is_quiet() -> bool:
        before, started = mock_cluster.request_count("Metadata"), time.monotonic()
        time.sleep(4)
        sent = mock_cluster.request_count("Metadata") - before
        # The client's events request the metadata each 5 s.
        return sent <= 1 + (time.monotonic() - started) / 5

    wait_until(is_quiet)


def test_fifty_pages_share_each_sample(console: Console, mock_cluster: MockCluster) -> None:
    pages = [Stream(console) for _ in range(50)]
    try:
        before = mock_cluster.request_count("Metadata")
        with ThreadPoolExecutor(50) as pool:
            versions = list(pool.map(lambda page: page.wait_for("cluster")["version"], pages))
            assert len(set(versions)) == 1
            paths = ["/api/groups"] * 100
            before_groups, started = mock_cluster.request_count("ListGroups"), time.monotonic()
            statuses = list(pool.map(lambda path: request(console, path).status, paths))
        assert statuses == [200] * 100
        # Pages share the list of groups for two seconds: three brokers are asked for each.
        lists = (mock_cluster.request_count("ListGroups") - before_groups) / 3
        assert lists <= 2 + (time.monotonic() - started) / 2
        assert mock_cluster.request_count("Metadata") - before < 50
    finally:
        for page in pages:
            page.close()


def test_a_closed_client_is_shown_as_closed(mock_cluster: MockCluster) -> None:
    client = ottla.Client(mock_cluster.bootstrap)
    with serve(client) as console, Stream(console) as stream:
        stream.wait_for("cluster")
        client.close()
        problem = next(value for kind, value in stream if kind == "problem" and value)
        assert "closed" in problem["message"]


async def _events_of_a_late_page(source: Source) -> list[str]:
    observer = Observer(source)
    for number in range(3 * KEPT_EVENTS):
        await observer.add_event({"message": str(number)})
    text = await anext(aiter(observer.stream()))
    return [event["message"] for event in json.loads(text.partition("data: ")[2])]


def test_the_time_line_is_bounded(client: ottla.Client) -> None:
    seen = asyncio.run(_events_of_a_late_page(Source(client)))
    assert seen == [str(number) for number in range(2 * KEPT_EVENTS, 3 * KEPT_EVENTS)]


def test_a_page_that_takes_its_messages_slowly_misses_none(client: ottla.Client) -> None:
    """Regression: what was published between two messages of a page never reached it."""

    async def check() -> None:
        observer = Observer(Source(client))
        await observer.publish("cluster", {})
        await observer.publish("connections", [])
        stream = observer.stream()
        await anext(stream)
        await observer.publish("problem", {"message": "meanwhile"})
        await observer.add_event({"message": "meanwhile"})
        seen = [await anext(stream) for _ in range(3)]
        assert sum("meanwhile" in each for each in seen) == 2

    asyncio.run(check())

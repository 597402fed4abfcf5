"""Notebooks show ottla's objects as small tables: escaped, bounded, and without a request."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import ottla
from ottla._internal.notebook import MAX_ROWS, MAX_TEXT, connections_html, record_batch_html
from ottla.doctor.facts import Facts
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge
from ottla.testing import MockCluster
from tests.support.html_document import Document, parse
from tests.unit.test_doctor_flowchart import healthy
from tests.unit.test_doctor_html import HOSTILE, SHOWN, hostile
from tests.unit.test_doctor_verdict import endpoint, step

# A table of `MAX_ROWS` rows with short texts.
SMALL = 24_000


def shown(thing: Any) -> Document:
    return parse(thing._repr_html_())


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    """A cluster with more topics and partitions than a table has rows."""
    with MockCluster() as cluster:
        for i in range(MAX_ROWS + 5):
            cluster.create_topic(f"orders-{i:02}", partitions=2)
        cluster.create_topic("wide", partitions=MAX_ROWS + 7)
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: MockCluster) -> Iterator[ottla.Client]:
    with ottla.Client(cluster.bootstrap) as client:
        yield client


def test_a_cluster(client: ottla.Client) -> None:
    snapshot = client.cluster(client.topic_names())
    found = shown(snapshot)
    assert f"Cluster {snapshot.cluster_id}: 3 brokers, {MAX_ROWS + 6} topics" in found.text
    assert f"{snapshot.brokers[2].host}:{snapshot.brokers[2].port}" in found.text
    assert "orders-00" in found.text
    assert "… and 6 more" in found.text
    # A heading and rows, twice.
    assert found.tags.count("tr") == 2 + 3 + MAX_ROWS
    assert len(found.source) < SMALL


def test_a_topic(client: ottla.Client) -> None:
    topic = client.cluster(["wide"]).topics["wide"]
    found = shown(topic)
    assert f"Topic wide: {MAX_ROWS + 7} partitions" in found.text
    assert "… and 7 more" in found.text
    first = topic.partitions[0]
    assert ", ".join(map(str, first.replicas)) in found.text
    assert len(found.source) < SMALL
    small = shown(client.cluster(["orders-00"]).topics["orders-00"])
    assert small.tags.count("tr") == 3
    assert "more" not in small.text


def test_a_partition_without_a_leader_is_marked() -> None:
    with MockCluster() as cluster, ottla.Client(cluster.bootstrap) as client:
        cluster.create_topic("alone", partitions=3, replication=1)
        cluster.stop_broker(3)
        topic = client.cluster(["alone"]).topics["alone"]
    leaders = [partition.leader for partition in topic.partitions.values()]
    assert leaders.count(None) == 1
    assert "none" in shown(topic).texts


def test_connections_are_a_list_with_a_table(client: ottla.Client) -> None:
    client.cluster()
    connections = client.connections()
    assert isinstance(connections, ottla.Connections)
    assert isinstance(connections, list)
    assert {type(each) for each in connections} == {ottla.ConnectionStatus}
    found = shown(connections)
    assert connections[0].address in found.text
    assert "connected" in found.text
    many = ottla.Connections(connections * 50)
    assert f"… and {len(many) - MAX_ROWS} more" in shown(many).text
    assert len(shown(many).source) < SMALL
    assert shown(ottla.Connections()).text == "0 connections"
    assert ottla.Connections() == []
    assert pickle.loads(pickle.dumps(ottla.Connections())) == []


@pytest.mark.parametrize("kind", [ottla.Producer, ottla.Consumer, ottla.ShareConsumer])
def test_every_client_returns_connections(cluster: MockCluster, kind: type) -> None:
    arguments = {} if kind is ottla.Producer else {"group_id": "g"}
    with kind(cluster.bootstrap, **arguments) as client:
        assert isinstance(client.connections(), ottla.Connections)


def test_hostile_connections_are_shown_and_not_interpreted() -> None:
    class Status:
        broker, role, state, phase = 1, "data", "backing_off", HOSTILE
        address = last_error = HOSTILE
        round_trip_time, in_flight = None, 0

    found = parse(connections_html([Status()]))  # type: ignore[list-item]
    assert found.text.count(SHOWN) == 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"text", "text"),
        ("text", "text"),
        (None, "None"),
        ("größe".encode(), "größe"),
        (b"\xff\x00", "ff00"),
        (b"", ""),
        (b"x" * 1_000_000, "x" * MAX_TEXT + "…"),
        # Cut within a character of several bytes.
        (b"a" + "ä".encode() * 1_000, "a" + "ä" * (MAX_TEXT - 1) + "…"),
        ("日本".encode() * 500, "日本" * (MAX_TEXT // 2) + "…"),
        # Ends within a character.
        ("日本".encode()[:-1], "日本".encode()[:-1].hex()),
        (b"\xff" * 1_000_000, "ff" * (MAX_TEXT // 2) + "…"),
        ({"a": [1, 2]}, "{'a': [1, 2]}"),
        (b"two\nlines\t\x00", r"two\nlines\t\x00"),
    ],
)
def test_keys_and_values(value: Any, expected: str) -> None:
    record: Any = ottla.Record("t", 0, 1, key=value, value=value)
    found = shown(record)
    assert found.texts.count(expected) == (2 if expected else 0)
    assert len(found.source) < 4_000


@pytest.mark.parametrize(
    "value",
    [
        {str(i): "x" * 10_000 for i in range(10_000)},
        ["x" * 1_000_000],
        [b"x" * 1_000_000],
        [[[[[[["deep"]]]]]]],
        10**10_000,
        "x" * 1_000_000,
    ],
    ids=["dict", "list", "bytes", "nested", "int", "str"],
)
def test_any_value_of_a_deserializer_stays_small(value: Any) -> None:
    assert len(ottla.Record("t", 0, 1, value=value)._repr_html_()) < 4_000


def test_a_record() -> None:
    headers = [(f"h{i}", b"v") for i in range(MAX_ROWS + 3)]
    record = ottla.Record("orders", 2, 17, timestamp=1_764_000_000_123, headers=headers)
    found = shown(record)
    assert "Record orders-2 at offset 17" in found.text
    assert "2025-11-24 16:00:00.123 UTC" in found.text
    assert "Header h0" in found.text
    assert "… and 3 more" in found.text
    assert f"h{MAX_ROWS + 1}" not in found.text
    assert "none" in shown(ottla.Record("t", 0, 1)).texts
    far = shown(ottla.Record("t", 0, 1, timestamp=2**62)).text
    assert f"{2**62} ms since 1970" in far


def test_a_hostile_record_is_shown_and_not_interpreted() -> None:
    headers = [(HOSTILE[:60], HOSTILE.encode())]
    data = HOSTILE.encode()
    record = ottla.Record(HOSTILE, 0, 1, key=data, value=HOSTILE, headers=headers)
    found = shown(record)
    assert found.text.count("<script>alert(1)</script>") == 5
    assert SHOWN in found.text


def test_a_batch(cluster: MockCluster, client: ottla.Client) -> None:
    with ottla.Producer(client) as producer:
        for i in range(MAX_ROWS + 4):
            producer.send("orders-01", f"<b>{i}</b>", key=b"\xff", partition=0).result(timeout=30)
    [batch] = ottla.scan("orders-01", client, partitions=[0])
    found = shown(batch)
    assert f"RecordBatch: {MAX_ROWS + 4} rows" in found.text
    assert "<b>0</b>" in found.text
    assert f"<b>{MAX_ROWS}</b>" not in found.text
    assert "… and 4 more" in found.text
    assert "ff" in found.texts
    assert len(found.source) < 2 * SMALL


def test_a_wide_batch_with_hostile_columns_is_bounded() -> None:
    columns = [HOSTILE, *(f"c{i}" for i in range(10_000))]
    row = (HOSTILE, *(b"x" * 1_000 for _ in range(10_000)))
    source = record_batch_html(columns, [row] * MAX_ROWS, 1_000_000)
    found = parse(source)
    assert len(source) < 150_000
    assert "… and 9981 more columns" in found.text
    assert "… and 999980 more" in found.text
    assert found.text.count("<script>alert(1)</script>") == MAX_ROWS + 1
    assert parse(record_batch_html([], [], 0)).text == "RecordBatch: 0 rows, 0 columns"


def test_a_report() -> None:
    seen = Facts("PLAINTEXT", (endpoint("kafka.example.com", step("TCP", "refused")),))
    report = Report(seen, judge(seen))
    found = shown(report)
    assert "Clients fail at TCP." in found.text
    assert "refuses connections" in found.text
    assert "not reached" in found.text
    assert len(found.source) < SMALL
    good = healthy()
    assert "Clients can use the cluster." in shown(Report(good, judge(good))).text
    evil = hostile(seen)
    assert SHOWN in shown(Report(evil, judge(evil))).text


def test_styles_fit_light_and_dark_themes() -> None:
    """Text and background are the notebook's."""
    for style in shown(ottla.Record("t", 0, 1, headers=[("h", None)])).styles:
        properties = {part.split(":")[0].strip() for part in style.split(";") if part}
        assert not properties & {"color", "background", "background-color"}, style


def test_no_request_is_made(cluster: MockCluster, client: ottla.Client) -> None:
    snapshot = client.cluster(client.topic_names())
    connections = client.connections()
    apis = ("ApiVersions", "Metadata", "ListOffsets", "Fetch")
    before = [cluster.request_count(api) for api in apis]
    for thing in (snapshot, snapshot.topics["wide"], connections):
        assert thing._repr_html_()
    assert [cluster.request_count(api) for api in apis] == before
    with ottla.Client(cluster.bootstrap) as closed:
        snapshot = closed.cluster()
    assert "3 brokers" in shown(snapshot).text

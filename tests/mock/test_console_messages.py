"""The console's messages over HTTP: what is read, in which order, and its bounds."""

from __future__ import annotations

import csv
import io
import json
import struct

import pytest

import ottla
from ottla.console import Console, serve
from ottla.schema import Avro, Registry
from ottla.testing import Fault, MockCluster, MockRegistry
from tests.support.console import request


def test_messages_with_a_schema_are_decoded(
    client: ottla.Client, mock_cluster: MockCluster, single: str
) -> None:
    schema = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
    with MockRegistry(user_info="alice:secret") as mock:
        registry = Registry(mock.url, basic_auth_user_info="alice:secret")
        value = Avro(registry, schema=schema, register=True)
        with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
            producer.send(single, {"id": 7}).result(timeout=30)
        with ottla.Producer(mock_cluster.bootstrap) as producer:
            producer.send(single, b"no Avro").result(timeout=30)
        with serve(client, schema_registry=registry) as console:
            assert request(console, "/api/about").json["has_registry"]
            path = f"/api/messages?topic={single}&value_format=avro"
            found = request(console, path).json
            first, second = found["records"]
            assert (first["value"]["kind"], first["value"]["text"]) == ("json", '{"id": 7}')
            assert second["error"]
            assert f"--value-format=avro --schema-registry={mock.url}" in found["command"]
            assert "secret" not in json.dumps(found)
            both = request(console, f"{path}&value_as=hex")
            assert (both.status, "excludes" in both.json["message"]) == (400, True)
            saved = request(console, path.replace("?", "/download?") + "&as=jsonl").body
            assert json.loads(saved.splitlines()[0])["value"] == {"id": 7}


def test_the_newest_matches_are_found_backwards(
    console: Console, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: they were read from the beginning, and an early end returned the oldest."""
    mock_cluster.create_topic("long", partitions=2)
    for partition in range(2):
        values = [b"x" if n % 1_000 == 0 else b"y" for n in range(20_000)]
        mock_cluster.append("long", partition, values)
    path = "/api/messages?topic=long&last=6&value=x"
    found = request(console, path).json
    assert found["ended"] == "end"
    offsets = sorted((each["partition"], each["offset"]) for each in found["records"])
    assert len(offsets) == 6
    everything = request(console, "/api/messages?topic=long&last=1000&value=x").json
    assert len(everything["records"]) == 40
    assert found["records"] == everything["records"][-6:]
    # With room for little, the windows get smaller, and what is shown is the newest.
    monkeypatch.setattr("ottla.console.messages.reading._MAX_BYTES", 100_000)
    small = request(console, "/api/messages?topic=long&last=6").json
    assert {each["offset"] for each in small["records"]} <= set(range(19_990, 20_000))
    assert request(console, "/api/messages?topic=long&last=0&value=x").json["records"] == []


def test_the_size_of_a_response_is_bounded(
    console: Console, producer: ottla.Producer, single: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        producer.send(single, None, headers=[("large", b"x" * 10_000)])
    producer.flush()
    monkeypatch.setattr("ottla.console.messages.reading._MAX_BYTES", 100_000)
    first = request(console, f"/api/messages?topic={single}").json
    assert first["ended"] == "size"
    assert 5 < len(first["records"]) < 15
    places = ",".join(f"{place}:{offset}" for place, offset in first["next"].items())
    rest = request(console, f"/api/messages?topic={single}&after={places}").json
    seen = [each["offset"] for each in [*first["records"], *rest["records"]]]
    assert seen == list(range(len(seen)))
    saved = request(console, f"/api/messages/download?topic={single}").headers
    assert saved["content-disposition"] == f'attachment; filename="{single}.part.jsonl"'


def test_the_end_of_a_reading_holds_for_its_next_page(
    console: Console, producer: ottla.Producer, single: str
) -> None:
    for n in range(10):
        producer.send(single, b"x", timestamp=1_000 + n)
    producer.flush()
    path = f"/api/messages?topic={single}&start=e%401005&count=3"
    first = request(console, path).json
    rest = request(console, f"{path}&after=0:{first['next']['0']}").json
    seen = [each["timestamp"] for each in [*first["records"], *rest["records"]]]
    assert seen == [1_000, 1_001, 1_002, 1_003, 1_004]


def test_odd_records_are_shown(console: Console, producer: ottla.Producer, single: str) -> None:
    """Regression: one of them made the whole page an error."""
    values = [b"[" * 100_000, b'"\\ud800"', b"\xff\x00", b"", b'{"a": 1e999}']
    for value in values:
        producer.send(single, value)
    producer.flush()
    for query in ["", "&value_as=json", "&where=a=1", "&value_as=long"]:
        assert request(console, f"/api/messages?topic={single}{query}").status == 200, query
    for kind in ["jsonl", "csv", "parquet"]:
        path = f"/api/messages/download?topic={single}&as={kind}"
        assert request(console, path).status == 200, kind


def test_a_stalled_partition_does_not_hide_the_others(
    console: Console, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_cluster.create_topic("stalled", partitions=2)
    for partition in range(2):
        mock_cluster.append("stalled", partition, [b"x"])
    mock_cluster.inject(Fault.silence(), api="Fetch", topic="stalled", partition=1)
    monkeypatch.setattr("ottla.console.messages.reading.SECONDS", 1.0)
    found = request(console, "/api/messages?topic=stalled").json
    assert found["ended"] == "time"
    assert {each["partition"] for each in found["records"]} <= {0}


def test_reading_goes_on_in_a_topic_of_many_partitions(
    console: Console, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("wide", partitions=3_000)
    for partition in range(3_000):
        mock_cluster.append("wide", partition, [b"x"])
    first = request(console, "/api/messages?topic=wide&count=1000").json
    assert (first["ended"], len(first["records"])) == ("count", 1_000)
    places = ",".join(f"{place}:{offset}" for place, offset in first["next"].items())
    rest = request(console, f"/api/messages?topic=wide&count=1000&after={places}").json
    seen = [each["partition"] for each in [*first["records"], *rest["records"]]]
    assert len(set(seen)) == len(seen) == 2_000


@pytest.mark.parametrize(
    "value",
    [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\uff1d1+1",
        "=\n",
        "=cmd|' /C calc'!A0",
    ],
)
def test_no_cell_of_a_csv_file_is_a_formula(
    console: Console, producer: ottla.Producer, single: str, value: str
) -> None:
    headers = [(value, value.encode()), ("plain", b"text")]
    producer.send(single, value.encode(), key=value.encode(), headers=headers).result(timeout=30)
    body = request(console, f"/api/messages/download?topic={single}&as=csv").body.decode()
    [_, row] = csv.reader(io.StringIO(body, newline=""))
    assert row[3:5] == [f"'{value}", f"'{value}"]
    assert json.loads(row[5]) == [[value, value], ["plain", "text"]]
    as_json = f"/api/messages/download?topic={single}&as=csv&value_as=string"
    [_, row] = csv.reader(io.StringIO(request(console, as_json).body.decode(), newline=""))
    assert row[4] == f"'{value}"


@pytest.mark.parametrize(
    ("kind", "data", "cell"),
    [
        ("long", (-5).to_bytes(8, "big", signed=True), "-5"),
        ("double", struct.pack(">d", -0.5), "-0.5"),
        ("json", b"-5", "-5"),
        ("json", b'"-5"', "'-5"),
        ("json", b"true", "true"),
        ("string", b"-5", "'-5"),
        ("string", b"5", "5"),
    ],
)
def test_a_number_stays_a_number_in_a_csv_file(
    console: Console, producer: ottla.Producer, single: str, kind: str, data: bytes, cell: str
) -> None:
    producer.send(single, data).result(timeout=30)
    path = f"/api/messages/download?topic={single}&as=csv&value_as={kind}"
    [_, row] = csv.reader(io.StringIO(request(console, path).body.decode(), newline=""))
    assert row[4] == cell


def test_half_of_a_surrogate_pair_is_in_every_file(
    console: Console, producer: ottla.Producer, single: str
) -> None:
    values = [b'{"s":"cut \\ud83d"}', b'"\\ud83d"', b'{"\\ude00":1}', b"\xff", b'{"s":"fine"}']
    for value in values:
        producer.send(single, value)
    producer.flush()
    path = f"/api/messages/download?topic={single}&value_as=json"
    found = request(console, f"{path}&as=jsonl")
    assert found.status == 200
    lines = [json.loads(line) for line in found.body.splitlines()]
    assert [each["value"] for each in lines] == [
        {"s": "cut \ud83d"},
        "\ud83d",
        {"\ude00": 1},
        "\ufffd",
        {"s": "fine"},
    ]
    assert [n for n, each in enumerate(lines) if "error" in each] == [3]
    found = request(console, f"{path}&as=csv")
    assert found.status == 200
    rows = list(csv.reader(io.StringIO(found.body.decode(), newline="")))[1:]
    assert [json.loads(row[4])["s"] for row in (rows[0], rows[4])] == ["cut \ud83d", "fine"]
    assert [row[4] for row in rows[1:4]] == ["\\ud83d", '{"\\ude00": 1}', "\\xff"]
    assert request(console, f"{path}&as=parquet").status == 200
    assert request(console, f"/api/messages?topic={single}&value_as=json").status == 200

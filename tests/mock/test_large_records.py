"""Large records on the mock: printed, shown and saved in pieces, as small ones are in one."""

from __future__ import annotations

import csv
import io
import json
import random

import pytest

import ottla as package
from ottla.cli.consume import newest
from ottla.cli.formats import Record
from ottla.console import Console
from ottla.testing import MockCluster
from tests.support.command import ottla, ottla_here
from tests.support.console import request

# Above one piece; with quotes, control characters, and characters of two and four bytes across the
# ends of pieces.
LARGE = ('x"\\\n\x00é𝄞,' * 200_000).encode()
NUL = "\N{SYMBOL FOR NULL}"
NO_TEXT = LARGE + b"\xff\xfe"


@pytest.fixture
def large(mock_cluster: MockCluster) -> str:
    """A topic with two large records, and a small one between them."""
    mock_cluster.create_topic("large", partitions=1)
    config = {"max.request.size": 16 << 20, "compression.type": "zstd", "linger.ms": 0}
    with package.Producer(mock_cluster.bootstrap, config) as producer:
        for key, value in [(b"k", LARGE), (None, b"small"), (LARGE, NO_TEXT)]:
            producer.send("large", value, key, headers=[("n", "1")], timestamp=1000).result(
                timeout=60
            )
    return "large"


def test_large_records_are_printed_as_they_are(mock_cluster: MockCluster, large: str) -> None:
    arguments = ("consume", mock_cluster.bootstrap, "-t", large, "-e")
    done = ottla(*arguments, "-D", "|")
    assert done.out == LARGE + b"|small|" + NO_TEXT + b"|", done.err
    done = ottla(*arguments, "-K", ":", "-D", "|")
    assert done.out == b"k:" + LARGE + b"|:small|" + LARGE + b":" + NO_TEXT + b"|", done.err
    done = ottla(*arguments, "-f", "%o %s;")
    assert done.out == b"0 " + LARGE + b";1 small;2 " + NO_TEXT + b";", done.err


def test_large_records_are_printed_as_one_json_line(mock_cluster: MockCluster, large: str) -> None:
    done = ottla("consume", mock_cluster.bootstrap, "-t", large, "-e", "--json")
    lines = done.out.splitlines()
    assert len(lines) == 3, done.err
    first, second, third = map(json.loads, lines)
    assert (first["key"], first["value"], second["value"]) == ("k", LARGE.decode(), "small")
    assert (third["key"], third["value"]) == (LARGE.decode(), NO_TEXT.decode(errors="replace"))
    assert list(first) == list(second)
    # As the module json writes it: another reader may depend on that.
    assert [json.dumps(json.loads(line), ensure_ascii=False).encode() for line in lines] == lines


def test_large_records_are_shown_and_saved(console: Console, large: str) -> None:
    found = request(console, f"/api/messages?topic={large}").json
    first, small, third = found["records"]
    assert first["value"] == {
        "kind": "text", "text": LARGE.decode()[:2_000], "size": len(LARGE), "cut": True
    }  # fmt: skip
    assert (small["value"]["text"], third["value"]["kind"]) == ("small", "hex")
    path = f"/api/messages/download?topic={large}&as="
    lines = request(console, f"{path}jsonl").body.splitlines()
    assert [json.loads(line)["offset"] for line in lines] == [0, 1, 2]
    assert json.loads(lines[2])["value"] == NO_TEXT.decode(errors="replace")
    csv.field_size_limit(1 << 30)
    # The reader of Python 3.10 refuses NUL.
    text = request(console, f"{path}csv").body.decode().replace("\0", NUL)
    parsed = csv.reader(io.StringIO(text, newline=""))
    rows = [[cell.replace(NUL, "\0") for cell in row] for row in parsed]
    assert [row[:4] for row in rows[1:3]] == [
        ["0", "0", rows[1][2], "k"],
        ["0", "1", rows[2][2], ""],
    ]
    assert [row[4] for row in rows[1:3]] == [LARGE.decode(), "small"]
    assert (rows[3][3], rows[3][4]) == (LARGE.decode(), NO_TEXT.decode(errors="backslashreplace"))
    assert {len(row) for row in rows} == {6}


def test_the_newest_records_are_read_again_if_they_are_too_large_to_keep(
    mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: ``--last`` kept twice as many records as were wanted, of whatever size."""
    monkeypatch.setattr(newest, "_MAX_KEPT", 3_000)
    monkeypatch.setattr(newest, "_MAX_READ", 2_500)
    monkeypatch.setattr(newest, "_PLACES", 10)
    mock_cluster.create_topic("t", partitions=3)
    order = random.Random(7).sample(range(60), 60)
    with package.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
        for number in order:
            value = f"{number} ".encode().ljust(40 * number + 3)
            producer.send("t", value, partition=number % 3, timestamp=1_000 + number)
        producer.flush()
    held: list[int] = []
    read_missing = newest._read_missing

    def spied(group: list[newest._Candidate], *rest: object) -> list[Record]:
        records: list[Record] = read_missing(group, *rest)  # type: ignore[arg-type]
        again = [each.size for each in group if each.record is None]
        held.append(sum(again[1:]))
        return records

    monkeypatch.setattr(newest, "_read_missing", spied)
    done = ottla_here("consume", mock_cluster.bootstrap, "-t", "t", "--last", "20")
    assert [int(line.split()[0]) for line in done.out.splitlines()] == list(range(40, 60))
    assert len(held) > 5
    # What is read again at a time is within the limit, or one record.
    assert max(held) <= 2_500

"""docs/guides/performance.md: its defaults are the client's, its figures are measured ones."""

from __future__ import annotations

import re

from ottla import _core
from tests.support.figures import cell, column, differences, prose, sentence, without
from tests.support.jars import REPOSITORY

PAGE = (REPOSITORY / "docs" / "guides" / "performance.md").read_text(encoding="utf-8")
PROSE = prose("guides/performance.md")
# Of the text, not of an address, a key's value or the name of a version.
FIGURE = re.compile(r"(?<![\w.,=#-])(\d+\.\d+|\d{1,3}(?:,\d{3})+|\d+(?= MiB| µs))(?![\w.]*\d)")
FACTOR = re.compile(r"a factor of (\d+)")
INDEX, FRONTIER, CONSUMER = "benchmarks/index.md", "benchmarks/frontier.md", "design/consumer.md"
PLATFORMS = "guides/spark-platforms.md"
MIB = 1 << 20


def produced(row: str, column: str) -> str:
    return cell(INDEX, "Producers", row, column)


def consumed(column: str) -> str:
    return cell(INDEX, "Consumers", "100 B | none", column)


def bulk(row: str) -> str:
    return cell(FRONTIER, "Bulk", row, "ottla")


def client(row: str) -> str:
    return cell(FRONTIER, "Many clients in one process", row, "memory each, KiB")


def spark(row: str, column: str = "CPU s/M") -> str:
    return cell(INDEX, "Spark", row, column)


def mebibytes(key: str) -> str:
    return str(int(DEFAULTS[key]) // MIB)


DEFAULTS = {name: default for name, _, default, *_ in _core.config_rows()}
TIMES_OF_POLL = column(INDEX, "Consumers", "`poll`", 1)
ACKNOWLEDGED = "acknowledged, 200/s, one replica"
FIGURES = {
    "`send_batch(topic, table)` | # |": [produced("100 B none", "ottla Arrow")],
    "`send_batch(topic, values)` | # |": [produced("100 B none", "ottla list")],
    "| `send` | # |": [produced("100 B none", "ottla `send`")],
    "many at a time | # |": [produced("100 B none", "ottla, futures")],
    "`asyncio.gather` of coroutines | # |": [produced("100 B none", "ottla, tasks")],
    "gathering # tasks takes # µs": [
        sentence(INDEX, "Producers", r"Creating ([\d,]+) tasks"),
        sentence(INDEX, "Producers", r"gathering them takes ([\d.]+) µs per record"),
    ],
    '`poll_arrow(columns=["value"])` | # |': [consumed("`poll_arrow`, value")],
    "`poll_arrow()` | # |": [consumed("`poll_arrow`, all columns")],
    "| `poll()` | # |": [consumed("`poll`")],
    "| `async for` | # |": [consumed("`async for`")],
    "Avro of 10 fields takes # CPU seconds": [
        cell(INDEX, "Typed columns", "Avro | 10 fields, flat | ottla", "CPU s per million")
    ],
    "confluent-kafka's deserializer takes #.": [
        cell(
            INDEX,
            "Typed columns",
            "Avro | 10 fields, flat | confluent-kafka | AvroDeserializer",
            "CPU s per million",
        )
    ],
    "4 of 40 fields take # ns instead of #.": [
        cell(INDEX, "Typed columns", row, "40 fields, nested")
        for row in ("Avro, ottla, 4 of the fields", "Avro, ottla")
    ],
    "costs more than the record**: # µs instead of #,": [
        sentence(FRONTIER, "Bulk", r"A callback for each record.{,70} ([\d.]+) µs instead of"),
        sentence(FRONTIER, "Bulk", r"A callback for each record.* µs instead of ([\d.]+):"),
    ],
    "records are acknowledged within # µs, of which # µs are those": [
        cell(FRONTIER, "Latency and CPU of single records", ACKNOWLEDGED, name)
        for name in ("ottla", "floor")
    ],
    "of 100 bytes reach # thousand per CPU second, with lz4 #, with zstd #.": [
        produced(f"100 B {codec}", "ottla Arrow") for codec in ("none", "lz4", "zstd")
    ],
    "no call depends on it with #, # or #.": [
        sentence(INDEX, "Default settings", r"`fetch.max.wait.ms` (\d+), \d+ and \d+;"),
        sentence(INDEX, "Default settings", r"`fetch.max.wait.ms` \d+, (\d+) and \d+;"),
        sentence(INDEX, "Default settings", r"`fetch.max.wait.ms` \d+, \d+ and (\d+);"),
    ],
    "`poll` is # to # times as cheap": [str(min(TIMES_OF_POLL)), str(max(TIMES_OF_POLL))],
    "with # at once # to # times:": [
        sentence(INDEX, "Consumers", r"With ([\d,]+) at once it is"),
        sentence(INDEX, "Consumers", r"at once it is ([\d.]+) to"),
        sentence(INDEX, "Consumers", r"at once it is [\d.]+ to ([\d.]+) times"),
    ],
    "If it works # ms on each poll, the age of half of the records is # ms, at # records": [
        sentence(FRONTIER, "A trickle", r"busy for (\d+) ms after"),
        cell(FRONTIER, "A trickle", "ottla `poll`", "p50 ms"),
        sentence(FRONTIER, "A trickle", r"([\d,]+) records a second"),
    ],
    "A process with # producers has four threads": [
        sentence(FRONTIER, "Many clients in one process", r"\| (\d+) producers \| \d+ \| 4 \|")
    ],
    "take # and # KiB each": [
        client("1000 producers on one client"),
        client("1000 consumers on one client"),
    ],
    "with clients of their own # and #.": [client("1000 producers"), client("1000 consumers")],
    "`await send` takes # CPU seconds per million records, `send` #;": [
        bulk("produce 100 B, `await`, futures"),
        bulk("produce 100 B, `send`"),
    ],
    "`buffer.memory`, # MiB for each producer": [mebibytes("buffer.memory")],
    "`prefetch.max.bytes`, # MiB for each consumer": [mebibytes("prefetch.max.bytes")],
    "# MiB of records, # MiB of columns": [
        sentence(CONSUMER, "Memory", r"and (\d+) MiB of records"),
        sentence(CONSUMER, "Memory", r"(\d+) MiB of columns"),
    ],
    "`decompressed.batch.max.bytes`, # MiB": [mebibytes("decompressed.batch.max.bytes")],
    "an idle client | # MB, of which # MB are its own": [
        cell(
            FRONTIER,
            "Idle clients, memory and size",
            "an idle client beyond that, MB",
            "now",
        ),
        sentence(FRONTIER, "Idle clients, memory and size", r"; ([\d.]+) MB are its own"),
    ],
    "# records of # MiB that arrive in # kB each are read by `poll` within # MiB": [
        sentence(CONSUMER, "Memory", r"that read (\d+) records of \d+ MiB"),
        sentence(CONSUMER, "Memory", r"that read \d+ records of (\d+) MiB"),
        sentence(CONSUMER, "Memory", r"(\d+) kB compressed"),
        cell(CONSUMER, "Memory", "`poll`", "all records, MiB"),
    ],
    "# for all, # for value and offset": [
        spark("read 100 B, all columns | ottla"),
        spark("read 100 B, value + offset | ottla"),
    ],
    "reading task** by `read_arrow`: #, with the tuned connector and `mapInArrow` #.": [
        spark("read + mapInArrow | ottla, read_arrow"),
        spark("read + mapInArrow | connector, tuned"),
    ],
    "# small partitions take # s, with `targetBytesPerPartition` # s": [
        sentence(INDEX, "Spark", r"\| ([\d,]+) small partitions \| ottla \|"),
        spark("1,000 small partitions | ottla", "seconds"),
        spark("1,000 small partitions | ottla, targetBytesPerPartition", "seconds"),
    ],
    "takes it from # to #.": [
        spark("sink, key + 100 B | ottla"),
        spark("sink, key + 100 B | ottla, maxBytesPerBatch off"),
    ],
    "about # MB for each Python worker": [
        sentence(PLATFORMS, "What ottla needs", r"about (\d+) MB for each Python worker")
    ],
}
"""The figures of each statement, from the section that it links or names."""


def table(heading: str) -> dict[str, str]:
    """Return the cells of the first two columns of the rows whose second one is code."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([\w.]+)` \| `([^`]+)` \|", section, re.MULTILINE))


def test_the_defaults_are_those_of_the_client() -> None:
    listed = table("Producing") | table("Consuming")
    assert len(listed) == 15
    assert {name: DEFAULTS[name] for name in listed} == listed


def test_the_figures_are_the_measured_ones() -> None:
    assert differences(PROSE, FIGURES) == []


def test_figures_that_change_places_are_found() -> None:
    swapped = PROSE.replace("take 24 and 34 KiB", "take 34 and 24 KiB").replace(
        "4,026 |", "2,403 |"
    )
    assert [each.partition(":")[0] for each in differences(swapped, FIGURES)] == [
        "`send_batch(topic, table)` | # |",
        "take # and # KiB each",
    ]


def test_each_figure_is_of_a_statement() -> None:
    assert FIGURE.findall(re.sub(r"Spark \d\.\d", "Spark", without(PROSE, list(FIGURES)))) == []
    assert len(FIGURE.findall(PROSE)) > 40


def test_the_factor_is_that_of_the_table() -> None:
    [factor] = FACTOR.findall(PAGE)
    rows = re.findall(r"^\| .* \| ([\d,]+) \|$", PAGE.partition("They are from")[0], re.MULTILINE)
    thousands = [int(row.replace(",", "")) for row in rows]
    assert int(factor) == max(thousands) // min(thousands)

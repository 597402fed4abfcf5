"""What README.md claims is what the code, the tests' clusters and the benchmarks say."""

from __future__ import annotations

import re

import ottla
from benches import readme_chart
from tests.support.figures import cell, differences, prose
from tests.support.jars import REPOSITORY

README = (REPOSITORY / "README.md").read_text()


def supported(name: str) -> str:
    """Return the versions in a row of the table, which tests/matrix makes from its results."""
    match = re.search(rf"^\| {name} \| (.*?) \|", README, re.MULTILINE)
    assert match is not None, name
    return match[1]


def test_the_chart_is_current() -> None:
    assert readme_chart.TARGET.read_text() == readme_chart.chart(), (
        "run python -m benches.readme_chart"
    )


def measured(heading: str, row: str, column: str) -> str:
    return cell("benchmarks/index.md", heading, row, column)


READ, WRITE = "100 B | none", "100 B none"
ARROW = measured("Consumers", READ, "`poll_arrow`, value")
CONSUME = measured("Consumers", READ, "confluent-kafka `consume(500)`")
SEND = measured("Producers", WRITE, "ottla `send`")
PRODUCE = measured("Producers", WRITE, "confluent `produce`")
AVRO = "Avro | 10 fields, flat"
SPARK = [
    measured("Spark", f"read 100 B, all columns | {client}", "CPU s/M")
    for client in ("ottla", "connector, tuned")
]


def test_the_bars_of_the_chart_are_the_measured_figures() -> None:
    scales = [1_000_000, 1_000, 1]
    pairs = [(ARROW, CONSUME), (SEND, PRODUCE), SPARK]
    assert [[figure for _, figure in ways] for _, _, ways in readme_chart.BARS] == [
        [float(figure.replace(",", "")) / scale for figure in pair]
        for scale, pair in zip(scales, pairs, strict=True)
    ]


def test_the_first_table_of_the_benchmarks_is_that_of_its_sections() -> None:
    avro = [
        measured("Typed columns", f"{AVRO} | {client}", "CPU s per million")
        for client in ("ottla", "confluent-kafka | AvroDeserializer")
    ]
    statements = {
        "records per CPU second | **#** | confluent-kafka `consume(500)`: # |": [ARROW, CONSUME],
        "thousands of records per CPU second | **#** | confluent-kafka `produce`: # |": [
            SEND,
            PRODUCE,
        ],
        "CPU seconds per million | **#** | confluent-kafka `AvroDeserializer`: # |": avro,
        "CPU seconds per million rows | **#** | Spark's connector, tuned: # |": SPARK,
    }
    assert differences(prose("benchmarks/index.md"), statements) == []


def test_the_benchmarks_have_what_the_readme_names() -> None:
    text = (REPOSITORY / "docs" / "benchmarks" / "index.md").read_text(encoding="utf-8")
    for words in ("1000 B", "lz4", "Latency", "asyncio", "ottla is slower", "`python -m benches"):
        assert words in text, words


def test_contributing_explains_the_tests() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for words in ("`make test`", "`make deep`", "## The gate", "## Time in tests"):
        assert words in text, words


def test_the_versions_of_python() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text()
    versions = re.findall(r'Python :: (3\.\d+)"', project)
    assert supported("Python") == f"{versions[0]} to {versions[-1]}"
    assert f'requires-python = ">={versions[0]}"' in project


def test_the_versions_of_kafka() -> None:
    jars = (REPOSITORY / "tools" / "jars.sh").read_text()
    older = re.findall(r"\[kafka-(\d\.\d)\]=\d", jars)
    current = re.search(
        r"<kafka\.version>(\d\.\d)", (REPOSITORY / "tests" / "kafka" / "pom.xml").read_text()
    )
    assert current is not None
    assert supported("Kafka") == f"{min(older)} to {current[1]}"


def test_the_versions_of_spark() -> None:
    newest = re.search(
        r"^pyspark==(\d\.\d)", (REPOSITORY / "requirements" / "dev.in").read_text(), re.MULTILINE
    )
    project = (REPOSITORY / "pyproject.toml").read_text()
    oldest = re.search(r'"pyspark>=(\d\.\d)"', project)
    assert newest is not None
    assert oldest is not None
    assert supported("Spark") == f"{oldest[1]} to {newest[1]}"


def test_what_it_does_is_there() -> None:
    names = (
        "Producer",
        "AsyncProducer",
        "Consumer",
        "AsyncConsumer",
        "scan",
        "scan_async",
        "diagnose",
    )
    for name in (*names, "ShareConsumer", "AsyncShareConsumer"):
        assert hasattr(ottla, name)
    calls = ("describe_topics", "alter_configs", "group_lag", "create_acls", "elect_leaders")
    for name in (*calls, "update_features", "create_delegation_token"):
        assert hasattr(ottla.Admin, name)
        assert hasattr(ottla.AsyncAdmin, name)
    assert hasattr(ottla.Consumer, "poll_arrow")
    for share_consumer in (ottla.ShareConsumer, ottla.AsyncShareConsumer):
        assert hasattr(share_consumer, "acknowledge")
        assert hasattr(share_consumer, "poll_arrow")
    assert [kind.name for kind in ottla.AcknowledgeType] == ["ACCEPT", "RELEASE", "REJECT", "RENEW"]
    assert hasattr(ottla.Producer, "transaction")
    for name in ("Avro", "Protobuf", "Json", "Registry", "AsyncRegistry", "DeadLetters"):
        assert hasattr(ottla.schema, name)
    for column_format in (ottla.schema.Avro, ottla.schema.Protobuf, ottla.schema.Json):
        assert hasattr(column_format, "deserialize")
        assert hasattr(column_format, "serialize")
    assert hasattr(ottla.testing, "MockCluster")

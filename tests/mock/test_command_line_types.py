"""Several types in one topic: ``ottla produce`` names their subjects, ``consume`` reads each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ottla as package
from ottla.testing import MockCluster, MockRegistry, RegistryFault
from tests.support.command import CommandResult, ottla_here

SCHEMAS = {
    "ordered.avsc": """{"type": "record", "name": "Ordered", "namespace": "events", "fields": [
        {"name": "id", "type": "long"}]}""",
    # It refers to the other one.
    "paid.avsc": """{"type": "record", "name": "Paid", "namespace": "events", "fields": [
        {"name": "amount", "type": "long"},
        {"name": "of", "type": ["null", "events.Ordered"], "default": null}]}""",
    "shipped.proto": 'syntax = "proto3"; package events; message Shipped { int64 id = 1; }',
}
REFERENCE = ["--value-reference", "events.Ordered=events.Ordered:1"]


@pytest.fixture(autouse=True)
def schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of schemas, in the working directory."""
    monkeypatch.setenv("OTTLA_PROFILES", str(tmp_path / "profiles.ini"))
    monkeypatch.chdir(tmp_path)
    for name, text in SCHEMAS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def produce(
    cluster: MockCluster,
    registry: MockRegistry,
    file: str,
    text: str,
    *arguments: str,
    part: str = "value",
) -> CommandResult:
    kind = "protobuf" if file.endswith(".proto") else "avro"
    formats = [f"--{part}-format", kind, f"--{part}-schema", f"@{file}", f"--{part}-register"]
    command = ["produce", cluster.bootstrap, "-t", "shop", "--schema-registry", registry.url]
    return ottla_here(*command, *formats, *arguments, stdin=text.encode() + b"\n")


def consume(cluster: MockCluster, registry: MockRegistry, *arguments: str) -> CommandResult:
    command = ["consume", cluster.bootstrap, "-t", "shop", "-e", "--schema-registry", registry.url]
    written = ["--value-format", "avro", "--value-schema", "written"]
    return ottla_here(*command, *written, *arguments)


@pytest.fixture
def shop(mock_cluster: MockCluster, mock_registry: MockRegistry) -> str:
    """An order and a payment, whose schemas are in subjects of their own."""
    mock_cluster.create_topic("shop", partitions=1)
    strategy = "--value-subject-strategy"
    done = produce(mock_cluster, mock_registry, "ordered.avsc", '{"id": 7}', strategy, "record")
    assert (done.code, done.err) == (0, "")
    more = [strategy, "topic_record", *REFERENCE]
    done = produce(mock_cluster, mock_registry, "paid.avsc", '{"amount": 12}', *more)
    assert (done.code, done.err) == (0, "")
    return "shop"


@pytest.mark.usefixtures("shop")
def test_the_strategy_names_the_subject(mock_registry: MockRegistry) -> None:
    with package.schema.Registry(mock_registry.url) as registry:
        assert registry.subjects() == ["events.Ordered", "shop-events.Paid"]
        (reference,) = registry.latest("shop-events.Paid").references
        assert (reference.name, reference.subject, reference.version) == (
            "events.Ordered",
            "events.Ordered",
            1,
        )


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("arguments", [[], ["--group", "readers"]], ids=["scan", "group"])
def test_each_record_is_read_as_written(
    mock_cluster: MockCluster, mock_registry: MockRegistry, arguments: list[str]
) -> None:
    done = consume(mock_cluster, mock_registry, *arguments)
    assert (done.code, done.err) == (0, "")
    lines = [line.split("\t") for line in done.text.splitlines()]
    assert [name for name, _ in lines] == ["events.Ordered", "events.Paid"]
    assert [json.loads(text) for _, text in lines] == [{"id": 7}, {"amount": 12, "of": None}]


@pytest.mark.usefixtures("shop")
def test_json_has_the_type_beside_the_value(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    with package.Producer(mock_cluster.bootstrap) as producer:
        producer.send("shop", None, key=b"deleted")
    done = consume(mock_cluster, mock_registry, "--json")
    records = [json.loads(line) for line in done.text.splitlines()]
    assert [(record["value_type"], record["value"]) for record in records] == [
        ("events.Ordered", {"id": 7}),
        ("events.Paid", {"amount": 12, "of": None}),
        (None, None),
    ]
    assert all("key_type" not in record for record in records)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (["--value", r"^events\.Paid\t"], ["events.Paid"]),
        (["--where", "id=7"], ["events.Ordered"]),
        (["--where", "id=8"], []),
    ],
)
def test_filters(
    mock_cluster: MockCluster, mock_registry: MockRegistry, filters: list[str], names: list[str]
) -> None:
    done = consume(mock_cluster, mock_registry, *filters)
    assert [line.split("\t")[0] for line in done.text.splitlines()] == names


def test_keys_and_a_message_of_protobuf(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    mock_cluster.create_topic("shop", partitions=1)
    more = ["-K", "=", "--key-subject-strategy", "record"]
    done = produce(mock_cluster, mock_registry, "shipped.proto", '{"id": 3}=x', *more, part="key")
    assert (done.code, done.err) == (0, "")
    done = ottla_here(
        *("consume", mock_cluster.bootstrap, "-t", "shop", "-e", "--json"),
        *("--schema-registry", mock_registry.url),
        *("--key-format", "protobuf", "--key-schema", "written"),
    )
    record = json.loads(done.text)
    assert (record["key_type"], record["key"], record["value"]) == (
        "events.Shipped",
        {"id": 3},
        "x",
    )


@pytest.mark.parametrize("part", ["key", "value"])
def test_ids_in_headers_are_those_of_the_part(
    mock_cluster: MockCluster, mock_registry: MockRegistry, part: str
) -> None:
    mock_cluster.create_topic("shop", partitions=1)
    ids = {each: mock_registry.register(f"{each}s", f'"{kind}"') for each, kind in
           (("key", "long"), ("value", "string"))}  # fmt: skip
    with package.schema.Registry(mock_registry.url) as registry:
        guids = {each: registry.schema_by_version(f"{each}s", 1).guid for each in ids}
    data = {"key": b"\x0e", "value": b"\x04ab"}
    headers = []
    for each, guid in guids.items():
        assert guid is not None
        headers.append((f"__{each}_schema_id", b"\x01" + bytes.fromhex(guid.replace("-", ""))))
    with package.Producer(mock_cluster.bootstrap) as producer:
        producer.send("shop", data["value"], key=data["key"], headers=headers)
    done = ottla_here(
        *("consume", mock_cluster.bootstrap, "-t", "shop", "-e", "--json"),
        *("--schema-registry", mock_registry.url),
        *(f"--{part}-format", "avro", f"--{part}-schema", "written"),
    )
    record = json.loads(done.text)
    # A plain type of Avro has no name.
    assert (record[part], record[f"{part}_type"]) == ({"key": 7, "value": "ab"}[part], None)


@pytest.mark.usefixtures("shop")
def test_records_that_cannot_be_decoded_do_not_hide_those_behind_them(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    mock_cluster.append("shop", 0, [b"\0\0\0\0\x63abc", b"text"])
    more = ["--value-subject-strategy", "record"]
    produce(mock_cluster, mock_registry, "ordered.avsc", '{"id": 8}', *more)
    done = consume(mock_cluster, mock_registry)
    assert done.code == 1
    assert [line.split("\t")[1] for line in done.text.splitlines()][::2] == [
        '{"id": 7}',
        '{"id": 8}',
    ]
    first, second = done.err.splitlines()
    assert first.startswith("ottla: shop-0 at offset 2 cannot be decoded: ")
    assert "schema 99" in first
    assert "[topic" not in done.err
    assert "shop-0 at offset 3" in second
    # As with other schemas, they are null in JSON, and match no filter.
    lines = consume(mock_cluster, mock_registry, "--json").text.splitlines()
    bad = [record for record in map(json.loads, lines) if "error" in record]
    assert [(record["value"], record["value_type"]) for record in bad] == [(None, None)] * 2
    assert consume(mock_cluster, mock_registry, "--value", "text").out == b""


@pytest.mark.usefixtures("shop")
def test_a_registry_that_refuses_ends_the_command(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    mock_registry.inject(RegistryFault.status(403), path="/schemas")
    done = consume(mock_cluster, mock_registry)
    assert done.code == 1
    assert "403" in done.err
    assert "cannot be decoded" not in done.err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--value-wire-format", "none"], "needs the id of each record's schema"),
        (["--value-wire-format", "glue"], "needs the id of each record's schema"),
        (["--value-subject", "orders"], "--value-subject has no effect with this --value-schema"),
        (REFERENCE, "--value-reference has no effect without --value-schema @FILE"),
        (
            ["--value-format", "protobuf", "--value-message", "events.Shipped"],
            "--value-message has no effect with --value-schema written",
        ),
    ],
)
def test_options_without_effect_are_errors_in_consume(
    mock_cluster: MockCluster, mock_registry: MockRegistry, arguments: list[str], error: str
) -> None:
    done = consume(mock_cluster, mock_registry, *arguments)
    assert (done.code, done.text) == (2, "")
    assert error in done.err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--value-schema", "written"], "expected latest, an id, or @FILE"),
        (["--value-subject-strategy", "record"], "needs the name of a record"),
        (["--value-subject-strategy", "name"], "invalid choice: 'name'"),
        (["--value-subject-strategy", "topic", "--value-subject", "s"], "exclude each other"),
        (REFERENCE, "has no effect without --value-schema @FILE"),
        (["--value-schema", "@paid.avsc", "--value-reference", "events.Ordered"], "expected NAME="),
        (["--value-schema", "@paid.avsc", "--value-reference", "a=s:0"], "expected NAME="),
        (
            ["--value-schema", "@paid.avsc", "--value-reference", f"a=s:{'9' * 5000}"],
            "expected NAME=",
        ),
        (
            [
                *("--value-schema", "@paid.avsc", "--value-wire-format", "none"),
                *("--value-subject-strategy", "record"),
            ],
            "has no effect with --value-wire-format none",
        ),
        (
            [
                *("--value-schema", "@ordered.avsc", "--value-wire-format", "none"),
                *("--value-schema-id-serializer", "prefix"),
            ],
            "--value-schema-id-serializer prefix has no effect with --value-wire-format none",
        ),
        (["--key-subject-strategy", "record"], "has no effect without --key-format"),
    ],
)
def test_options_without_effect_are_errors_in_produce(
    mock_cluster: MockCluster, mock_registry: MockRegistry, arguments: list[str], error: str
) -> None:
    command = ["produce", mock_cluster.bootstrap, "-t", "shop", "--value-format", "avro"]
    done = ottla_here(*command, "--schema-registry", mock_registry.url, *arguments)
    assert done.code == 2
    assert error in done.err


def test_a_missing_reference_is_named(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    mock_cluster.create_topic("shop", partitions=1)
    more = ["--value-reference", "events.Ordered=missing:1"]
    done = produce(mock_cluster, mock_registry, "paid.avsc", '{"amount": 1}', *more)
    assert done.code == 1
    assert "missing" in done.err

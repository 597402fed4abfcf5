"""``--value-validate`` and ``--key-validate`` of ``ottla consume`` and ``ottla produce``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ottla as package
from ottla._internal import extras
from ottla.schema import Json, Registry, Schema
from ottla.testing import MockCluster, MockRegistry
from tests.support.command import CommandResult, ottla_here

ORDER = json.dumps(
    {
        "title": "Order",
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "code": {"type": "string", "pattern": "^[A-Z]+$"},
        },
        "required": ["id"],
    }
)
SECRET = "hunter2"
RULES = '$.id breaks minimum 1; $.code breaks pattern "^[A-Z]+$"'


@pytest.fixture
def cluster(mock_cluster: MockCluster, mock_registry: MockRegistry) -> MockCluster:
    """A topic with a bad record between two good ones."""
    registry = Registry(mock_registry.url)
    mock_cluster.create_topic("t", partitions=1)
    for part in ("key", "value"):
        registry.register(f"t-{part}", Schema(ORDER, "JSON"))
    order = Json(registry)
    with package.Producer(
        mock_cluster.bootstrap, key_serializer=order, value_serializer=order
    ) as producer:
        for number, code in ((1, "AB"), (0, SECRET), (3, "C")):
            value = {"id": number, "code": code}
            producer.send("t", value, key=value)
    return mock_cluster


def run(command: str, cluster: MockCluster, *arguments: str, stdin: bytes = b"") -> CommandResult:
    ends = ["-e"] if command == "consume" else []
    return ottla_here(command, cluster.bootstrap, "-t", "t", *ends, *arguments, stdin=stdin)


def json_of(part: str, registry: MockRegistry) -> list[str]:
    return [f"--{part}-format", "json", "--schema-registry", registry.url, f"--{part}-validate"]


@pytest.mark.parametrize("part", ["key", "value"])
@pytest.mark.parametrize("schema", ["latest", "written"])
def test_a_record_that_breaks_a_rule_is_named_with_its_place(
    cluster: MockCluster, mock_registry: MockRegistry, part: str, schema: str
) -> None:
    arguments = [*json_of(part, mock_registry), f"--{part}-schema", schema]
    read = run("consume", cluster, *arguments, "-J")
    assert read.code == 1
    records = [json.loads(line) for line in read.out.splitlines()]
    assert [record[part] and record[part]["id"] for record in records] == [1, None, 3]
    assert RULES in records[1]["error"]
    error = json.loads(read.err)
    assert RULES in error["message"]
    assert error["item"] == {"topic": "t", "partition": 0, "offset": 1}
    assert SECRET not in records[1]["error"] + read.err


def test_values_that_break_a_rule_are_not_written(
    cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    lines = [b'{"id": 5}', b'{"id": 0, "code": "%s"}' % SECRET.encode(), b'{"id": 6}']
    arguments = json_of("value", mock_registry)
    written = run("produce", cluster, *arguments, stdin=b"\n".join(lines))
    assert written.code == 1
    assert "record 2: the value for topic 't'" in written.err
    assert RULES in written.err
    assert SECRET not in written.err
    assert cluster.end_offset("t", 0) == 4
    assert run("produce", cluster, *arguments[:-1], stdin=lines[1]).code == 0


def test_a_schema_from_a_file_is_validated_against(cluster: MockCluster, tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text(ORDER)
    arguments = ["--value-format", "json", "--value-wire-format", "none", "--value-validate"]
    arguments += ["--value-schema", f"@{file}"]
    written = run("produce", cluster, *arguments, stdin=b'{"id": 0}')
    assert (written.code, "$.id breaks minimum 1" in written.err) == (1, True)


@pytest.mark.parametrize("command", ["consume", "produce"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--value-validate has no effect without --value-format"),
        (["--value-format", "avro"], "--value-validate has no effect without --value-format json"),
    ],
)
def test_the_option_is_for_json(
    cluster: MockCluster, command: str, arguments: list[str], message: str
) -> None:
    failed = run(command, cluster, *arguments, "--value-validate")
    assert (failed.code, failed.err) == (2, f"ottla: {message}\n")


@pytest.mark.parametrize("command", ["consume", "produce"])
def test_a_missing_package_is_named_with_its_extra(
    cluster: MockCluster,
    mock_registry: MockRegistry,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    monkeypatch.setattr(extras, "_is_installed", lambda package: package != "jsonschema_rs")
    failed = run(command, cluster, *json_of("value", mock_registry))
    assert failed.code == 2
    assert failed.err == (
        "ottla: --value-validate needs jsonschema_rs, which is not installed: "
        "pip install 'ottla[json-validation]'\n"
    )

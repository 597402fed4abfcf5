"""The JSON Schemas of the commands: current, one for each command, and one shape for each noun."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import ottla.cli
from ottla._core import error_of_code
from ottla.cli import build_parser
from ottla.cli.argument_parser import asks_for_json
from ottla.cli.messages import error_message
from ottla.cli.remedies import remedy_of
from ottla.cli.schema_files import VERSION, names, references, text_of
from ottla.errors import ConfigError, KafkaError
from tests.support.command import ottla_here
from tests.support.command_schemas import SYSTEM_TESTS, commands
from tests.unit.test_documentation import tool

SCHEMAS = {name: json.loads(text_of(name)) for name in names()}
# The facts of a diagnosis are nested by the steps of a connection, and have names of their own.
DOCTOR = "doctor"


def test_the_files_are_current() -> None:
    folder = Path(ottla.cli.__file__).parent / "schemas" / VERSION
    files = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}
    assert files == tool("command_schemas").files(), "run make docs"


def test_a_schema_that_is_printed_stands_alone() -> None:
    whole = tool("command_schemas").documents()
    assert whole == SCHEMAS
    for name, schema in whole.items():
        assert text_of(name) == json.dumps(schema, indent=2) + "\n"
        assert references(schema) <= schema.get("$defs", {}).keys()


def test_every_command_has_a_schema_and_the_option() -> None:
    parsers = {name: each for name, each in commands(build_parser()) if name not in SYSTEM_TESTS}
    described = {name.replace(" ", "-") for name in parsers}
    assert described | {"error"} == set(SCHEMAS)
    without = [
        name
        for name, parser in parsers.items()
        if not any("--json" in action.option_strings for action in parser._actions)
    ]
    assert without == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


def shape(schema: dict[str, Any]) -> frozenset[str]:
    """The types of a field, without null: an array with its items, and any class as object."""
    if "$ref" in schema:
        return frozenset({"object"})
    if "anyOf" in schema:
        return frozenset().union(*map(shape, schema["anyOf"])) - {"null"}
    if "enum" in schema:
        return frozenset({"string"})
    types = schema.get("type", "anything")
    found = frozenset([types] if isinstance(types, str) else types) - {"null"}
    if found == {"array"}:
        return frozenset({f"array of {' or '.join(sorted(shape(schema['items'])))}"})
    return found


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, frozenset[str]]]:
    for definition in schema.get("$defs", {}).values():
        for name, field in definition["properties"].items():
            yield name, shape(field)


def test_a_field_has_one_shape_in_all_documents() -> None:
    shapes: dict[str, dict[frozenset[str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for command, schema in SCHEMAS.items():
        if command != DOCTOR:
            for field, found in fields(schema):
                shapes[field][found].append(command)
    double = {field: dict(found) for field, found in shapes.items() if len(found) > 1}
    # A record's key and value are what its data is; those of a configuration are text.
    assert double.keys() <= {"value"}, double


def test_a_count_is_a_number_and_a_plural_is_not() -> None:
    found = {pair for name, each in SCHEMAS.items() if name != DOCTOR for pair in fields(each)}
    for field, types in found:
        if field.endswith("_count"):
            assert types == {"integer"}, field
        if field in {"partitions", "replicas", "topics", "members", "brokers", "offsets"}:
            assert all(each.startswith("array of ") for each in types), field


def test_schemas_are_printed() -> None:
    listed = json.loads(ottla_here("schema", "--json").text)
    assert listed == names()
    assert "topics add-partitions" in ottla_here("schema").text.splitlines()
    assert json.loads(ottla_here("schema", "groups", "lag").text) == SCHEMAS["groups-lag"]
    done = ottla_here("schema", "groups", "lagg", "--json")
    assert (done.code, done.out) == (2, b"")
    assert json.loads(done.err)["remedy"] == "`ottla schema` lists them"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["topics", "list", "--json"], True),
        (["consume", "-t", "orders", "-J"], True),
        (["topics", "list", "--js"], True),
        (["topics", "list"], False),
        (["topics", "create", "--", "--json"], False),
        (["topics", "list", "--"], False),
    ],
)
def test_json_is_recognised_before_arguments_are_parsed(words: list[str], expected: bool) -> None:
    assert asks_for_json(words) is expected


def broker_error() -> KafkaError:
    error = KafkaError(
        "Topic 'x' already exists.: TOPIC_ALREADY_EXISTS (36): the topic exists [topic x, broker 1]"
    )
    error.code, error.name, error.context = 36, "TOPIC_ALREADY_EXISTS", {"topic": "x", "broker": 1}
    return error


def test_the_fields_of_an_error() -> None:
    assert error_message(broker_error()) == {
        "severity": "error",
        "name": "TOPIC_ALREADY_EXISTS",
        "code": 36,
        "message": str(broker_error()),
        "cause": "Topic 'x' already exists.",
        "remedy": "choose another name, or give --if-not-exists",
        "maybe_done": False,
        "retriable": False,
        "item": {"topic": "x", "broker": 1},
    }
    named = error_message(ConfigError("--to names a broker twice"), item={"topic": "y"})
    assert (named["name"], named["code"], named["cause"]) == ("ConfigError", None, None)
    assert named["item"] == {"topic": "y"}


@pytest.mark.parametrize(
    ("text", "retriable", "remedy"),
    [
        ("no address: give BOOTSTRAP or -b (host:port)", False, "give BOOTSTRAP or -b (host:port)"),
        ("refused; `ottla doctor a:1` checks it", True, "`ottla doctor a:1` checks it"),
        ("--to 'x': expected ids with commas", False, "expected ids with commas"),
        ("a disk: named data is full", False, None),
        ("the request timed out", True, "repeat the command later"),
    ],
)
def test_the_remedy_is_a_clause_of_the_message(
    text: str, retriable: bool, remedy: str | None
) -> None:
    assert remedy_of("ConfigError", text, retriable=retriable) == remedy


def test_the_remedy_of_a_missing_permission_names_the_resource() -> None:
    denied = error_of_code(29, request=("Produce", ""), topic="orders")
    remedy = remedy_of(denied.name, str(denied), retriable=False)
    assert remedy is not None
    assert "--allow write --topic orders`" in remedy
    general = remedy_of(denied.name, "denied", retriable=False)
    assert general == "allow the operation on the topic: ottla acls create"


@pytest.mark.parametrize(
    "words",
    [
        ["topics", "list", "b:1", "sasl.password=hunter2"],
        ["topics", "list", "b:1", "-X=a=b", "extra=hunter2"],
        ["topics", "hunter=hunter2"],
        ["watch", "--interval=key=hunter2"],
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_an_error_of_arguments_shows_no_value(words: list[str], as_json: bool) -> None:
    done = ottla_here(*words, *(["--json"] if as_json else []))
    assert (done.code, done.out) == (2, b"")
    assert "hunter2" not in done.err
    if as_json:
        found = json.loads(done.err)
        assert (found["name"], found["severity"]) == ("ArgumentError", "error")
        assert found["remedy"].endswith(" --help")


def test_a_parser_without_subcommands_has_one_name() -> None:
    parser = argparse.ArgumentParser()
    parser.add_subparsers().add_parser("one")
    assert [name for name, _ in commands(parser)] == ["one"]

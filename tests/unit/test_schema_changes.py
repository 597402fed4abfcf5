"""What a change of a command's JSON Schema breaks: documents may become narrower, never wider."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.test_documentation import tool

schemas = tool("schema_changes")

NUMBER, TEXT = {"type": "integer"}, {"type": "string"}


def an_object(required: str = "", **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required.split()}


PART = an_object("leader", leader=NUMBER)
MAP = {"type": "object", "additionalProperties": NUMBER}
PAIR = {"type": "array", "prefixItems": [TEXT, NUMBER], "minItems": 2, "items": False}
NODE = {"$ref": "#/$defs/Node"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TEXT, {"enum": ["on", "off"]}),
        (TEXT, {"const": "on"}),
        ({"type": "number"}, NUMBER),
        ({"type": "number"}, {"enum": [1, 2.5]}),
        ({"enum": ["on", "off"]}, {"const": "on"}),
        ({"type": ["string", "null"]}, TEXT),
        ({"anyOf": [TEXT, {"type": "null"}]}, {"type": ["null", "string"]}),
        ({}, TEXT),
        ({}, PART),
        (True, {"anyOf": [PAIR, {"const": None}]}),
        ({"anyOf": [PART, {"type": "null"}]}, PART),
        (PART, an_object("leader more", leader=NUMBER, more=TEXT)),
        (an_object(leader=NUMBER), PART),
        # Without it in one branch before, a reader expects that it may be missing.
        ({"anyOf": [PART, an_object("id", id=TEXT)]}, {"anyOf": [PART, an_object(id=TEXT)]}),
        ({"type": "array"}, {"type": "array", "items": TEXT}),
        ({"type": "array", "items": {"type": ["integer", "string"]}}, PAIR),
    ],
)
def test_what_a_reader_still_understands(before: Any, after: Any) -> None:
    assert schemas.breaking({"x": an_object(at=before)}, {"x": an_object(at=after)}) == []


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        (PART, {"anyOf": [PART, an_object(id=TEXT)]}, [".leader may be missing"]),
        (PART, {"anyOf": [{"$ref": "#/$defs/Node"}, PART]}, [".leader may be missing"]),
        (PART, {"oneOf": [PART, {"type": "null"}]}, [" may also be null"]),
        (TEXT, {}, [" may be of any type"]),
        (PART, True, [" may be of any type"]),
        ({"const": "x"}, {"const": "z"}, [' may also be "z"']),
        ({"enum": ["x"]}, {"const": "z"}, [' may also be "z"']),
        ({"const": "x"}, TEXT, [" may also be string"]),
        (NUMBER, {"type": "number"}, [" may also be number"]),
        (NUMBER, {"const": 2.5}, [" may also be 2.5"]),
        (NUMBER, {"const": True}, [" may also be true"]),
        (MAP, {"type": "object", "additionalProperties": TEXT}, ["[] may also be string"]),
        (MAP, {**MAP, "properties": {"total": TEXT}}, ["[] may also be string"]),
        (MAP, an_object(), ["[] was removed"]),
        (PAIR, {**PAIR, "minItems": 1}, ["[1] may be missing"]),
        (PAIR, {**PAIR, "prefixItems": [TEXT, TEXT]}, ["[1] may also be string"]),
        (PAIR, {**PAIR, "prefixItems": [TEXT], "minItems": 1}, ["[1] was removed"]),
        ({"type": "array", "items": TEXT}, PAIR, ["[] may also be integer"]),
        ({"type": "array", "items": TEXT}, {"type": "array"}, ["[] may be of any type"]),
        (NODE, {"$ref": "#/$defs/Other"}, [".next.id may also be string"]),
    ],
)
def test_what_a_reader_does_not_understand(before: Any, after: Any, reported: list[str]) -> None:
    definitions = {
        "Node": an_object("id", id=NUMBER, next=NODE),
        "Other": an_object("id", id=NUMBER, next=an_object("id", id=TEXT, next=NODE)),
    }
    old, new = ({**an_object(at=each), "$defs": definitions} for each in (before, after))
    found = schemas.breaking({"x": old}, {"x": new})
    assert found == [f"x: .at{each}" for each in reported]


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"id": None}, ["x: [].id was removed"]),
        ({"id": {"type": ["integer", "null"]}}, ["x: [].id may also be null"]),
        ({"state": {"enum": ["on", "off", "new"]}}, ['x: [].state may also be "new"']),
        ({"state": {"enum": ["on"]}}, []),
        ({"more": {"type": "string"}}, []),
        ({"part": {"$ref": "#/$defs/Empty"}}, ["x: [].part.leader was removed"]),
    ],
)
def test_what_a_schema_takes_from_programs(changed: Any, reported: list[str]) -> None:
    part = {"type": "object", "properties": {"leader": {"type": "integer"}}}
    properties = {
        "id": {"type": "integer"},
        "state": {"enum": ["on", "off"]},
        "part": {"$ref": "#/$defs/Part"},
    }
    definitions = {"Part": part, "Empty": {"type": "object"}}

    def schema(fields: dict[str, Any]) -> dict[str, Any]:
        items = {
            "type": "object",
            "properties": fields,
            "required": ["id"] if "id" in fields else [],
        }
        return {"type": "array", "items": items, "$defs": definitions}

    after = {name: each for name, each in {**properties, **changed}.items() if each is not None}
    assert schemas.breaking({"x": schema(properties)}, {"x": schema(after)}) == reported


def test_what_may_be_missing_and_a_command_that_is_gone() -> None:
    before = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    after = {**before, "required": []}
    assert schemas.breaking({"x": before}, {"x": after}) == ["x: .a may be missing"]
    assert schemas.breaking({"x": before}, {}) == ["x: the schema was removed"]

"""The schemas that are derived from types, and the types that have none."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar
from uuid import UUID

import fastavro
import jsonschema
import msgspec
import pydantic
import pytest

from ottla import errors
from ottla.schema import Avro, Json, Precision
from ottla.schema.objects import conversion
from ottla.schema.objects.field_error import shown
from tests.support.object_types import (
    NOW,
    ORDERS,
    Cents,
    Defaults,
    Item,
    State,
    order,
    with_field,
)
from tests.support.subprocesses import run_python

T = TypeVar("T")


@dataclass
class Page(Generic[T]):
    """A generic class."""

    items: list[T]


@dataclass
class Node:
    """A recursive class."""

    next: Node | None = None


class Tree(pydantic.BaseModel):
    """A recursive model."""

    parts: list[Tree] = []


class Branch(msgspec.Struct):
    """A recursive struct."""

    parts: list[Branch] = []


@dataclass
class Endless(Generic[T]):
    """A generic class that contains itself with ever new arguments."""

    next: Endless[list[T]] | None


def avro(of: Any) -> Any:
    """Return the derived schema of Avro."""
    return json.loads(conversion("AVRO", of).schema)


def test_a_field_has_a_default_if_it_is_constant() -> None:
    found = {each["name"]: each for each in avro(Defaults)["fields"]}
    assert "default" not in found["made"]
    assert found["not_null"] == {"name": "not_null", "type": ["long", "null"], "default": 5}
    assert found["union"]["type"] == ["string", "long", "null"]
    assert found["null"]["type"] == ["null", "long"]


@pytest.mark.parametrize("kind", ORDERS)
def test_all_libraries_have_the_same_avro_schema(kind: str) -> None:
    """But for the names of the classes; and it is the same each time."""
    text = conversion("AVRO", ORDERS[kind][0]).schema
    names = [cls.__name__ for cls in ORDERS[kind]]
    plain = text.replace(names[0], "DataOrder").replace(names[1], "Item")
    assert json.loads(plain) == avro(ORDERS["dataclass"][0])
    assert text == conversion("AVRO", ORDERS[kind][0]).schema
    fastavro.parse_schema(json.loads(text))


@pytest.mark.parametrize("kind", ORDERS)
def test_json_is_valid_by_its_schema(kind: str) -> None:
    cls = ORDERS[kind][0]
    validator = jsonschema.Draft202012Validator(json.loads(conversion("JSON", cls).schema))
    for number in range(6):
        data = Json(cls, wire_format="none").serialize("t", order(kind, number))
        assert data is not None
        validator.validate(json.loads(data))


def test_descriptions_and_names() -> None:
    @dataclass
    class Order:
        """An order."""

        id: int = field(metadata={"doc": "its number"})

    @dataclass
    class Plain:
        id: int

    schema = avro(Order)
    assert (schema["doc"], schema["fields"][0]["doc"]) == ("An order.", "its number")
    assert "doc" not in avro(Plain)
    assert avro(Page[Item])["name"] == "Page_Item"
    described = json.loads(conversion("JSON", Order).schema)
    assert described["properties"]["id"]["description"] == "its number"


@pytest.mark.parametrize(
    ("of", "schema"),
    [
        (int, "long"),
        (int | None, ["null", "long"]),
        (int | str, ["long", "string"]),
        (list[bool], {"type": "array", "items": "boolean"}),
        (dict[str, float], {"type": "map", "values": "double"}),
        (Cents, "long"),
        (set[bytes], {"type": "array", "items": "bytes"}),
    ],
)
def test_a_value_need_not_be_a_record(of: Any, schema: Any) -> None:
    assert avro(of) == schema


class Odd(enum.Enum):
    """An enumeration without members."""


class Part(TypedDict, total=False):
    """A dict whose key may be missing."""

    id: int


class Ünicode(enum.Enum):
    """An enumeration whose name Avro does not have."""

    A = 1


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Decimal, r"Order\.x is a decimal without a number of digits.*Precision\(9, scale=2\)"),
        (timedelta, r"Order\.x is of type timedelta, for which there is no schema"),
        (Any, r"Order\.x may be of any type, which Avro does not have"),
        (list, r"Order\.x is a list without a type: use list\[X\]"),
        (dict, r"Order\.x is a dict without types"),
        (dict[int, str], r"Order\.x is a dict with keys of"),
        (tuple[int, str], r"Order\.x is a tuple of a fixed length"),
        (list[Decimal], r"Order\.x\[\] is a decimal without"),
        (str | UUID, r"Order\.x: two types of the union are Avro's string"),
        (list[int] | list[str], r"two types of the union are Avro's array"),
        (Literal["a", 1], r"Order\.x is of values of several classes"),
        (Odd, r"Order\.x is of the enumeration Odd, which is empty"),
        (Ünicode, r"is no name in Avro"),
        (Part, r"Part\.id may be missing"),
        (Endless[int], r"Order\.x\.next\.next.*more than 64 types are nested"),
        (T, r"Order\.x is of the type variable ~T"),
        (object(), r"for which there is no schema"),
        ("Nowhere", r"cannot be resolved: name 'Nowhere' is not defined"),
    ],
)
def test_types_without_a_schema_name_the_field(hint: Any, message: str) -> None:
    with pytest.raises(errors.SchemaError, match=message):
        Avro(with_field(hint), wire_format="none")


def test_two_classes_of_one_name() -> None:
    other: Any = dataclass(type("Item", (), {"__annotations__": {"id": int}}))
    for form in (Avro, Json):
        with pytest.raises(errors.SchemaError, match="two types are named Item"):
            form(with_field(Item | other), wire_format="none")


def test_a_recursive_type_has_a_schema_and_no_columns() -> None:
    types: list[Any] = [Tree, Branch, Node]
    for of in types:
        value: Any = Json(of, wire_format="none")
        jsonschema.Draft202012Validator.check_schema(json.loads(conversion("JSON", of).schema))
        assert value.deserialize("t", value.serialize("t", of())) == of()
        with pytest.raises(errors.SchemaError, match="is recursive"):
            value.arrow_type()
    fastavro.parse_schema(avro(Node))


@pytest.mark.parametrize(
    ("hint", "value", "path"),
    [
        (int, True, "x"),
        (int, 2**70, "x"),
        (float, "1", "x"),
        (str, b"x", "x"),
        (datetime, NOW.replace(tzinfo=None), "x"),
        (date, NOW, "x"),
        (Annotated[Decimal, Precision(4, scale=2)], Decimal("1.234"), "x"),
        (Annotated[Decimal, Precision(4, scale=2)], Decimal(123), "x"),
        (Annotated[Decimal, Precision(4, scale=2)], Decimal("NaN"), "x"),
        (UUID, "x", "x"),
        (State, "new", "x"),
        (Literal["a"], "b", "x"),
        (list[int], [1, "x"], "x[1]"),
        (list[int], "12", "x"),
        (dict[str, list[int]], {"a": [None]}, "x['a'][0]"),
        (list[Item], [Item("a", 5)], "x[0].price"),  # type: ignore[arg-type]
        (int | Item, 1.5, "x"),
        (int | Item, Item(5, Decimal(1)), "x.name"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("form", [Avro, Json])
def test_a_value_that_does_not_fit_names_its_path(
    form: Any, hint: Any, value: Any, path: str
) -> None:
    cls = with_field(hint)
    if form is Json and value == 2**70:
        return
    with pytest.raises(errors.SerializationError) as raised:
        form(cls, wire_format="none").serialize("t", cls(value))
    assert raised.value.context["path"] == path


def test_values_in_messages_are_short() -> None:
    assert shown("x" * 1000).startswith("str 'xxx")
    assert len(shown("x" * 1000)) < 80
    assert shown(10**5000) == "int"
    assert shown({"secret": 1}) == "dict"


@pytest.mark.parametrize("arguments", [(0,), (77,), (5, 6), (5, -1)])
def test_digits_have_a_range(arguments: Any) -> None:
    with pytest.raises(errors.ConfigError, match="expected 1 to 76 digits"):
        Precision(*arguments)


def test_formats_without_types_load_nothing() -> None:
    """Neither this part of ottla nor a library that the program does not use."""
    run_python(
        "import sys, ottla\n"
        "value = ottla.schema.Avro(schema='\"long\"', wire_format='none')\n"
        "value.deserialize('t', value.serialize('t', 5))\n"
        "ottla.schema.Json(schema='{}', wire_format='none')\n"
        "unused = {'ottla.schema.objects', 'pydantic', 'attr', 'msgspec', 'google.protobuf'}\n"
        "assert not unused & sys.modules.keys(), unused & sys.modules.keys()\n"
    )


def test_a_dataclass_loads_no_library() -> None:
    run_python(
        "import sys, ottla, dataclasses\n"
        "order = dataclasses.make_dataclass('Order', [('id', int)])\n"
        "for form in (ottla.schema.Avro, ottla.schema.Json):\n"
        "    value = form(order, wire_format='none')\n"
        "    assert value.deserialize('t', value.serialize('t', order(5))) == order(5)\n"
        "unused = {'pydantic', 'attr', 'attrs', 'msgspec', 'google.protobuf'}\n"
        "assert not unused & sys.modules.keys(), unused & sys.modules.keys()\n"
    )

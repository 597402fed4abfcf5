"""Values of types that JSON and Avro hold only in part: unions, defaults and fields of any type."""

from __future__ import annotations

import enum
from dataclasses import InitVar, dataclass, make_dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import RootModel

from ottla import errors
from ottla.schema import Avro, Json
from ottla.schema.objects import conversion
from tests.support.object_types import NOW, State, with_field


class Rate(enum.Enum):
    """An enumeration of floats."""

    FULL = 1.5


@dataclass
class Deleted:
    """A part of the fields of Created."""

    id: int


@dataclass
class Created:
    """The fields of Deleted, and another one."""

    id: int
    name: str


@dataclass
class Removed:
    """The fields of Deleted."""

    id: int


@pytest.mark.parametrize("form", [Avro, Json])
@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, None),
        (str, 5),
        (datetime, datetime(2026, 1, 1)),  # noqa: DTZ001  # the mistake
        (State, "new"),
        pytest.param(float, 10**400, id="float-too-large"),
        (int | str, 1.5),
    ],
)
def test_a_default_that_does_not_fit_names_its_field(form: Any, hint: Any, default: Any) -> None:
    with pytest.raises(errors.SchemaError, match=r"Order\.x: the default does not fit the type"):
        form(with_field(hint, x=default), wire_format="none")


@pytest.mark.parametrize("schema_type", ["AVRO", "JSON"])
def test_a_default_that_json_does_not_have_is_not_stated(schema_type: str) -> None:
    assert "NaN" not in conversion(schema_type, with_field(float, x=float("nan"))).schema


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Deleted | Created, Created(1, "x")),
        (Deleted | Created, Deleted(1)),
        (float | int, 5),
        (float | int, 5.0),
        (date | datetime, NOW),
        (date | str, "tomorrow"),
    ],
)
def test_a_value_of_a_union_is_read_from_json_as_it_was_written(hint: Any, value: Any) -> None:
    of = with_field(hint)
    form = Json(of, wire_format="none")
    data = form.serialize("t", of(value))
    assert data is not None
    read = form.deserialize("t", data).x
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("hint", "value", "other"),
    [
        (date | str, "2026-01-01", "date"),
        (bytes | str, "abcd", "bytes"),
        (Deleted | Removed, Removed(1), "Deleted"),
    ],
)
def test_a_value_that_another_type_of_the_union_would_read_is_not_written(
    hint: Any, value: Any, other: str
) -> None:
    of = with_field(hint)
    with pytest.raises(errors.SerializationError, match=f"x: it would be read as {other}"):
        Json(of, wire_format="none").serialize("t", of(value))


def test_decimals_do_not_change_the_numbers_of_other_fields() -> None:
    of = make_dataclass("Priced", [("price", Decimal), ("rate", Rate), ("any", Any)])
    read: Any = Json(of, wire_format="none").deserialize(
        "t", b'{"price": 1.50, "rate": 1.5, "any": {"a": [1.5]}}'
    )
    assert read == of(Decimal("1.50"), Rate.FULL, {"a": [1.5]})
    assert type(read.any["a"][0]) is float


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {1: 2}, {"a": {None: 1}}])
def test_what_json_does_not_have_is_not_written_as_any(value: Any) -> None:
    of = with_field(Any)
    with pytest.raises(errors.SerializationError, match="x"):
        Json(of, wire_format="none").serialize("t", of(value))


@pytest.mark.parametrize("form", [Avro, Json])
@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (float, 1.5),
        (int | str | float, 1.5),
        (float | str | None, 2.0),
        (list[bool | float], [True, 0.5]),
        (dict[str, float | str], {"a": 0.5, "b": "x"}),
    ],
)
def test_floats_are_read_wherever_they_are(form: Any, hint: Any, value: Any) -> None:
    """Those of unions, and whole values, were refused with "expected float, not float 1.5"."""
    cls = with_field(hint)
    whole, field = form(hint, wire_format="none"), form(cls, wire_format="none")
    assert whole.deserialize("t", whole.serialize("t", value)) == value
    order = cls(value)
    again = field.deserialize("t", field.serialize("t", order))
    assert again is not None
    assert again.x == value
    assert type(again.x) is type(value)


def test_a_root_model_is_read_as_it_was_written() -> None:
    """In Avro it is a record with the field ``root``, which pydantic does not take."""

    class Numbers(RootModel[list[int]]):
        pass

    for form in (Avro, Json):
        numbers = form(Numbers, wire_format="none")
        data = numbers.serialize("t", Numbers([1, 2]))
        assert data is not None
        assert numbers.deserialize("t", data) == Numbers([1, 2])


@pytest.mark.parametrize("form", [Avro, Json])
def test_a_constructor_that_needs_more_than_the_fields_is_refused(form: Any) -> None:
    """Objects were written that could never be read."""

    @dataclass
    class Seeded:
        seed: InitVar[int]
        number: int = 0

    with pytest.raises(errors.SchemaError, match="the constructor of Seeded needs seed, which is"):
        form(Seeded, wire_format="none")

    @dataclass
    class Optional(Seeded):
        seed: InitVar[int] = 3

    optional = form(Optional, wire_format="none")
    assert optional.deserialize("t", optional.serialize("t", Optional(number=5))).number == 5

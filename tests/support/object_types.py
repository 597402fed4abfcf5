"""One order as a class of each library, for tests of objects as keys and values."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict
from uuid import UUID

import attrs
import msgspec
import pydantic

from ottla.schema import Precision

Price = Annotated[Decimal, Precision(9, scale=2)]


class State(enum.Enum):
    """A state whose values are not the names."""

    NEW = "new"
    PAID = "paid"


@dataclass
class Item:
    """A line of an order."""

    name: str
    price: Price


@dataclass
class DataOrder:
    """An order."""

    id: int
    key: UUID
    at: datetime
    day: date
    noon: time
    data: bytes
    ratio: float
    state: State
    kind: Literal["web", "shop"]
    items: list[Item]
    counts: dict[str, int]
    note: str | None = None
    gift: Item | int | None = None
    tags: list[str] = field(default_factory=list)


@attrs.define
class AttrsItem:
    """A line of an order."""

    name: str
    price: Price


@attrs.define
class AttrsOrder:
    """An order."""

    id: int
    key: UUID
    at: datetime
    day: date
    noon: time
    data: bytes
    ratio: float
    state: State
    kind: Literal["web", "shop"]
    items: list[AttrsItem]
    counts: dict[str, int]
    note: str | None = None
    gift: AttrsItem | int | None = None
    tags: list[str] = attrs.field(factory=list)


class StructItem(msgspec.Struct):
    """A line of an order."""

    name: str
    price: Price


class StructOrder(msgspec.Struct):
    """An order."""

    id: int
    key: UUID
    at: datetime
    day: date
    noon: time
    data: bytes
    ratio: float
    state: State
    kind: Literal["web", "shop"]
    items: list[StructItem]
    counts: dict[str, int]
    note: str | None = None
    gift: StructItem | int | None = None
    tags: list[str] = []


class ModelItem(pydantic.BaseModel):
    """A line of an order."""

    name: str
    price: Decimal = pydantic.Field(max_digits=9, decimal_places=2)


class ModelOrder(pydantic.BaseModel):
    """An order."""

    id: int
    key: UUID
    at: datetime
    day: date
    noon: time
    data: bytes
    ratio: float
    state: State
    kind: Literal["web", "shop"]
    items: list[ModelItem]
    counts: dict[str, int]
    note: str | None = None
    gift: ModelItem | int | None = None
    tags: list[str] = []


class Renamed(pydantic.BaseModel):
    """A model with an alias and a validator."""

    order_id: int = pydantic.Field(alias="orderId", ge=0)


class RenamedStruct(msgspec.Struct, rename="camel"):
    """A struct with other names in records."""

    order_id: int


class Point(NamedTuple):
    """A named tuple."""

    x: float
    y: float = 0.5


class Row(TypedDict):
    """A dict with known keys."""

    id: int
    at: datetime


Cents = NewType("Cents", int)
NOW = datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Gift:
    """An immutable record."""

    name: str
    price: Annotated[Decimal, Precision(9, scale=2)]


@dataclass
class Defaults:
    """Each kind of default."""

    text: str = "x"
    data: bytes = b"\xff\x00"
    at: datetime = NOW
    day: date = date(1969, 12, 31)
    noon: time = time(0, 0, 1)
    price: Annotated[Decimal, Precision(9, scale=2)] = Decimal("-1.5")
    key: UUID = UUID(int=1)  # noqa: RUF009 - it is immutable
    state: State = State.PAID
    item: Gift = Gift("a", Decimal("2.00"))
    null: int | None = None
    not_null: int | None = 5
    union: int | str | None = "y"
    many: Sequence[int] = field(default_factory=list)
    by_name: Mapping[str, Cents] = field(default_factory=dict)
    made: UUID | None = field(default_factory=lambda: UUID(int=2))


ORDERS: dict[str, tuple[Any, Any]] = {
    "dataclass": (DataOrder, Item),
    "attrs": (AttrsOrder, AttrsItem),
    "msgspec": (StructOrder, StructItem),
    "pydantic": (ModelOrder, ModelItem),
}


def order(kind: str, number: int = 0) -> Any:
    """Return an order of a library."""
    cls, item = ORDERS[kind]
    return cls(
        id=number * (-1) ** number,
        key=UUID(int=number),
        at=datetime(2026, 11, 25, 12, 0, number % 60, 123456, tzinfo=timezone.utc),
        day=date(2026, 11, 1 + number % 28),
        noon=time(12, 0, number % 60, 5),
        data=b"ab" * number,
        ratio=number / 4,
        state=State.PAID if number % 2 else State.NEW,
        kind="web" if number % 3 else "shop",
        items=[item(name=f"n{n}", price=Decimal(100 + n).scaleb(-2)) for n in range(number % 4)],
        counts={f"k{n}": n for n in range(number % 3)},
        note=None if number % 2 else f"note {number} ü",
        gift=(None, number, item(name="gift", price=Decimal("1.50")))[number % 3],
        tags=[f"t{n}" for n in range(number % 3)],
    )


def with_field(hint: Any, **options: Any) -> Any:
    """Return a dataclass Order with a field x."""

    class Order:
        pass

    Order.__annotations__ = {"x": hint}
    for name, value in options.items():
        setattr(Order, name, value)
    return dataclass(Order)

"""Tables: lists of typed rows that convert to Arrow, with the errors of what they lack.

Invariants: a list that may lack something has the errors that say so. The columns of a table depend
on the type of its rows alone, so that an empty one has them too; they have no secrets: fields that
``repr`` leaves out.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from ottla.errors import KafkaError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


class PartialList(list[T], Generic[T]):
    """A list that may be incomplete.

    Args:
        rows: the elements.
        errors: the reasons why elements may be missing.

    Attributes:
        errors: the errors of the brokers and coordinators that could not be asked. A call with an
            argument ``errors`` raises the first one, unless that is ``"return"``.
    """

    def __init__(self, rows: Iterable[T] = (), errors: Iterable[KafkaError] = ()) -> None:
        super().__init__(rows)
        self.errors = list(errors)


class Table(PartialList[T], Generic[T]):
    """A list of rows of one type.

    Args:
        row: the type of the rows, a dataclass.
        rows: the rows.
        errors: the reasons why rows may be missing, as for ``PartialList``.
    """

    def __init__(
        self, row: type[T], rows: Iterable[T] = (), errors: Iterable[KafkaError] = ()
    ) -> None:
        super().__init__(rows, errors)
        self._row = row

    def to_arrow(self) -> pa.Table:
        """Return the rows as a ``pyarrow.Table``, with a column for each field but secrets.

        Raises:
            ImportError: pyarrow is not installed.
        """
        import pyarrow as pa

        rows = [dataclasses.asdict(each) for each in self]  # type: ignore[call-overload]
        return pa.Table.from_pylist(rows, schema=pa.schema(_fields(self._row)))


def _fields(row: type) -> list[pa.Field[Any]]:
    import pyarrow as pa

    hints = get_type_hints(row)
    return [
        pa.field(field.name, _arrow_type(hints[field.name]))
        for field in dataclasses.fields(row)
        if field.repr
    ]


def _arrow_type(hint: Any) -> pa.DataType:
    import pyarrow as pa

    simple = {int: pa.int64(), str: pa.string(), bool: pa.bool_(), float: pa.float64()}
    if hint in simple:
        return simple[hint]
    if dataclasses.is_dataclass(hint):
        return pa.struct(_fields(hint))  # type: ignore[arg-type]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        [inner] = [each for each in arguments if each is not type(None)]
        return _arrow_type(inner)
    if origin is Literal:
        return _arrow_type(type(arguments[0]))
    if origin in {list, tuple}:
        return pa.list_(_arrow_type(arguments[0]))
    if origin is dict:
        return pa.map_(_arrow_type(arguments[0]), _arrow_type(arguments[1]))
    raise TypeError(f"{hint} has no Arrow type")

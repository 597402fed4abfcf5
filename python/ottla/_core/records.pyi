"""Records as objects and as Arrow columns."""

from collections.abc import Sequence
from types import GenericAlias
from typing import Any, Generic, final

from typing_extensions import TypeVar

# Of a record: the types of its key and value, None included.
_Key = TypeVar("_Key", covariant=True, default=bytes | None)
_Value = TypeVar("_Value", covariant=True, default=bytes | None)

@final
class Record(Generic[_Key, _Value]):
    """A consumed record. It refers to no buffer of the consumer.

    Args:
        topic: the topic.
        partition: the partition.
        offset: the record's offset.
        timestamp: milliseconds since 1970. Default: -1, none.
        timestamp_type: 0 if the producer set the timestamp, 1 if the broker did, -1 if there is
            none. Default: 0.
        key: bytes, or the result of ``key_deserializer``. Default: None, no key.
        value: bytes, or the result of ``value_deserializer``. Default: None, a tombstone.
        headers: pairs of a name and a value. Default: none.
        leader_epoch: the epoch of the leader that appended the record. Default: -1, unknown.
        delivery_count: how often a share group has delivered the record. Default: None.
    """

    def __new__(
        cls,
        topic: str,
        partition: int,
        offset: int,
        *,
        timestamp: int = ...,
        timestamp_type: int = 0,
        key: _Key = ...,
        value: _Value = ...,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        leader_epoch: int = ...,
        delivery_count: int | None = None,
    ) -> Record[_Key, _Value]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def topic(self) -> str:
        """The topic that the record was read from."""
    @property
    def partition(self) -> int:
        """The number of the partition that the record was read from."""
    @property
    def offset(self) -> int:
        """The record's offset in its partition."""
    @property
    def timestamp(self) -> int:
        """The record's timestamp in milliseconds since 1970; -1 if it has none."""
    @property
    def timestamp_type(self) -> int:
        """0 for CreateTime, set by the producer; 1 for LogAppendTime, by the broker; -1: none."""
    @property
    def key(self) -> _Key:
        """The key as bytes, or the result of ``key_deserializer``; None if the record has none."""
    @property
    def value(self) -> _Value:
        """The value as bytes, or the result of ``value_deserializer``; None for a tombstone."""
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """The headers as pairs of a name and a value; a name may occur more than once."""
    @property
    def leader_epoch(self) -> int:
        """The epoch of the leader that appended the record (KIP-320); -1 if unknown."""
    @property
    def delivery_count(self) -> int | None:
        """How often a share group has delivered the record; None if read without one."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def _repr_html_(self) -> str: ...

@final
class RecordBatch:
    """Records as Arrow columns, for any library that supports Arrow's PyCapsule interface.

    ``pyarrow.record_batch(batch)`` and ``polars.DataFrame(batch)`` import it without a copy.
    """

    @property
    def num_rows(self) -> int:
        """The number of rows."""
    @property
    def num_columns(self) -> int:
        """The number of columns."""
    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
    @property
    def nbytes(self) -> int:
        """The size of the columns' buffers in bytes."""
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of plain Python values, without any Arrow library.

        It creates an object for each value, so use it for small batches only.

        Returns:
            A tuple for each row, in the order of the columns. Timestamps are milliseconds since
            1970; headers are lists of pairs of a name and a value, or None. In a batch with the
            column ``_error``, a key or value that has no Python object, such as a date in the
            year 10000, is None with the reason there.

        Raises:
            SerializationError: a key or value has no Python object, and there is no ``_error``.
        """

    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

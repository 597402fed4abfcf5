"""Partitions by key."""

from typing import Any, final

from ottla._core.aliases import BytesLike

@final
class Array:
    """An Arrow array that any Arrow library reads without a copy: ``pyarrow.array(array)``.

    It implements Arrow's PyCapsule interface (``__arrow_c_array__``); ``len()`` is its
    length.
    """

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

def partition_for_key(key: BytesLike, partitions: int) -> int:
    """Return the partition of a key, as the Java client's default partitioner chooses it.

    Args:
        key: bytes, or text (as UTF-8).
        partitions: the topic's number of partitions.

    Raises:
        ConfigError: the key is None, or ``partitions`` is 0.
    """

def partitions_for_keys(keys: Any, partitions: int) -> Array:
    """Return the partition of each key, as the Java client's default partitioner chooses it.

    Args:
        keys: binary or text, as an Arrow array, chunked array or column.
        partitions: the topic's number of partitions.

    Returns:
        An Arrow array of int32, in one chunk; null for a null.

    Raises:
        ConfigError: the keys have another type, or ``partitions`` is 0.
        TypeError: the keys are not Arrow data.
    """

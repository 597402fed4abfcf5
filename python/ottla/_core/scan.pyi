"""A read of ranges of offsets."""

from asyncio import Future
from collections.abc import Iterator
from types import TracebackType
from typing import final

from ottla._core.records import RecordBatch

@final
class Scan:
    """A read of ranges of offsets: an iterator of ``RecordBatch``, and an Arrow stream.

    ``pyarrow.RecordBatchReader.from_stream(scan)`` reads it, as does any library that supports
    Arrow's PyCapsule interface. It can be read once. Use it in a ``with`` block to stop reading
    early.
    """

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
    def __iter__(self) -> Iterator[RecordBatch]: ...
    def __next__(self) -> RecordBatch: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def close(self) -> None:
        """Stop reading, and release the buffers. Closing a scan again has no effect."""
    def __enter__(self) -> Scan: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

@final
class AsyncScanBase:
    """A read of ranges of offsets for asyncio, which ``ottla.AsyncScan`` wraps."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
    def next(self) -> Future[RecordBatch | None]:
        """Return the next batch, or None at the end."""
    def close(self) -> None:
        """Stop reading, and release the buffers, without waiting.

        Closing a scan again has no effect.
        """

"""The exception by which a handler of batches says which records failed."""

from __future__ import annotations

from collections.abc import Mapping

from ottla._internal.arguments import integer, mapping

__all__ = ["FailedRecords"]


class FailedRecords(Exception):  # noqa: N818 - it names records, as ExceptionGroup does exceptions
    """Some records of a batch failed, and all others are done.

    Args:
        failures: the exception of each failed record, by its index in the batch.

    Raises:
        ConfigError: an index is no integer.
        TypeError: a value is no exception.
    """

    def __init__(self, failures: Mapping[int, Exception]) -> None:
        example = '{3: ValueError("...")}'
        self.failures = {
            integer("failures", index): error
            for index, error in mapping("failures", failures, example).items()
        }
        for index, error in self.failures.items():
            if not isinstance(error, Exception):
                raise TypeError(
                    f"failures[{index}] is of type {type(error).__name__}: expected an exception"
                )
        super().__init__(f"{len(self.failures)} records failed")

"""``KafkaError`` and the exceptions of confluent-kafka's module ``cimpl``.

Invariants: an error compares equal to its code and to any error with that code; it survives
pickling with its flags; an error is a value that ``KafkaException`` contains as ``args[0]``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka._error_codes import ErrorCodes, name_of, text_of


class KafkaError(ErrorCodes, Exception):
    """An error or an event: a code, a text, and what the application may do about it.

    It is a value: calls raise ``KafkaException``, whose ``args[0]`` is a ``KafkaError``.

    Args:
        error: the code, such as ``KafkaError._TIMED_OUT``.
        reason: the text. Default: the code's.
        fatal: whether the client cannot be used any more.
        retriable: whether the same call may succeed later.
        txn_requires_abort: whether the transaction must be aborted.
    """

    def __init__(
        self,
        error: int,
        reason: str | None = None,
        fatal: bool = False,
        retriable: bool = False,
        txn_requires_abort: bool = False,
    ) -> None:
        self._code = operator.index(error)
        if reason is not None and not isinstance(reason, str):
            raise TypeError(f"reason must be str or None, not {type(reason).__name__}")
        self._reason = text_of(self._code) if reason is None else reason
        self._fatal = bool(fatal)
        self._retriable = bool(retriable)
        self._txn_requires_abort = bool(txn_requires_abort)
        super().__init__(self._code, self._reason)

    def code(self) -> int:
        """Return the code, to compare with the attributes of this class."""
        return self._code

    def name(self) -> str:
        """Return the name of the code, such as ``_TIMED_OUT``."""
        return name_of(self._code)

    def str(self) -> str:
        """Return the text of the error."""
        return self._reason

    def fatal(self) -> bool:
        """Return whether the client cannot be used any more."""
        return self._fatal

    def retriable(self) -> bool:
        """Return whether the same call may succeed later."""
        return self._retriable

    def txn_requires_abort(self) -> bool:
        """Return whether the current transaction must be aborted."""
        return self._txn_requires_abort

    def __repr__(self) -> str:  # type: ignore[valid-type]  # the method str hides the type
        fatal = "FATAL," if self._fatal else ""
        return f'KafkaError{{{fatal}code={self.name()},val={self._code},str="{self._reason}"}}'

    __str__ = __repr__

    def _compare(self, other: object, compare: Callable[[int, int], bool]) -> bool:
        code = other._code if isinstance(other, KafkaError) else other
        return compare(self._code, code) if isinstance(code, int) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> bool:
        return self._compare(other, operator.ne)

    def __lt__(self, other: object) -> bool:
        return self._compare(other, operator.lt)

    def __le__(self, other: object) -> bool:
        return self._compare(other, operator.le)

    def __gt__(self, other: object) -> bool:
        return self._compare(other, operator.gt)

    def __ge__(self, other: object) -> bool:
        return self._compare(other, operator.ge)

    def __hash__(self) -> int:
        return hash(self._code)

    def __reduce__(self) -> tuple[Any, ...]:
        flags = (int(self._fatal), int(self._retriable), int(self._txn_requires_abort))
        return type(self), (self._code, self._reason, *flags)


class KafkaException(Exception):  # noqa: N818 - the peer's name
    """The exception of all calls; ``args[0]`` is the ``KafkaError``."""


class IllegalStateException(RuntimeError):  # noqa: N818 - the peer's name
    """The object's state does not allow the call."""


class ConcurrentModificationException(RuntimeError):  # noqa: N818 - the peer's name
    """Another thread uses the share consumer."""

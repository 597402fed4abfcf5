"""The format strings of ``consume``: kcat's, with text, escapes and ``%`` tokens.

Tokens: ``%t`` topic, ``%p`` partition, ``%o`` offset, ``%k`` key, ``%s`` value, ``%h`` headers,
``%T`` timestamp in ms, ``%T{FORMAT}`` timestamp in UTC by ``strftime``, ``%K`` and ``%S`` lengths
of key and value (-1 for null), ``%%``. Keys and values are printed as raw bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from ottla.errors import ConfigError

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"\\": b"\\"}
_TOKEN = re.compile(rb"%(?:T\{(?P<time>[^{}]*)\}|(?P<name>.))", re.DOTALL)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Record(NamedTuple):
    """A record with the columns that ``consume`` reads, in their order, and the decoded objects.

    Attributes:
        timestamp: milliseconds since 1970; None after the year 294,246.
        objects: the key and the value that have a schema, as JSON values.
        types: the names of the types of those that are read as written.
        error: the reason why the key or the value cannot be decoded.
    """

    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    headers: list[tuple[str, bytes | None]] | None
    objects: Mapping[str, Any] | None = None
    types: Mapping[str, str | None] | None = None
    error: str | None = None


Format = Callable[[Record], Iterable[bytes]]
"""Formats a record in pieces, so that a large value is not copied."""


class CompiledFormat:
    """A format string: formats a record as one text, or in pieces.

    Args:
        parts: text, and functions for the tokens.
    """

    def __init__(self, parts: Sequence[bytes | Callable[[Record], bytes]]) -> None:
        self._parts = parts

    def __call__(self, record: Record) -> bytes:
        """Return the text of a record."""
        return b"".join(self.pieces(record))

    def pieces(self, record: Record) -> Iterable[bytes]:
        """Return the text of a record, one piece for each token."""
        return [part if isinstance(part, bytes) else part(record) for part in self._parts]


def unescape(text: str) -> bytes:
    r"""Return a text with ``\n``, ``\r``, ``\t``, ``\0``, ``\xHH`` and ``\\`` as bytes."""

    def byte(escape: re.Match[bytes]) -> bytes:
        code = escape[1]
        if code[:1] == b"x" and len(code) > 1:
            return bytes([int(code[1:], 16)])
        return _ESCAPED.get(code, escape[0])

    return _ESCAPE.sub(byte, text.encode(errors="surrogateescape"))


def headers_as_text(headers: list[tuple[str, bytes | None]] | None) -> bytes:
    """Return headers as ``name=value,name=value``, with ``NULL`` for null values."""
    pairs = headers or []
    return b",".join(
        name.encode() + b"=" + (b"NULL" if value is None else value) for name, value in pairs
    )


_TOKENS: dict[bytes, Callable[[Record], bytes]] = {
    b"t": lambda record: record.topic.encode(),
    b"p": lambda record: b"%d" % record.partition,
    b"o": lambda record: b"%d" % record.offset,
    b"k": lambda record: record.key or b"",
    b"s": lambda record: record.value or b"",
    b"h": lambda record: headers_as_text(record.headers),
    b"T": lambda record: b"NULL" if record.timestamp is None else b"%d" % record.timestamp,
    b"K": lambda record: b"%d" % (-1 if record.key is None else len(record.key)),
    b"S": lambda record: b"%d" % (-1 if record.value is None else len(record.value)),
    b"%": lambda _: b"%",
}


def _time_token(form: bytes) -> Callable[[Record], bytes]:
    """Return the function for ``%T{FORM}``.

    Raises:
        ConfigError: ``strftime`` cannot use the form.
    """
    try:
        directives = form.decode()
        _EPOCH.strftime(directives)
    except ValueError as error:
        raise ConfigError(
            f"-f: %T{{{form.decode(errors='replace')}}} is not a format of strftime: {error}"
        ) from None

    def write(record: Record) -> bytes:
        if record.timestamp is None:
            return b"NULL"
        try:
            time = _EPOCH + timedelta(milliseconds=record.timestamp)
            return time.strftime(directives).encode()
        except (ValueError, OverflowError):  # not in the years 1 to 9999
            return b"%d" % record.timestamp

    return write


def compile_format(text: str) -> CompiledFormat:
    """Return a format.

    Raises:
        ConfigError: the format has an unknown token.
    """
    template = unescape(text)
    parts: list[bytes | Callable[[Record], bytes]] = []
    end = 0
    for token in _TOKEN.finditer(template):
        parts.append(template[end : token.start()])
        end = token.end()
        if token["time"] is not None:
            parts.append(_time_token(token["time"]))
            continue
        try:
            parts.append(_TOKENS[token["name"]])
        except KeyError:
            known = " ".join(f"%{name.decode()}" for name in _TOKENS)
            name = token["name"].decode(errors="replace")
            raise ConfigError(
                f"-f: %{name} does not exist; the tokens are {known} and %T{{%F %T}}"
            ) from None
    parts.append(template[end:])
    return CompiledFormat(parts)

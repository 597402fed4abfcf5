"""Large keys and values as text, piece by piece.

Invariant: the pieces together are the text that a small value would have; none is larger than a few
megabytes, whatever the escapes.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from ottla.cli.consume.decoding import json_text

_PIECE = 1 << 20


def is_large(data: bytes) -> bool:
    """Return whether a key or value is large enough for several pieces."""
    return len(data) > _PIECE


def texts(data: bytes, errors: str) -> Iterator[str]:
    """Yield a value as UTF-8 text.

    Args:
        data: the value.
        errors: the treatment of bytes that are not UTF-8, as for ``bytes.decode``.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    view = memoryview(data)
    for start in range(0, len(view), _PIECE):
        end = start + _PIECE
        yield decoder.decode(view[start:end], final=end >= len(view))


def is_utf8(data: bytes) -> bool:
    """Return whether a value is UTF-8."""
    try:
        for _ in texts(data, "strict"):
            pass
    except UnicodeDecodeError:
        return False
    return True


def json_string(data: bytes) -> Iterator[bytes]:
    """Yield a value as a JSON string; bytes that are not UTF-8 become U+FFFD."""
    yield b'"'
    for text in texts(data, "replace"):
        # Characters are escaped one by one, so the pieces can be joined.
        yield json_text(text)[1:-1].encode()
    yield b'"'

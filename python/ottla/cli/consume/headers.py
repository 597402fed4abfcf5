"""The interpretation of header values, for ``--header-as``.

Invariant: as for keys and values, bytes that are not of the given type are an error that names the
record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ottla._internal.text import clean
from ottla.cli.consume.decoding import DECODERS, decode_bytes
from ottla.cli.formats import Record
from ottla.errors import ConfigError

HeaderKinds = Mapping[str | None, str]
"""The types by the header's name; under None that of all other headers."""


def header_kinds(texts: Iterable[str]) -> HeaderKinds:
    """Parse arguments ``[NAME=]TYPE``.

    Raises:
        ConfigError: a type does not exist, or a header has two.
    """
    kinds: dict[str | None, str] = {}
    for text in texts:
        name, separator, kind = text.rpartition("=")
        if kind not in DECODERS:
            raise ConfigError(
                f"--header-as {text!r}: expected TYPE or NAME=TYPE; the types are "
                f"{', '.join(sorted(DECODERS))}"
            )
        key = name if separator else None
        if key in kinds:
            raise ConfigError(f"--header-as gives two types for {key or 'all headers'}")
        kinds[key] = kind
    return kinds


def decoded_headers(record: Record, kinds: HeaderKinds) -> list[tuple[str, Any]]:
    """Return the headers of a record; values without a type stay bytes.

    Raises:
        SerializationError: a value is not of its type.
    """
    found: list[tuple[str, Any]] = []
    for name, data in record.headers or []:
        kind = kinds.get(name, kinds.get(None))
        if kind is None or data is None:
            found.append((name, data))
        else:
            found.append((name, decode_bytes(record, f"header {clean(name)}", data, kind)))
    return found

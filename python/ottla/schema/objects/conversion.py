"""``Conversion``: what the core needs to know of a type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Conversion:
    """A type's schema, and the conversion of its objects.

    Attributes:
        schema: the text of the schema, or a generated class of Protobuf.
        load: returns an object of a decoded value, or of a payload.
        dump: returns the value, or the payload, of an object.
        of_payloads: whether ``load`` and ``dump`` convert payloads, not values.
        checked_fields: the fields to decode first to check which message a payload is; empty for
            all of them, None if payloads name no message.
        message_prefixes: what identifies the message in the formats of Confluent and Apicurio.
    """

    schema: Any
    load: Callable[[Any], Any]
    dump: Callable[[Any], Any]
    of_payloads: bool = False
    checked_fields: Sequence[str] | None = None
    message_prefixes: tuple[bytes, bytes] = (b"", b"")

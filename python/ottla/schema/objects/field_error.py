"""``FieldError``: a field of an object or a record does not hold what its type expects.

Invariant: the message names the path of the field, what was expected, and what came, shortened.
"""

from __future__ import annotations

import re
from typing import Any

from ottla.errors import SchemaError

# pydantic's warning about a field that is not serialized as its type.
_WARNING = re.compile(
    r"Expected `(.+?)`[^\[]*\[field_name='(\w+)', input_value=(.*?), input_type=(\w+)\]", re.DOTALL
)
# Of the path of a field that is nested deep, in characters.
_MAX_PATH = 200
# Of a value in a message, in characters.
_MAX_TEXT = 60


class FieldError(ValueError):
    """A field does not hold what its type expects.

    Attributes:
        path: the field, such as ``items[2].price``; empty for the whole value.
        depth: the values around the one that does not fit, of which each was one of its type.
    """

    def __init__(self, reason: str, path: str = "", depth: int = 0) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path
        self.depth = depth

    def under(self, name: str) -> FieldError:
        """Return the error as one of a field or an item, such as ``items`` or ``[2]``."""
        path = self.path if not self.path or self.path.startswith("[") else f".{self.path}"
        error = FieldError(self.reason, shortened(name + path, _MAX_PATH), self.depth + 1)
        error.__cause__ = self.__cause__
        return error


def shortened(text: str, size: int) -> str:
    """Return a text of at most a number of characters: what is in the middle says the least."""
    half = (size - 1) // 2
    return text if len(text) <= size else f"{text[:half]}…{text[-half:]}"


def shown(value: Any) -> str:
    """Return the type of a value and the beginning of its text."""
    if value is None:
        return "None"
    kind = type(value).__name__
    if not isinstance(value, (bool, int, float, str, bytes)):
        return kind
    try:
        text = repr(value[:_MAX_TEXT] if isinstance(value, (str, bytes)) else value)
    except ValueError:  # an int of too many digits
        return kind
    return f"{kind} {text[:_MAX_TEXT]}{'…' if len(text) > _MAX_TEXT else ''}"


def expected(what: str, value: Any) -> FieldError:
    """Return the error for a value of another kind."""
    return FieldError(f"expected {what}, not {shown(value)}")


def unfit_default(path: str, error: FieldError) -> SchemaError:
    """Return the error for a default that is no value of its field's type."""
    return SchemaError(f"{path}: the default does not fit the type: {error}")


def of_library(error: Exception) -> FieldError:
    """Return the error for an exception that a class or its validator raised."""
    errors = getattr(error, "errors", None)
    if callable(errors):  # pydantic's ValidationError
        found = errors(include_url=False, include_context=False)
        parts = [(_path(each["loc"]), each["msg"], each) for each in found]
        texts = [
            f"{path + ': ' if path else ''}{message}, not {shown(each.get('input'))}"
            if each["type"] != "missing"
            else f"{path}: missing"
            for path, message, each in parts[:5]
        ]
        made = FieldError("; ".join(texts).removeprefix(f"{parts[0][0]}: "), parts[0][0])
    else:
        made = _of_text(str(error) or type(error).__name__)
    made.__cause__ = error
    return made


def _of_text(text: str) -> FieldError:
    if found := _WARNING.search(text):
        return FieldError(f"expected {found[1]}, not {found[4]} {found[3][:_MAX_TEXT]}", found[2])
    # msgspec ends its messages with the path.
    reason, _, path = text.partition(" - at `$")
    return FieldError(" ".join(reason.split()), path.rstrip("`").removeprefix("."))


def _path(places: tuple[str | int, ...]) -> str:
    path = ""
    for place in places:
        path += f"[{place}]" if isinstance(place, int) else f"{'.' if path else ''}{place}"
    return path

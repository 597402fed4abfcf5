"""Arrow's C interface by hand: structs with any content, in capsules.

For tests of what a hostile object may pass.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""A function that marks a struct as released; see `released`."""


class Schema(ctypes.Structure):
    """The struct ``ArrowSchema``."""

    _fields_ = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", Release),
        ("private_data", ctypes.c_void_p),
    ]


class Array(ctypes.Structure):
    """The struct ``ArrowArray``."""

    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", Release),
        ("private_data", ctypes.c_void_p),
    ]


GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
GetLastError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Stream(ctypes.Structure):
    """The struct ``ArrowArrayStream``."""

    _fields_ = [
        ("get_schema", GetNext),
        ("get_next", GetNext),
        ("get_last_error", GetLastError),
        ("release", Release),
        ("private_data", ctypes.c_void_p),
    ]


def _release(struct: type[ctypes.Structure]) -> Any:
    def release(address: int) -> None:
        struct.from_address(address).release = Release()

    return Release(release)


# They live as long as the process: a struct may be released at any time.
RELEASE = {struct: _release(struct) for struct in (Schema, Array, Stream)}
_KEPT: list[Any] = []


def kept(value: Any) -> Any:
    """Keep an object alive until the process ends, as what C refers to."""
    _KEPT.append(value)
    return value


def schema(form: bytes | None = b"i", *children: Schema | None, **fields: Any) -> Schema:
    """Return a schema that is not released, kept alive."""
    made = Schema(format=form, release=RELEASE[Schema], n_children=len(children))
    made.children = addresses(children)
    for name, value in fields.items():
        setattr(made, name, value)
    return kept(made)  # type: ignore[no-any-return]


def array(
    length: int, buffers: list[bytes | None], /, *children: Array | None, **fields: Any
) -> Array:
    """Return an array that is not released, kept alive."""
    made = Array(length=length, null_count=0, release=RELEASE[Array])
    contents = [None if content is None else kept(aligned(content)) for content in buffers]
    made.n_buffers, made.buffers = len(buffers), addresses(contents)
    made.n_children, made.children = len(children), addresses(children)
    for name, value in fields.items():
        setattr(made, name, value)
    return kept(made)  # type: ignore[no-any-return]


def aligned(content: bytes) -> ctypes.Array[ctypes.c_int64]:
    """Return a copy of some bytes at an address that is a multiple of eight."""
    copy = (ctypes.c_int64 * (len(content) // 8 + 1))()
    ctypes.memmove(copy, content, len(content))
    return copy


def addresses(objects: Any) -> int | None:
    """Return the address of an array of the objects' addresses."""
    if not objects:
        return None
    found = [None if each is None else ctypes.addressof(each) for each in objects]
    return ctypes.addressof(kept((ctypes.c_void_p * len(found))(*found)))


_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def capsule(struct: ctypes.Structure, name: bytes | None = None) -> object:
    """Return a capsule of a struct, by default with the name of its type."""
    names = {Schema: b"arrow_schema", Array: b"arrow_array", Stream: b"arrow_array_stream"}
    return _new(ctypes.addressof(struct), kept(name or names[type(struct)]), None)


class Exporter:
    """An object with one method of Arrow's PyCapsule interface."""

    def __init__(self, method: str, result: Callable[[], Any]) -> None:
        setattr(self, f"__arrow_c_{method}__", result)

"""Old names of keyword arguments: each is refused with its new name, for one release.

``convert/renamed.rs`` in rust/python does the same for the methods of the extension.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ottla.errors import ArgumentTypeError

P = ParamSpec("P")
T = TypeVar("T")


def refuse_old_formats(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function whose formats were called ``key`` and ``value``.

    Raises:
        ArgumentTypeError: an argument has its old name; raised by the decorated function.
    """

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in ("key", "value"):
            if name in kwargs:
                raise ArgumentTypeError(
                    f"{function.__name__}() takes a format as {name}_format=: {name}= was renamed"
                )
        return function(*args, **kwargs)

    return checked

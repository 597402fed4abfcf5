"""Lazy imports: names of a package that are imported on first use (PEP 562).

Invariants: after its first use, a name is an ordinary attribute of its package. ``dir()`` shows
``__all__`` and the dunder attributes of every module, nothing else. A missing extra affects only
the part that needs it: ``help()`` and ``import *`` skip that part.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from types import ModuleType

# Attributes that this module adds to a package.
_OWN = {"__getattr__", "__dir__"}


class _Unavailable(ModuleType):
    """A placeholder for a module whose extra is missing: using its names raises the error."""

    def __init__(self, name: str, error: ModuleNotFoundError) -> None:
        super().__init__(name, str(error))
        self._error = error

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise self._error


def load_later(
    package: str,
    names: Mapping[str, str],
    modules: Collection[str] = (),
    *,
    extra: str | None = None,
) -> tuple[Callable[[str], object], Callable[[], Iterable[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    Args:
        package: the package's name; it must have an ``__all__``.
        names: the submodule that defines each name.
        modules: submodules that are names themselves.
        extra: the extra that the package needs, which the error for a missing module names.
    """
    namespace = vars(sys.modules[package])

    def load(module: str) -> ModuleType:
        try:
            return importlib.import_module(f"{package}.{module}")
        except ModuleNotFoundError as error:
            if extra is None:
                raise
            from ottla._internal.extras import explain

            raise explain(error, package, extra) from error

    def get(name: str) -> object:
        if name in modules:
            try:
                return load(name)
            except ModuleNotFoundError as error:
                from ottla._internal.extras import MissingExtraError

                if not isinstance(error, MissingExtraError):
                    raise
                return _Unavailable(f"{package}.{name}", error)
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(load(names[name]), name)
        namespace[name] = found
        return found

    def show() -> Iterable[str]:
        dunders = {name for name in namespace if name.startswith("__") and name.endswith("__")}
        return sorted({*namespace["__all__"], *(dunders - _OWN)})

    return get, show

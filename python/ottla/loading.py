"""Names of a package that are loaded when they are first used (PEP 562).

Invariants: a name that was used once is an attribute of its package like any other. ``dir()`` shows
``__all__`` and what every module has, nothing else. A part of the package whose extra is missing
hinders no other part: ``help()`` and ``import *`` pass it by.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from types import ModuleType

# What a package has besides because of this module.
_OWN = {"__getattr__", "__dir__"}


class _Unavailable(ModuleType):
    """Stands for a module whose extra is missing: using a name of it raises the error."""

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
    """Make a package's ``__getattr__`` and ``__dir__``.

    Args:
        package: the package's name; it has an ``__all__``.
        names: the module of the package that has each name.
        modules: modules of the package, which are names themselves.
        extra: the extra that the package needs; a module that is missing is reported with it.
    """
    namespace = vars(sys.modules[package])

    def load(module: str) -> ModuleType:
        try:
            return importlib.import_module(f"{package}.{module}")
        except ModuleNotFoundError as error:
            if extra is None:
                raise
            from ottla.extras import explain

            raise explain(error, package, extra) from error

    def get(name: str) -> object:
        if name in modules:
            try:
                return load(name)
            except ModuleNotFoundError as error:
                from ottla.extras import MissingExtraError

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

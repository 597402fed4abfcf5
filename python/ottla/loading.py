"""Names of a package that are loaded when they are first asked for (PEP 562).

Invariant: what was asked for once is a name of its package like any other.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Mapping


def load_later(
    package: str, names: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], Iterable[str]]]:
    """Make a package's ``__getattr__`` and ``__dir__``.

    ``names`` says which module of the package has a name; ``modules`` are names themselves.
    """
    namespace = vars(sys.modules[package])

    def get(name: str) -> object:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{package}.{names[name]}"), name)
        namespace[name] = found
        return found

    return get, lambda: sorted({*namespace, *names, *modules})

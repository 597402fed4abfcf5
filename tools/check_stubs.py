#!/usr/bin/env python3
"""Checks the stubs of ottla._core against the extension, with mypy's stubtest.

The modules below python/ottla/_core/ exist only for type checkers, and stubtest checks a class only
in the module that declares it. So this builds those modules from the extension's own objects before
it runs stubtest. `make lint` calls it.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

from mypy import stubtest

from ottla import _core

ROOT = Path(__file__).resolve().parent.parent
STUBS = ROOT / "python" / "ottla" / "_core"
ALLOWLIST = ROOT / "tools" / "stubtest_allowlist.txt"


def _modules() -> dict[str, ModuleType]:
    """Return a module for each stub that declares classes or functions."""
    modules = {}
    for path in sorted(STUBS.glob("*.pyi")):
        tree = ast.parse(path.read_text())
        declared = [n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
        if declared:
            name = f"{_core.__name__}.{path.stem}"
            modules[name] = ModuleType(name)
            # stubtest itself reports a name that the extension does not have.
            found = {n: getattr(_core, n) for n in declared if hasattr(_core, n)}
            vars(modules[name]).update(found)
    return modules


def main() -> int:
    """Run stubtest, and return its exit code."""
    sys.modules.update(_modules())
    arguments = ["--allowlist", str(ALLOWLIST), _core.__name__]
    return stubtest.test_stubs(stubtest.parse_options(arguments))


if __name__ == "__main__":
    sys.exit(main())

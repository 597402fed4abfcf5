"""`pip install ottla` brings an extension and Python: no jar, C library or other package."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ottla
from ottla import _core

PACKAGE = Path(ottla.__file__).parent
EXTENSION = Path(_core.__file__)
# The C library itself, in its parts, and the one that unwinds the stack, which GCC and Rust use.
RUNTIME = {"libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libgcc_s.so"}
LOADER = re.compile(r"ld-linux.*\.so")


@pytest.mark.skipif(sys.platform != "linux", reason="readelf reads the libraries of Linux")
def test_the_extension_needs_the_c_runtime_alone() -> None:
    done = subprocess.run(
        ["readelf", "--dynamic", "--wide", str(EXTENSION)],
        check=True,
        capture_output=True,
        text=True,
    )
    needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", done.stdout)
    names = {re.sub(r"\.so\..*", ".so", name) for name in needed}
    assert "libc.so" in names, done.stdout
    assert {name for name in names - RUNTIME if not LOADER.fullmatch(name)} == set()


def test_no_jar_and_no_other_library_is_in_the_package() -> None:
    foreign = (".jar", ".class", ".so", ".dll", ".dylib", ".a")
    found = {path for path in PACKAGE.rglob("*") if path.suffix in foreign}
    assert found == {EXTENSION}


def test_pip_installs_nothing_else() -> None:
    required = importlib.metadata.requires("ottla") or []
    assert any("extra ==" in requirement for requirement in required)
    assert [requirement for requirement in required if "extra ==" not in requirement] == []

"""Installations without the compiled module say why, and what to do."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

import ottla
from tests.support.subprocesses import run_python

PACKAGE = Path(ottla.__file__).parent
FILES = [
    "__init__.py",
    "errors.py",
    "_internal/__init__.py",
    "_internal/loading.py",
    "_internal/missing_core.py",
]

SHOW = """
import sys
sys.path.insert(0, sys.argv[1])
try:
    import ottla
except ImportError as error:
    print(error.name, error)
"""


def imported_from(path: Path) -> str:
    return run_python(f"import sys; sys.argv[1:] = [{str(path)!r}]\n{SHOW}")


def test_a_wheel_sent_as_an_archive_of_python_files(tmp_path: Path) -> None:
    archive = tmp_path / "ottla.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        for name in FILES:
            wheel.write(PACKAGE / name, f"ottla/{name}")
        wheel.writestr("ottla/_core.abi3.so", b"the module, which Python does not see there")
    shown = imported_from(archive)
    assert shown.startswith("ottla._core ottla can't be imported: ")
    assert f"{archive}/ottla is in an archive" in shown
    assert "--archives in place of --py-files" in shown


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in FILES:
        target = tmp_path / "ottla" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, target)
    return tmp_path / "ottla"


@pytest.mark.skipif(sys.platform == "win32", reason="the other platform's module is Windows' own")
def test_a_wheel_of_another_platform(package: Path) -> None:
    (package / "_core.pyd").write_bytes(b"for Windows")
    shown = imported_from(package.parent)
    assert "no compiled module for this Python and platform (found: _core.pyd)" in shown


def test_a_module_that_the_systems_loader_rejects(package: Path) -> None:
    (package / "_core.abi3.so").write_bytes(b"not a library")
    shown = imported_from(package.parent)
    # The loader's own text, which names what is wrong.
    assert str(package / "_core.abi3.so") in shown
    assert "can't be imported" not in shown

"""What `make docs` generates is current: the configuration page, the docstrings of the stub."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load_tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_the_configuration_page_is_current() -> None:
    page = load_tool("config_table").page()
    assert (ROOT / "docs" / "configuration.md").read_text() == page, "run make docs"


def test_the_stub_has_the_docstrings_of_the_binary() -> None:
    stub = load_tool("stub_docstrings").stub()
    assert (ROOT / "python" / "ottla" / "_core.pyi").read_text() == stub, "run make docs"

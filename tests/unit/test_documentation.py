"""The configuration page is what the table of keys says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_configuration_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location(
        "config_table", ROOT / "tools" / "config_table.py"
    )
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "docs" / "configuration.md").read_text() == tool.page(), "run make docs"

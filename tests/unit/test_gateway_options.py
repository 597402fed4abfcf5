"""The program ``ottla-gateway`` has the options of ``ottla gateway``: from one table."""

from __future__ import annotations

import json

from tests.unit.test_documentation import tool


def test_the_table_of_the_program_is_current() -> None:
    options = tool("gateway_options")
    assert options.FILE.read_text(encoding="utf-8") == options.text(), "run make docs"


def test_the_table_has_what_the_command_has() -> None:
    table = json.loads(tool("gateway_options").text())
    options = {option["name"]: option for option in table["options"]}
    assert options["listen"]["default"] == "127.0.0.1:19092"
    assert options["settings"] | {"help": ""} == {
        "name": "settings",
        "flags": ["-X", "--set"],
        "kind": "list",
        "metavar": "KEY=VALUE",
        "default": None,
        "help": "",
    }
    assert table["exclusive"] == [["ports", "sni"]]
    assert "profile" not in options

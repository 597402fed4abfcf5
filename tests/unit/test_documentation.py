"""What `make docs` generates is current: the configuration page, types, and docstrings."""

import ast
import importlib.util
import re
from types import ModuleType
from typing import Any

import pytest

import ottla
from ottla import _core, config_types
from tests.support.jars import REPOSITORY
from tests.support.markdown_tables import broken_tables
from tests.support.snippets import pages, snippets


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_configuration_page_is_current() -> None:
    page = REPOSITORY / "docs" / "reference" / "configuration.md"
    assert page.read_text() == tool("config_table").page(), "run make docs"


def test_the_page_of_verdicts_is_current() -> None:
    page = REPOSITORY / "docs" / "fix" / "verdicts.md"
    assert page.read_text() == tool("verdicts_page").page(), "run make docs"


def test_the_page_of_set_ups_is_current() -> None:
    page = REPOSITORY / "docs" / "fix" / "set-ups.md"
    assert page.read_text() == tool("set_ups_page").page(), "run make docs"


def test_every_error_class_is_explained() -> None:
    page = (REPOSITORY / "docs" / "fix" / "errors.md").read_text()
    explained = set(re.findall(r"^\| `(\w+Error)` \|", page, re.MULTILINE))
    assert explained == set(ottla.errors.__all__) - {"Attempt", "ErrorCode", "KafkaError"}


def test_the_types_of_keywords_are_current() -> None:
    module = REPOSITORY / "python" / "ottla" / "config_types.py"
    assert module.read_text() == tool("config_types").module(), "run make docs"
    module = REPOSITORY / "python" / "ottla" / "error_code.py"
    assert module.read_text() == tool("error_codes").generated(), "run make docs"


def test_a_client_takes_every_key_as_a_keyword_and_no_other() -> None:
    rows = {name.replace(".", "_") for name, *_ in _core.config_rows()}
    of_clients = set(config_types.ClientConfig.__annotations__)
    # A callable; and librdkafka's name of partitioner.class, which takes a callable as well.
    assert of_clients == rows | {"sasl_oauth_token", "partitioner"}
    producers = set(config_types.ProducerConfig.__annotations__)
    consumers = set(config_types.ConsumerConfig.__annotations__)
    assert producers | consumers == of_clients
    assert producers & consumers == set(config_types.CommonConfig.__annotations__)


def hints() -> dict[str, str]:
    """Return the type of each key that is no text: test_configuration.py has those."""
    of_clients = config_types.ClientConfig.__annotations__
    all_hints = {name: str(hint.__forward_arg__) for name, hint in of_clients.items()}
    return {name: hint for name, hint in all_hints.items() if hint not in ("_Text", "str | None")}


def samples(hint: str) -> list[Any]:
    """Return values of a type; all of them where it lists them."""
    if hint.startswith("Literal["):
        listed: list[Any] = ast.literal_eval(hint.removeprefix("Literal").removesuffix(" | None"))
        return [*listed, None]
    if hint == "_Number":
        return [120_000, "120000", None]
    if hint == "_Flag":
        return [True, False, "true", "false", None]
    return ["a:9092,b:9092", ["a:9092", "b:9092"], None]


@pytest.mark.parametrize(("name", "hint"), hints().items())
def test_values_of_the_type_of_a_key_are_accepted(name: str, hint: str) -> None:
    if name == "sasl_oauth_token":
        values: list[Any] = [lambda: "token", None]
    elif name in ("partition_assignment_strategy", "ssl_enabled_protocols"):
        only = {"ssl_enabled_protocols": "TLSv1.3"}.get(name, "range")
        values = [only, [only], None]
    else:
        values = samples(hint)
    rows = {row[0].replace(".", "_"): row for row in _core.config_rows()}
    for value in values:
        given = value
        bounds = rows[name][3] if name in rows else None
        if bounds is not None and value is not None and not bounds[0] <= int(value) <= bounds[1]:
            given = type(value)(bounds[1])
        config = {"sasl_kerberos_service_name": "kafka", name: given}
        is_address = name == "bootstrap_controllers" and given is not None
        ottla.Client(None if is_address else "127.0.0.1:9", config, connect=False).close()


def test_stubs_and_twins_have_the_docstrings_of_the_binary() -> None:
    for path, text in tool("stub_docstrings").documented_files().items():
        assert path.read_text() == text, f"{path.name}: run make docs"


def test_diagrams_have_no_semicolons() -> None:
    """A semicolon ends a statement in a diagram, also in the middle of a text."""
    diagrams = list(snippets("mermaid"))
    assert len(diagrams) >= 6
    assert [d.id for d in diagrams if ";" in d.text] == []


def test_tables_are_whole() -> None:
    broken = {
        f"{path.relative_to(REPOSITORY)}:{line}": fault
        for path in pages()
        for line, fault in broken_tables(path.read_text())
    }
    assert broken == {}


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        ("| a | b |\n|---|:-:|\n| 1 | `x\\|y` |\n", []),
        ("```\n| a |\n```\n", []),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n", [5]),
        ("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |\n", [3, 4]),
        ("| a | b |\n|---|\n| 1 | 2 |\n", [2]),
        ("| a | b |\n|---|---|\n| 1 | 2\n", [3, 3]),
    ],
)
def test_broken_tables_are_found(table: str, lines: list[int]) -> None:
    assert [line for line, _ in broken_tables(table)] == lines

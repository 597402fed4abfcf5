"""The pages of docs/guides/frameworks print the examples, commands and versions that are tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import framework_pages
from tests.support.frameworks import EXAMPLES
from tests.support.jars import REPOSITORY
from tests.support.snippets import Snippet

REQUIREMENTS = REPOSITORY / "requirements" / "frameworks"
# The frameworks of a page: its title names their packages, but for a space or capital letters.
PAGES = {
    "airflow": ("apache-airflow-core",),
    "bytewax": ("bytewax",),
    "celery": ("celery", "kombu"),
    "dagster": ("dagster",),
    "django": ("django", "gunicorn"),
    "fastapi": ("fastapi", "uvicorn"),
    "faststream": ("faststream",),
    "quix-streams": ("quixstreams",),
}


def pinned() -> dict[str, str]:
    """Return the version of each package that requirements/frameworks asks for by name."""
    lines = "\n".join(path.read_text() for path in sorted(REQUIREMENTS.glob("*.in")))
    return {
        name.lower(): version
        for name, version in re.findall(r"^([\w-]+)(?:\[.*\])?==([\w.]+)", lines, re.MULTILINE)
    }


@pytest.mark.parametrize("block", framework_pages.blocks("python"), ids=lambda block: block.id)
def test_python_is_a_part_of_an_example(block: Snippet) -> None:
    sources = [path.read_text() for path in EXAMPLES.rglob("*.py")]
    assert any(f"\n{block.text}" in f"\n{source}" for source in sources), (
        f"{block.page}:{block.line}: no example in {EXAMPLES.relative_to(REPOSITORY)} has this text"
    )


def test_every_example_is_on_a_page() -> None:
    printed = "".join(block.text for block in framework_pages.blocks("python"))
    # Django's own files, and the twin of an example whose first lines are on its page.
    usual = {"__init__.py", "manage.py", "settings.py", "urls.py", "wsgi.py"}
    usual.add("faststream_aiokafka.py")
    for path in sorted(EXAMPLES.rglob("*.py")):
        if path.name not in usual:
            _, _, code = path.read_text().partition('"""\n\n')
            assert code in printed, path


def test_the_twin_differs_from_its_example_in_the_client_alone() -> None:
    confluent, aiokafka = (
        (EXAMPLES / f"faststream_{name}.py").read_text() for name in ("confluent", "aiokafka")
    )
    install = 'import ottla.compat\n\nottla.compat.install("aiokafka")\n\n'
    twin = aiokafka.replace(install, "").replace("faststream.kafka", "faststream.confluent")
    assert twin.replace("on aiokafka", "on confluent-kafka") == confluent


def test_commands_are_programs_that_exist() -> None:
    commands = framework_pages.commands()
    assert len(commands) >= 12
    files = {path.name for path in EXAMPLES.rglob("*.py")}
    for command in commands:
        first = command.program[0]
        assert first == "-m" or first in files, command


def test_every_page_names_the_tested_versions() -> None:
    versions = pinned()
    pages = {path.stem: path.read_text() for path in framework_pages.pages()}
    assert set(pages) == {*PAGES, "index"}
    for page, packages in PAGES.items():
        for package in packages:
            assert re.search(rf"(?i)tested\s+with .*{versions[package]}", pages[page], re.DOTALL), (
                f"{page}: {package} {versions[package]}"
            )


def test_the_index_links_every_page() -> None:
    index = Path(framework_pages.DIRECTORY / "index.md").read_text()
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", index)) == set(PAGES)

"""The conda recipe installs what pyproject.toml and Cargo.toml say."""

from __future__ import annotations

import re
from typing import Any

import yaml  # type: ignore[import-untyped] # it has no types

from tests.support.jars import REPOSITORY

RECIPE: dict[str, Any] = yaml.safe_load(
    (REPOSITORY / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
)
PROJECT = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
CARGO = (REPOSITORY / "Cargo.toml").read_text(encoding="utf-8")
# Packages with other names in conda-forge.
NAMES = {"duckdb": "python-duckdb", "ray[data]": "ray-data"}


def value(key: str) -> str:
    match = re.search(rf'^{re.escape(key)} = "(.*)"$', PROJECT, re.MULTILINE)
    assert match is not None, key
    return match[1]


def section(name: str) -> str:
    return PROJECT.split(f"\n[{name}]\n", 1)[1].split("\n[", 1)[0]


def oldest_of_extras() -> dict[str, str]:
    """Return the packages of all extras, by conda's names, with the oldest version of any extra."""
    found: dict[str, str] = {}
    for requirement in re.findall(r'"([^"]+>=[^"]+)"', section("project.optional-dependencies")):
        name, _, bounds = requirement.partition(">=")
        oldest = bounds.split(",")[0]
        known = found.setdefault(NAMES.get(name, name), oldest)
        assert known == oldest, f"extras require {name} {known} and {oldest}"
    return found


def test_the_recipe_has_the_version_and_the_dependencies() -> None:
    context, requirements = RECIPE["context"], RECIPE["requirements"]
    version = re.search(r'^version = "(.*)"$', CARGO, re.MULTILINE)
    assert version is not None
    assert context["version"] == version[1]
    assert f">={context['python_min']}" == value("requires-python")
    assert re.search(r"^dependencies = \[\]$", PROJECT, re.MULTILINE), "name them in the recipe"
    assert requirements["run"] == ["python >=${{ python_min }}"]
    maturin = re.search(r'^requires = \["(maturin)(.*)"\]$', PROJECT, re.MULTILINE)
    assert maturin is not None
    assert f"{maturin[1]} {maturin[2]}" in requirements["host"]


def test_the_recipe_takes_no_older_package_than_the_extras() -> None:
    constraints = dict(line.split(" >=") for line in RECIPE["requirements"]["run_constraints"])
    assert constraints == oldest_of_extras()


def test_the_recipe_has_the_commands_and_the_description() -> None:
    scripts = re.findall(r'^(\S+) = "(.*)"$', section("project.scripts"), re.MULTILINE)
    assert RECIPE["build"]["python"]["entry_points"] == [" = ".join(each) for each in scripts]
    about = RECIPE["about"]
    assert about["summary"] == value("description")
    assert about["license"] == value("license")
    assert about["homepage"] == value("Homepage")
    assert about["repository"] == value("Repository")
    assert about["documentation"] == value("Documentation")


def test_the_recipe_tests_commands_that_exist() -> None:
    commands = [line for test in RECIPE["tests"] for line in test.get("script", [])]
    assert commands
    assert {line.split()[0] for line in commands} == {"ottla"}

"""The crates that are published have a description, words to find them, a README, one version."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.jars import REPOSITORY

FOR_USERS = {"ottla-protocol", "ottla-client", "ottla-mock"}
PARTS = {"ottla-arrow", "ottla-faults", "ottla-gssapi", "ottla-schema"}
# crates.io refuses others.
MAX_KEYWORDS, MAX_CATEGORIES = 5, 5
CATEGORIES = {
    "api-bindings",
    "asynchronous",
    "authentication",
    "data-structures",
    "development-tools::testing",
    "encoding",
    "network-programming",
    "parser-implementations",
}


def _program(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "tools/published_crates.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@cache
def order() -> list[str]:
    done = _program(REPOSITORY)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@cache
def packages() -> dict[str, dict[str, Any]]:
    command = ["cargo", "metadata", "--no-deps", "--locked", "--offline", "--format-version=1"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return {package["name"]: package for package in json.loads(done.stdout)["packages"]}


def test_these_crates_are_published_after_those_they_need() -> None:
    assert set(order()) == FOR_USERS | PARTS
    for place, name in enumerate(order()):
        needed = {each["name"] for each in packages()[name]["dependencies"] if each["req"] != "*"}
        assert needed & packages().keys() <= set(order()[:place]), name


def test_all_versions_are_one() -> None:
    version = re.search(
        r'^version = "(.*)"$', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE
    )
    assert version is not None
    assert {package["version"] for package in packages().values()} == {version[1]}
    for name in order():
        for dependency in packages()[name]["dependencies"]:
            if dependency["name"] in packages() and dependency["req"] != "*":
                exact = dependency["name"] in PARTS - {"ottla-faults"}
                assert dependency["req"] == ("=" if exact else "^") + version[1], dependency["name"]


@pytest.mark.parametrize("name", sorted(FOR_USERS | PARTS))
def test_a_crate_says_what_it_is(name: str) -> None:
    package = packages()[name]
    assert package["description"].endswith(".")
    assert package["license"] == "Apache-2.0"
    assert package["repository"] == "https://github.com/ottla/ottla"
    oldest = package["rust_version"]
    assert 0 < len(package["keywords"]) <= MAX_KEYWORDS
    assert all(re.fullmatch(r"[a-z][a-z0-9-]{1,19}", word) for word in package["keywords"])
    assert 0 < len(package["categories"]) <= MAX_CATEGORIES
    assert set(package["categories"]) <= CATEGORIES
    readme = (Path(package["manifest_path"]).parent / package["readme"]).read_text()
    assert readme.startswith(f"# {name}\n")
    assert f"Rust {oldest} or newer. Apache-2.0." in readme
    # Only links that work on crates.io and docs.rs.
    links = re.findall(r"\]\(([^)]*)\)|^\[[^]]*\]: (\S+)$", readme, re.MULTILINE)
    assert all(one.startswith("https://") or two.startswith("https://") for one, two in links)


@pytest.mark.parametrize("name", sorted(FOR_USERS))
def test_the_programs_of_a_readme_are_compiled(name: str) -> None:
    folder = Path(packages()[name]["manifest_path"]).parent
    assert '#![doc = include_str!("../README.md")]\n' in (folder / "src" / "lib.rs").read_text()
    blocks = re.findall(r"^```(\w*.*)$", (folder / "README.md").read_text(), re.MULTILINE)[::2]
    assert "rust" in blocks
    assert set(blocks) <= {"rust", "toml"}, "a block of Rust is compiled and run"


def test_the_readmes_name_the_version_to_depend_on() -> None:
    version = packages()["ottla-client"]["version"]
    for name in ("client", "mock"):
        text = (REPOSITORY / "rust" / name / "README.md").read_text()
        assert f'ottla-{name} = "{version.rpartition(".")[0]}"' in text


@pytest.mark.parametrize("name", sorted(FOR_USERS | PARTS))
def test_the_packages_have_their_source_and_nothing_else(name: str) -> None:
    done = subprocess.run(
        ["cargo", "package", "--list", "--allow-dirty", "--offline", "--package", name],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    generated = {"Cargo.lock", "Cargo.toml", "Cargo.toml.orig", ".cargo_vcs_info.json"}
    files = set(done.stdout.split()) - generated
    folder = Path(packages()[name]["manifest_path"]).parent
    wanted = {"README.md", "LICENSE"}
    for part in ("src", "examples"):
        for path in (folder / part).rglob("*"):
            if path.is_file():
                wanted.add(str(path.relative_to(folder)))
    assert files == wanted
    assert (folder / "LICENSE").resolve() == REPOSITORY / "LICENSE"


def test_the_api_of_the_crates_for_users_is_compared_with_the_last_release(tmp_path: Path) -> None:
    script = REPOSITORY / "tools" / "semver.sh"
    compared = re.search(r"^readonly crates=\((.*)\)$", script.read_text(), re.MULTILINE)
    assert compared is not None
    # Those types are part of the mock's API.
    assert set(compared[1].split()) == FOR_USERS | {"ottla-faults"}
    for user in (".github/workflows/gate.yml", "tools/publish_rehearsal.sh"):
        assert "tools/semver.sh" in (REPOSITORY / user).read_text()

    (tmp_path / "tools").mkdir()
    shutil.copy(script, tmp_path / "tools")
    (tmp_path / "tools" / "cargo_tool.sh").write_text('#!/bin/sh\necho "wanted: $1"\nexit 1\n')
    (tmp_path / "tools" / "cargo_tool.sh").chmod(0o755)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    command = ["bash", "tools/semver.sh"]
    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (first.returncode, "none was made" in first.stdout) == (0, True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["commit", "-qm", "x", "--allow-empty"], ["tag", "v0.1.0"]):
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)
    later = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "compared with v0.1.0\nwanted: semver-checks" in later.stdout


def test_a_published_crate_that_needs_another_one_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "tools", tmp_path / "tools", ignore=lambda *_: ["__pycache__"])
    (tmp_path / "Cargo.toml").write_text('[workspace]\nmembers = ["a", "b"]\nresolver = "3"\n')
    for name, more in {
        "a": '[dependencies]\nb = { version = "0.1.0", path = "../b" }\n',
        "b": "",
    }.items():
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src" / "lib.rs").write_text("")
        private = "publish = false\n" if name == "b" else ""
        (tmp_path / name / "Cargo.toml").write_text(
            f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n{private}{more}'
        )
    subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=tmp_path, check=True)
    done = _program(tmp_path)
    assert done.returncode == 1
    assert done.stderr == "a is published, and depends on b\n"

"""The workflows use actions by hash, since a tag may be moved, with few rights, and try wheels.

A wheel is built for each platform and tried on each Python before anything is published.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped] # it has no types

from tests.matrix.rows import FREE_THREADED
from tests.peer_suites.suite import Checkout
from tests.peer_suites.suites import SUITES
from tests.support.jars import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(workflow: Path) -> None:
    used = re.findall(r"uses: (.*)", workflow.read_text())
    assert used
    assert [each for each in used if not PINNED.fullmatch(each)] == []


def test_the_checkouts_of_other_clients_are_those_of_their_suites() -> None:
    workflow = (REPOSITORY / ".github" / "workflows" / "deep.yml").read_text()
    pattern = r"repository: (.*)\n +ref: (.*)\n +path: \.ottla-build/peers/checkouts/(.*)\n"
    sources = {suite.source for suite in SUITES if isinstance(suite.source, Checkout)}
    wanted = {(s.repository.removeprefix("https://github.com/"), s.commit, s.name) for s in sources}
    assert set(re.findall(pattern, workflow)) == wanted


def _workflow(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(
        (REPOSITORY / ".github/workflows" / name).read_text("utf-8")
    )
    return found


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_no_step_keeps_the_token_of_a_checkout(workflow: Path) -> None:
    jobs = _workflow(workflow.name)["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert [s for s in checkouts if s.get("with", {}).get("persist-credentials") is not False] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_only_jobs_have_the_right_to_write(workflow: Path) -> None:
    assert _workflow(workflow.name)["permissions"] in ({}, {"contents": "read"})


def test_the_site_is_built_without_the_right_to_write_and_published_from_the_store() -> None:
    workflow = _workflow("site.yml")
    # YAML reads the key `on` as true. Pre-releases have no version of their own.
    assert workflow[True]["push"] == {"branches": ["main"], "tags": ["v[0-9]+.[0-9]+.[0-9]+"]}
    build, store, deploy = (workflow["jobs"][name] for name in ("build", "store", "deploy"))
    assert build["permissions"] == {"contents": "read"}
    assert (store["needs"], store["permissions"]) == ("build", {"contents": "write"})
    assert deploy["needs"] == "store"
    # What waits is dropped when something newer waits: runs of tags never wait for each other, and
    # a deployment takes what the branch has when it starts.
    assert workflow["concurrency"] == {"group": "site-${{ github.ref }}"}
    assert deploy["concurrency"] == {"group": "pages"}
    assert deploy["steps"][0]["with"]["ref"] == "gh-pages"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_the_targets_and_scripts_that_are_run_exist(workflow: Path) -> None:
    jobs = _workflow(workflow.name)["jobs"]
    runs = "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    makefile = (REPOSITORY / "Makefile").read_text()
    for target in re.findall(r"\bmake ([a-z-]+)", runs):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for script in re.findall(r"\b((?:tools|tests)/[\w./-]+\.(?:sh|py))", runs):
        assert (REPOSITORY / script).is_file(), script


def test_wheels_are_built_for_every_platform_and_tried_on_every_python() -> None:
    jobs = _workflow("wheels.yml")["jobs"]
    built = jobs["wheel"]["strategy"]["matrix"]["include"]
    runners = {each["runner"] for each in built}
    assert {(e["runner"].split("-")[0], e["target"]) for e in built} == {
        (system, target)
        for system, targets in {
            "ubuntu": ("x86_64", "aarch64"),
            "macos": ("x86_64", "aarch64"),
            "windows": ("x64", "aarch64"),
        }.items()
        for target in targets
    }
    for kind in ("2_28", "musllinux_1_2"):
        assert {e["target"] for e in built if e["manylinux"] == kind} == {"x86_64", "aarch64"}
    assert all(each["free-threaded"] for each in built)

    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r'Python :: (3\.\d+)"', project)
    tried, musl = (jobs[name]["strategy"]["matrix"] for name in ("smoke", "smoke-musl"))
    assert set(tried["runner"]) == runners
    assert tried["python"] == [*versions, *FREE_THREADED]
    assert musl["python"] == versions
    assert set(musl["runner"]) == {e["runner"] for e in built if "musl" in e["manylinux"]}
    # Nothing is published that was not tried.
    assert {"smoke", "smoke-musl", "reproducible", "crates"} <= set(jobs["publish"]["needs"])
    assert {jobs[name]["needs"] for name in ("smoke", "smoke-musl")} == {"wheel"}


def test_what_is_published_is_attested() -> None:
    jobs = _workflow("wheels.yml")["jobs"]
    for name, files in {"publish": "dist/*", "release": "programs/*"}.items():
        assert jobs[name]["permissions"]["attestations"] == "write"
        used = [step.get("uses", "").partition("@")[0] for step in jobs[name]["steps"]]
        attested = used.index("actions/attest-build-provenance")
        assert jobs[name]["steps"][attested]["with"] == {"subject-path": files}
        assert attested < len(used) - 1, "before the upload"


def test_dependencies_and_workflows_are_checked_on_each_change_and_each_week() -> None:
    workflow = _workflow("security.yml")
    # YAML reads the key `on` as true.
    assert {"push", "pull_request", "schedule"} <= workflow[True].keys()
    text = (REPOSITORY / ".github/workflows/security.yml").read_text()
    for needed in ("make audit", "make audit-packages", "tools/codeql.sh", "openssf/scorecard"):
        assert needed in text
    script = (REPOSITORY / "tools/audit_packages.sh").read_text()
    for needed in ("pip-audit", "npm audit", "zizmor"):
        assert needed in script
    for file in re.findall(r"requirements/\w+\.txt", script):
        assert (REPOSITORY / file).is_file()


def test_the_directories_that_codeql_leaves_out_exist() -> None:
    config = yaml.safe_load((REPOSITORY / ".github" / "codeql.yml").read_text("utf-8"))
    made = "python/ottla/console/static/vendor"  # by make console-assets
    assert [p for p in config["paths-ignore"] if p != made and not list(REPOSITORY.glob(p))] == []


def test_dependabot_watches_every_file_that_pins() -> None:
    updates = yaml.safe_load((REPOSITORY / ".github" / "dependabot.yml").read_text())["updates"]
    assert all(update["cooldown"] for update in updates)
    for update in updates:
        assert (REPOSITORY / update["directory"].removeprefix("/")).is_dir()


def test_a_reporter_of_a_vulnerability_finds_where_to_go() -> None:
    security = (REPOSITORY / "SECURITY.md").read_text()
    assert "Report a vulnerability" in security
    for link in re.findall(r"\]\(([^):#]+)", security):
        assert (REPOSITORY / link).exists(), link
    version = re.search(
        r'^version = "(.*)"$', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE
    )
    assert version is not None
    unreleased = "## Unreleased" in (REPOSITORY / "CHANGELOG.md").read_text()
    assert unreleased == (f"{version[1]} is not released yet" in security)
    contributing = (REPOSITORY / "CONTRIBUTING.md").read_text()
    assert all(f"]({name})" in contributing for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"))

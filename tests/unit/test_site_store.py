"""tools/site_store.sh pushes versions of the site to a branch, and loses none of another run.

The branch is in a repository on this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY
from tests.support.small_site import build

SCRIPT = REPOSITORY / "tools" / "site_store.sh"


def git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def push(remote: Path, site: Path, *arguments: str, python: Path | None = None) -> str:
    """Run the script; return what it printed, or fail with it."""
    environment = {**os.environ, "PYTHON": str(python or sys.executable)}
    command = [str(SCRIPT), str(remote), str(site), *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr)
    return result.stdout


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A repository without a branch."""
    folder = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(folder))
    return folder


def pushed(remote: Path) -> list[str]:
    rows = json.loads(git(remote, "show", "gh-pages:versions.json"))
    return [f"{row['version']} {row['title']}" for row in rows]


def test_the_branch_has_all_versions_in_one_commit(tmp_path: Path, remote: Path) -> None:
    site = build(tmp_path / "site", "text")
    push(remote, site, "--version", "dev")
    push(remote, site, "--version", "0.1.0", "--alias", "latest")
    assert pushed(remote) == ["0.1 0.1.0", "dev dev"]
    assert git(remote, "rev-list", "--count", "gh-pages").strip() == "1"
    before = git(remote, "rev-parse", "gh-pages")
    assert "already" in push(remote, site, "--version", "dev")
    assert git(remote, "rev-parse", "gh-pages") == before


def test_two_runs_at_once_lose_no_version(tmp_path: Path, remote: Path) -> None:
    site = build(tmp_path / "site", "text")
    push(remote, site, "--version", "0.1.0", "--alias", "latest")
    # After the run has read the branch, another one pushes; once only.
    python = tmp_path / "python"
    python.write_text(
        f"#!/bin/sh\nif mkdir '{tmp_path}/once' 2>/dev/null; then\n"
        f"  PYTHON='{sys.executable}' '{SCRIPT}' '{remote}' '{site}' --version 0.2.0\n"
        f"fi\nexec '{sys.executable}' \"$@\"\n"
    )
    python.chmod(0o755)
    push(remote, site, "--version", "dev", python=python)
    assert (tmp_path / "once").is_dir()
    assert pushed(remote) == ["0.2 0.2.0", "0.1 0.1.0", "dev dev"]


def test_a_branch_that_may_not_be_pushed_is_an_error(tmp_path: Path, remote: Path) -> None:
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho refused by a rule >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RuntimeError, match=r"refused by a rule(?s:.*)was not pushed: see above"):
        push(remote, build(tmp_path / "site", "text"), "--version", "dev")


def test_a_refused_version_is_not_pushed(tmp_path: Path, remote: Path) -> None:
    with pytest.raises(RuntimeError, match="is no version"):
        push(remote, build(tmp_path / "site", "text"), "--version", "1")
    assert git(remote, "branch") == ""

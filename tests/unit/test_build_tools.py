"""Scripts of the build that are killed in the middle, or run on older systems."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY
from tests.support.waiting import wait_until


def _program(directory: Path, name: str, text: str) -> dict[str, str]:
    """Write a stand-in for a program; return the environment in which it is found."""
    file = directory / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return {**os.environ, "PATH": f"{file.parent}{os.pathsep}{os.environ['PATH']}"}


def _kill_once(script: Path, environment: dict[str, str], sign: Path, *arguments: str) -> None:
    """Run a script, and end its process group once a file is there."""
    with subprocess.Popen(
        [script, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            wait_until(sign.exists)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_jars_whose_fetching_was_killed_are_fetched_again(tmp_path: Path) -> None:
    script = tmp_path / "tools" / "jars.sh"
    script.parent.mkdir()
    shutil.copy(REPOSITORY / "tools" / "jars.sh", script)
    pom = tmp_path / "tests" / "kafka" / "pom.xml"
    pom.parent.mkdir(parents=True)
    jar, begun = tmp_path / ".ottla-build/jars/brokers/a.jar", tmp_path / "begun"

    def fetch(environment: dict[str, str]) -> None:
        output = subprocess.DEVNULL
        subprocess.run([script, "brokers"], env=environment, check=True, stdout=output)

    pom.write_text("one version")
    fetch(_program(tmp_path, "mvn", f"mkdir -p {jar.parent} && touch {jar}"))
    assert jar.exists()
    pom.write_text("another version")
    hanging = _program(tmp_path, "mvn", f"touch {begun} && sleep 300")
    _kill_once(script, hanging, begun, "brokers")
    # Back to the version before: its stamp matches, but its jars are gone.
    pom.write_text("one version")
    fetch(_program(tmp_path, "mvn", f"mkdir -p {jar.parent} && touch {jar}"))
    assert jar.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="packages are only installed by root")
def test_an_installation_goes_on_if_its_script_is_ended(tmp_path: Path) -> None:
    begun, go, done = tmp_path / "begun", tmp_path / "go", tmp_path / "done"
    wait = f"touch {begun}; until [ -e {go} ]; do sleep 0.02; done; touch {done}"
    environment = _program(tmp_path, "apt-get", wait)
    script = REPOSITORY / "tools" / "install_packages.sh"
    _kill_once(script, environment, begun, "the tests", "no-such-command:no-such-package")
    go.touch()
    wait_until(done.exists)


def test_a_bash_that_is_too_old_is_named(tmp_path: Path) -> None:
    old = _program(tmp_path, "bash", "echo 'GNU bash, version 3.2.57(1)-release (arm64)'")
    script = str(REPOSITORY / "tools" / "prerequisites.sh")
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, script, "test"], env=old, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "bash 5.1 or newer, found 3.2.57: " in done.stderr


def test_each_missing_prerequisite_is_named(tmp_path: Path) -> None:
    """On a machine with the usual commands, and nothing that the README asks for."""
    tools = ("bash", "awk", "cut", "df", "du", "env", "head", "sed", "sort", "tail")
    directory = tmp_path / "bin"
    directory.mkdir()
    for tool in tools:
        found = shutil.which(tool)
        assert found is not None, tool
        (directory / tool).symlink_to(found)
    done = subprocess.run(
        [directory / "bash", REPOSITORY / "tools" / "prerequisites.sh", "test"],
        env={"PATH": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    for name, remedy in {
        "Python 3.10 or newer": "https://www.python.org/downloads/",
        "Rust 1.89 or newer": "https://rustup.rs",
        "a C compiler": "apt install build-essential",
        "Java 17 or newer": "https://adoptium.net",
        "Maven": "https://maven.apache.org",
    }.items():
        [line] = [each for each in done.stderr.splitlines() if each.startswith(f"  - {name}")]
        assert remedy in line


def test_ci_runs_what_the_readme_names() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines()[-1] == "exec make test"
    workflow = (REPOSITORY / ".github" / "workflows" / "gate.yml").read_text(encoding="utf-8")
    assert "run: make test\n" in workflow

"""`make reproducible` finds a wheel that depends on the directory or the time of its build.

maturin is a stand-in here, which packs in a moment; the script, the copies of the tree and the
packing of the wheel are real.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY

SCRIPTS = [
    "tools/reproducible.sh",
    "tools/build_wheel.sh",
    "tools/console_assets/package-lock.json",
]
MATURIN = """\
#!{python}
import json, os, sys, time, uuid, zipfile
out = sys.argv[sys.argv.index("--out") + 1]
assert sys.argv[1:4] == ["build", "--profile", "wheel"], sys.argv
assert "--remap-path-prefix=" in os.environ["RUSTFLAGS"]
here, now = os.getcwd(), time.time_ns()
assert os.environ["CARGO_TARGET_DIR"].startswith(here + "/")
crates = ["ottla-client", "ottla-protocol", "tokio", "rustls", "zstd-sys"]
def crate(name):
    return {{"name": name, "version": "0.1.0", "purl": f"pkg:cargo/{{name}}@0.1.0",
            "bom-ref": f"path+file://{{here}}/rust/{{name}}#{{name}}@0.1.0", "licenses": [1]}}
sbom = {{"bomFormat": "CycloneDX", "serialNumber": f"urn:uuid:{{uuid.uuid4()}}",
        "metadata": {{"timestamp": str(now), "component": crate("ottla-python")}},
        "components": [crate(name) for name in crates]}}
info = "ottla-0.1.0.dist-info"
with zipfile.ZipFile(f"{{out}}/ottla-0.1.0-cp310-abi3-linux_x86_64.whl", "w") as wheel:
    wheel.writestr("ottla/_core.abi3.so", {contents})
    wheel.writestr(f"{{info}}/sboms/ottla.json", json.dumps(sbom))
    wheel.writestr(f"{{info}}/RECORD", "")
"""


def _build_twice(tree: Path, contents: str) -> subprocess.CompletedProcess[str]:
    for name in SCRIPTS:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tree / name)
    backend = tree / "tools" / "build_backend"
    backend.mkdir()
    for path in (REPOSITORY / "tools" / "build_backend").glob("*.py"):
        shutil.copy(path, backend)
    hooks = [
        "build_editable",
        "get_requires_for_build_editable",
        "prepare_metadata_for_build_editable",
    ]
    (backend / "maturin.py").write_text("".join(f"{hook} = None\n" for hook in hooks))
    vendor = tree / "python/ottla/console/static/vendor"
    vendor.mkdir(parents=True)
    for name in ("uPlot.esm.js", "uPlot.min.css", "uPlot.LICENSE"):
        (vendor / name).write_text("x")
    programs, virtual = tree / ".ottla-build" / "programs", tree / ".venv" / "bin"
    programs.mkdir(parents=True)
    virtual.mkdir(parents=True)
    # As venv does, it makes no environment where a link is.
    (virtual / "python").write_text(
        f'#!/bin/sh\n[ -L "$3" ] && exit 1\nmkdir -p "$3" && cp -RP {programs} "$3/bin"\n'
    )
    (virtual / "python").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    (programs / "maturin").write_text(MATURIN.format(python=sys.executable, contents=contents))
    (programs / "pip").write_text("#!/bin/sh\n")
    for program in ("maturin", "pip"):
        (programs / program).chmod(0o755)
    (tree / ".gitignore").write_text("vendor/\n.ottla-build/\n.venv\n")
    environment = {
        **os.environ,
        **{
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    for command in ("init --quiet", "add .", "commit --quiet --message x"):
        subprocess.run(["git", *command.split()], cwd=tree, env=environment, check=True)
    return subprocess.run(
        ["bash", tree / "tools" / "reproducible.sh"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_equal_builds_in_two_directories_have_equal_hashes(tmp_path: Path) -> None:
    done = _build_twice(tmp_path, "'machine code'")
    assert done.returncode == 0, done.stderr
    first, second = (tmp_path / ".ottla-build/reproducible/hashes.txt").read_text().splitlines()
    assert first == second
    assert f"are {first}" in done.stdout


@pytest.mark.parametrize("contents", ["here", "str(now)"], ids=["directory", "time"])
def test_a_wheel_that_depends_on_its_build_is_found(tmp_path: Path, contents: str) -> None:
    done = _build_twice(tmp_path, contents)
    assert done.returncode == 1
    assert " differ: compare them in " in done.stderr
    first, second = (tmp_path / ".ottla-build/reproducible/hashes.txt").read_text().splitlines()
    assert first != second

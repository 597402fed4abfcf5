"""The fuzz targets are the same in cargo's manifest, in their files, seeds, and for OSS-Fuzz."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import yaml  # type: ignore[import-untyped] # it has no types

from tests.support.jars import REPOSITORY

FUZZ = REPOSITORY / "rust" / "fuzz"
OSS_FUZZ = REPOSITORY / "packaging" / "oss-fuzz"
BUILT = "target/x86_64-unknown-linux-gnu/release"


def targets() -> set[str]:
    manifest = (FUZZ / "Cargo.toml").read_text(encoding="utf-8")
    return set(re.findall(r'\[\[bin\]\]\nname = "(\w+)"', manifest))


def test_every_target_has_a_file_and_seeds() -> None:
    assert targets()
    assert {path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs")} == targets()
    assert {path.name for path in (FUZZ / "seeds").iterdir() if any(path.iterdir())} == targets()


def test_oss_fuzz_builds_every_target_with_its_seeds(tmp_path: Path) -> None:
    source, out, programs = (tmp_path / name for name in ("src", "out", "bin"))
    fuzz = source / "ottla" / "rust" / "fuzz"
    for directory in (out, programs, fuzz / BUILT):
        directory.mkdir(parents=True)
    shutil.copytree(FUZZ / "fuzz_targets", fuzz / "fuzz_targets")
    shutil.copytree(FUZZ / "seeds", fuzz / "seeds")
    # As cargo-fuzz does; and a zip, which OSS-Fuzz's image has.
    cargo = programs / "cargo"
    cargo.write_text(
        '#!/bin/sh\n[ "$1 $2" = "fuzz build" ] || exit 1\n'
        + "".join(f"echo program >{BUILT}/{target}\n" for target in sorted(targets()))
    )
    zipped = programs / "zip"
    zipped.write_text(
        '#!/bin/sh\nout=$3; shift 3\nexec python3 -c "import sys, zipfile\n'
        "with zipfile.ZipFile(sys.argv[1], 'w') as archive:\n"
        "    [archive.write(name, name.rsplit('/')[-1]) for name in sys.argv[2:]]\n"
        '" "$out" "$@"\n'
    )
    for program in (cargo, zipped):
        program.chmod(0o755)
    environment = {
        **os.environ,
        "SRC": str(source),
        "OUT": str(out),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    subprocess.run(["bash", "-eu", OSS_FUZZ / "build.sh"], env=environment, check=True, timeout=60)
    for target in targets():
        assert (out / target).read_text() == "program\n"
        with zipfile.ZipFile(out / f"{target}_seed_corpus.zip") as archive:
            seeds = {path.name for path in (FUZZ / "seeds" / target).iterdir()}
            assert set(archive.namelist()) == seeds
    assert len(list(out.iterdir())) == 2 * len(targets())


def test_oss_fuzz_clones_this_repository() -> None:
    project = yaml.safe_load((OSS_FUZZ / "project.yaml").read_text(encoding="utf-8"))
    cargo = (REPOSITORY / "Cargo.toml").read_text(encoding="utf-8")
    repository = re.search(r'^repository = "(.*)"$', cargo, re.MULTILINE)
    assert repository is not None
    assert project["main_repo"] == repository[1]
    dockerfile = (OSS_FUZZ / "Dockerfile").read_text(encoding="utf-8")
    assert f"git clone --depth 1 {repository[1]} ottla\n" in dockerfile
    assert project["language"] == "rust"


def test_the_fuzzing_of_a_night_goes_on_from_the_corpus_of_the_last() -> None:
    workflow = yaml.safe_load((REPOSITORY / ".github/workflows/fuzz.yml").read_text("utf-8"))
    # YAML reads the key `on` as true.
    assert workflow[True]["schedule"]
    job = workflow["jobs"]["fuzz"]
    kept = [step["with"] for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
    names = {each["name"]: each["path"] for each in kept}
    corpus = names["fuzz-corpus"]
    runs = "\n".join(step.get("run", "") for step in job["steps"])
    assert f"--name fuzz-corpus --dir {corpus}" in runs
    script = (REPOSITORY / "tools" / "fuzz.sh").read_text(encoding="utf-8")
    assert f"cd {corpus.rpartition('/')[0]}\n" in script
    assert "corpus/$target" in script
    assert "run --fuzz-dir . --sanitizer none" in script
    seconds = re.search(r"FUZZ_SECONDS=(\d+)", runs)
    assert seconds is not None
    minutes = int(seconds[1]) / 60 * len(targets())
    assert minutes + 90 < job["timeout-minutes"], "building and the corpus take an hour and a half"

"""Provides the files of a suite: from PyPI by hash, or from a checkout by commit and digest.

Invariant: what runs is what the table of suites names. A checkout that is missing or has other
files is an error that says how to provide it, never a reason to skip the suite.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.peer_suites.suite import Checkout, Sdist, Suite
from tests.support.jars import REPOSITORY, MissingPrerequisiteError

PEERS = REPOSITORY / ".ottla-build" / "peers"
CHECKOUTS = "OTTLA_PEER_CHECKOUTS"
"""An environment variable: a directory of checkouts, instead of .ottla-build/peers/checkouts."""


def unpack(suite: Suite) -> Path:
    """Copy a suite's files to a directory of its own; return it."""
    directory = PEERS / "suites" / suite.name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    if isinstance(suite.source, Sdist):
        _unpack_sdist(suite.source, directory)
    else:
        checkout = checked_checkout(suite.source)
        for name in suite.source.directories:
            ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(checkout / name, directory / name, ignore=ignore)
    for name in suite.replaced:
        (directory / name).unlink()
    for name in suite.added:
        (directory / name).touch(exist_ok=False)
    return directory


def checkout_directory(checkout: Checkout) -> Path:
    """Return where a checkout has to be."""
    base = os.environ.get(CHECKOUTS)
    return (Path(base) if base else PEERS / "checkouts") / checkout.name


def clone_commands(checkout: Checkout, directory: Path) -> list[str]:
    """Return the commands that provide a checkout."""
    fetch = f"fetch --depth 1 {checkout.repository} {checkout.commit}"
    return [
        f"git init --quiet {directory}",
        f"git -C {directory} {fetch}",
        f"git -C {directory} checkout --quiet FETCH_HEAD",
    ]


def checked_checkout(checkout: Checkout) -> Path:
    """Return the directory of a checkout, after a look at all its files."""
    directory = checkout_directory(checkout)
    remedy = "\n  ".join(["", *clone_commands(checkout, directory)])
    if not (directory / checkout.directories[0]).is_dir():
        raise MissingPrerequisiteError(
            f"no checkout of {checkout.name} in {directory}; provide it with:{remedy}"
        )
    found = digest(directory, checkout.directories)
    if found != checkout.digest:
        raise MissingPrerequisiteError(
            f"{directory} has other files than commit {checkout.commit} (their digest is {found});"
            f" remove it, and provide it with:{remedy}"
        )
    return directory


def digest(directory: Path, names: Sequence[str]) -> str:
    """Return the SHA-256 of the paths and contents of all files in some directories."""
    total = hashlib.sha256()
    for name in names:
        for path in sorted((directory / name).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                total.update(f"{path.relative_to(directory).as_posix()}\0".encode())
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _unpack_sdist(sdist: Sdist, directory: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        with tarfile.open(_downloaded(sdist)) as archive:
            archive.extractall(root, filter="data")
        [unpacked] = root.iterdir()
        for name in ("test", "tests"):
            if (unpacked / name).is_dir():
                shutil.copytree(unpacked / name, directory / name)


def _downloaded(sdist: Sdist) -> Path:
    """Return the archive; pip downloads it once, and checks its hash."""
    downloads = PEERS / "sdists"
    if (archive := _archive(downloads, sdist.sha256)) is not None:
        return archive
    downloads.mkdir(parents=True, exist_ok=True)
    wanted = downloads / f"{sdist.package}.txt"
    wanted.write_text(f"{sdist.package}=={sdist.version} --hash=sha256:{sdist.sha256}\n")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    options = ["--no-binary", sdist.package, "--dest", str(downloads), "-r", str(wanted)]
    subprocess.run([*pip, *options], check=True)
    archive = _archive(downloads, sdist.sha256)
    assert archive is not None
    return archive


def _archive(downloads: Path, sha256: str) -> Path | None:
    for path in downloads.glob("*.tar.gz"):
        if hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
            return path
    return None

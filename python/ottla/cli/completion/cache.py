"""Names that earlier completions asked a cluster for, in files of the user's cache directory.

Invariants: a file holds names alone, and its own name is a hash of configuration without secrets;
only the user can read it; the directory has at most ``_FILES`` files of ``_NAMES`` names each.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ottla._core import config_row_of, config_rows

FRESH = 30.0
"""The seconds for which names are completed without asking the cluster."""

OLD = 24 * 3600.0
"""The seconds for which names are completed while the cluster does not respond."""

_FILES = 100
_NAMES = 20_000
_BYTES = 4_000_000


def directory() -> Path:
    """Return the directory of the files, which may not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ottla" / "completion"


def cache_file(config: Mapping[str, Any], kind: str) -> Path | None:
    """Return the path of the names of a kind, such as ``topics``, in a configuration's cluster.

    Users of one cluster may see different names, so the path depends on all keys but secrets.
    Returns None if the addresses have credentials.
    """
    secrets = {name for name, type_, *_ in config_rows() if type_ == "password"}
    known = {key: row for key in config if (row := config_row_of(key)) is not None}
    public = {row: str(config[key]) for key, row in known.items() if row not in secrets}
    if any("@" in value for row, value in public.items() if row.startswith("bootstrap.")):
        return None
    digest = hashlib.sha256(json.dumps([sorted(public.items()), kind]).encode()).hexdigest()
    return directory() / f"{digest[:32]}.json"


def read(file: Path, max_age: float) -> list[str] | None:
    """Return the names in a file; None if there are none or they are older than ``max_age`` s."""
    try:
        with file.open(encoding="utf-8") as stream:
            status = os.fstat(stream.fileno())
            age = time.time() - status.st_mtime
            if not 0 <= age <= max_age or status.st_size > _BYTES or not _is_own(status):
                return None
            found = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    return [name for name in found if isinstance(name, str)]


def write(file: Path, names: Sequence[str]) -> None:
    """Write names to a file, and delete files that are too old or too many."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp's mode is 0600. The file replaces the old one whole.
        descriptor, temporary = tempfile.mkstemp(dir=file.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                json.dump(names[:_NAMES], stream)
            Path(temporary).replace(file)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _delete_others(file)


def _delete_others(kept: Path) -> None:
    """Delete files older than ``OLD``, and the oldest ones beyond ``_FILES``."""
    ages = sorted((time.time() - each.stat().st_mtime, each) for each in kept.parent.iterdir())
    for place, (age, file) in enumerate(ages):
        if file != kept and (age > OLD or place >= _FILES):
            file.unlink(missing_ok=True)


def _is_own(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()

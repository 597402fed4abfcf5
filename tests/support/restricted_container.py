"""A command as in a restricted container: a user id without a name, and a read-only system.

Kubernetes and OpenShift run containers like this. The command runs in a mount namespace of its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.support.jars import MissingPrerequisiteError

USER = 12345


def restricted(
    writable: Sequence[Path] = (), passwd: Path | None = None, user: int = USER
) -> list[str]:
    """Return a command prefix that runs a command as in a restricted container.

    Args:
        writable: directories that stay writable.
        passwd: the file to have in the place of /etc/passwd.
        user: the user's id; its group is 0.
    """
    if shutil.which("unshare") is None or os.geteuid() != 0:
        raise MissingPrerequisiteError("mount namespaces need Linux, root and util-linux")
    steps = [] if passwd is None else [f"mount --bind {passwd} /etc/passwd"]
    steps += [f"mount --bind {directory} {directory}" for directory in writable]
    steps += ["mount -o remount,bind,ro /", 'exec "$@"']
    # Python and the project may be in a directory that only root can read.
    capability = "+dac_read_search"
    prefix = ["setpriv", "--reuid", str(user), "--regid", "0", "--clear-groups"]
    prefix += ["--inh-caps", capability, "--ambient-caps", capability]
    return ["unshare", "--mount", "sh", "-c", " && ".join(steps), "sh", *prefix]

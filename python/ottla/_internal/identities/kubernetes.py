"""The identity of a pod: a service-account token in a file that the kubelet renews.

The content of the file is sent to the broker. Invariant: a configuration alone reads only
``TOKEN_FILE``, which a pod has only if its author mounted a token for Kafka there; for any other
file, the process needs permission.
"""

from __future__ import annotations

import stat
import time
from pathlib import Path

from ottla._internal.identities.identity import (
    Identity,
    IdentityToken,
    check_texts,
    printable,
)
from ottla._internal.identities.json_web_token import claims_of
from ottla._internal.text import duration, reason

TOKEN_FILE = "/var/run/secrets/kafka/token"  # noqa: S105  # a path

_MAX_TOKEN = 64 * 1024


class KubernetesServiceAccount(Identity):
    """Tokens of a projected service-account token volume, or of another file with a JWT.

    The file is read again for each new token; the expiry is that of the token (``exp``).

    Args:
        file: the file. Default: ``/var/run/secrets/kafka/token``.
    """

    name = "kubernetes"

    def __init__(self, file: str | Path | None = None) -> None:
        if not isinstance(file, Path):
            check_texts(self.name, file=file)
        self._file = Path(TOKEN_FILE if file is None else file)

    @property
    def needs_permission(self) -> bool:
        return self._file != Path(TOKEN_FILE)

    def fetch(self, secrets: list[str]) -> IdentityToken:
        token = read_token(self, self._file)
        secrets.append(token)
        claims = claims_of(token)
        if not claims:
            raise self.error(f"{self._file} does not contain a JSON Web Token")
        expires = claims.get("exp")
        if not isinstance(expires, int | float):
            expires = None
        elif expires <= time.time():
            ago = duration(time.time() - expires)
            raise self.error(
                f"the token in {self._file} expired {ago} ago: check that the kubelet renews it (a "
                "projected serviceAccountToken, not a copy), and this machine's clock"
            )
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        for_whom = ", ".join(str(each) for each in audiences if each) or "no audience"
        subject = f"{claims.get('sub', 'an unnamed subject')} for {for_whom}, from {self._file}"
        return IdentityToken(token, expires, printable(subject))


def read_token(identity: Identity, file: Path) -> str:
    """Return the token in a file.

    Raises:
        AuthenticationError: it cannot be read, or is no regular file of at most 64 KiB.
    """
    try:
        # A pipe or a device would block, or never end.
        if not stat.S_ISREG(file.stat().st_mode):
            raise identity.error(f"{file} is not a regular file")
        with file.open("rb") as opened:
            raw = opened.read(_MAX_TOKEN + 1)
    except OSError as error:
        raise identity.error(
            f"the token file {file} cannot be read: {reason(error)}; mount a projected "
            "serviceAccountToken there, or name another file"
        ) from None
    if len(raw) > _MAX_TOKEN:
        raise identity.error(f"{file} has more than {_MAX_TOKEN} bytes, which no token has")
    text = raw.decode("ascii", "replace").strip()
    if not text:
        raise identity.error(f"{file} is empty")
    return text

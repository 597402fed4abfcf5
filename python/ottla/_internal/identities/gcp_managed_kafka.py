"""The identity of a process on Google Cloud, for Managed Service for Apache Kafka.

The token has the form of Google's own login handler: a header and claims around an access token.
That access token is good for all that the service account may do on Google Cloud, so a broker that
gets it is trusted with that. Invariant: a configuration alone never sends it anywhere; the process
needs permission.
"""

from __future__ import annotations

import json
import os
import time
from datetime import timezone
from functools import partial
from pathlib import Path
from typing import Any

from ottla._internal.extras import MissingExtraError
from ottla._internal.identities.http_exchange import (
    WAIT,
    EndpointError,
    refused,
    request,
    request_json,
)
from ottla._internal.identities.identity import (
    Identity,
    IdentityToken,
    check_texts,
    printable,
)
from ottla._internal.identities.json_web_token import base64url
from ottla.errors import ConfigError

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_METADATA_HOST = "metadata.google.internal"
_ACCOUNT = "/computeMetadata/v1/instance/service-accounts/default"
_FLAVOR = {"Metadata-Flavor": "Google"}
_HEADER = json.dumps({"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"})
_SOURCES = ("metadata", "adc")


class GcpManagedKafka(Identity):
    """Tokens for Google Cloud Managed Service for Apache Kafka.

    Args:
        principal: the account's e-mail address. Default: ``GOOGLE_MANAGED_KAFKA_AUTH_PRINCIPAL``,
            or what the source knows.
        source: ``metadata`` for the metadata server of a VM, pod or function, or ``adc`` for the
            application default credentials, which needs ``ottla[gcp]``. Default: ``adc`` if
            ``GOOGLE_APPLICATION_CREDENTIALS`` is set or gcloud has stored credentials, otherwise
            ``metadata``.
        credentials: credentials of google-auth, in place of a source. Default: none.

    Raises:
        ConfigError: the source is unknown, or google-auth is needed and not installed.
    """

    name = "gcp-managed-kafka"

    def __init__(
        self,
        *,
        principal: str | None = None,
        source: str | None = None,
        credentials: Any = None,
    ) -> None:
        check_texts(self.name, principal=principal, source=source)
        if source is not None and source not in _SOURCES:
            raise ConfigError(f"{self.name}: source: expected one of {', '.join(_SOURCES)}")
        self._principal = principal
        self._credentials = credentials
        self._source = source or ("adc" if _has_default_credentials() else "metadata")
        if credentials is not None or self._source == "adc":
            _require_google_auth()

    @property
    def needs_permission(self) -> bool:
        return True

    def fetch(self, secrets: list[str]) -> IdentityToken:
        try:
            if self._credentials is None and self._source == "metadata":
                access_token, expires, account = self._from_metadata()
                source = "the metadata server"
            else:
                access_token, expires, account = self._from_google_auth()
                source = "google-auth"
        except EndpointError as error:
            raise self.error(str(error)) from None
        secrets.append(access_token)
        principal = (
            self._principal or os.environ.get("GOOGLE_MANAGED_KAFKA_AUTH_PRINCIPAL") or account
        )
        if not principal:
            raise self.error(
                "the credentials do not name their account: pass its e-mail address as principal, "
                "or set GOOGLE_MANAGED_KAFKA_AUTH_PRINCIPAL"
            )
        token = enveloped(access_token, principal, expires)
        return IdentityToken(token, expires, printable(f"{principal}, from {source}"))

    def _from_metadata(self) -> tuple[str, float, str | None]:
        host = os.environ.get("GCE_METADATA_HOST") or _METADATA_HOST
        what = "the metadata server of Google Cloud"
        url = f"http://{host}{_ACCOUNT}/token"
        started = time.time()
        document = request_json(what, url, query={"scopes": _SCOPE}, headers=_FLAVOR)
        token, seconds = document.get("access_token"), document.get("expires_in")
        if not isinstance(token, str) or not isinstance(seconds, int | float):
            raise EndpointError(f"{what} ({url}) responded without access_token and expires_in")
        if self._principal or os.environ.get("GOOGLE_MANAGED_KAFKA_AUTH_PRINCIPAL"):
            return token, started + seconds, None
        url = f"http://{host}{_ACCOUNT}/email"
        response = request(what, url, headers=_FLAVOR)
        if response.status != 200:
            raise refused(what, url, response)
        return token, started + seconds, response.body.decode("utf-8", "replace").strip()

    def _from_google_auth(self) -> tuple[str, float, str | None]:
        import google.auth
        import google.auth.exceptions
        import google.auth.transport.requests

        try:
            credentials = self._credentials
            if credentials is None:
                credentials, _ = google.auth.default(scopes=[_SCOPE])
            bounded = partial(google.auth.transport.requests.Request(), timeout=WAIT)
            credentials.refresh(bounded)
        except google.auth.exceptions.GoogleAuthError as error:
            # The second argument is the whole response.
            why = error.args[0] if error.args else type(error).__name__
            raise self.error(f"google-auth: {printable(str(why))}") from None
        account = getattr(credentials, "service_account_email", None)
        expires = credentials.expiry.replace(tzinfo=timezone.utc).timestamp()
        return str(credentials.token), expires, None if account in {None, "default"} else account


def enveloped(access_token: str, principal: str, expires: float) -> str:
    """Return an access token in the form that the brokers expect."""
    claims = {
        "exp": expires,
        "iss": "Google",
        "iat": time.time(),
        "scope": "kafka",
        "sub": principal,
    }
    parts = (_HEADER, json.dumps(claims), access_token)
    return ".".join(base64url(part.encode()) for part in parts)


def _has_default_credentials() -> bool:
    if os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return True
    directory = os.environ.get("CLOUDSDK_CONFIG") or Path("~/.config/gcloud").expanduser()
    try:
        return (Path(directory) / "application_default_credentials.json").is_file()
    except OSError:
        return False


def _require_google_auth() -> None:
    import importlib.util

    for package in ("google", "google.auth", "requests"):
        if importlib.util.find_spec(package) is None:
            error = MissingExtraError(GcpManagedKafka.name, "gcp", "google-auth")
            raise ConfigError(str(error))

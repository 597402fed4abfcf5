"""The sources of tokens of Microsoft Entra ID: client secret, workload and managed identity.

Each is a function that returns the token, its expiry and how it got it. Invariant: the first source
that the environment has settings for is the only one that is tried, so that an error is about the
identity that was meant.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ottla._internal.identities.http_exchange import EndpointError, refused, request, request_json
from ottla._internal.identities.identity import Identity
from ottla._internal.identities.kubernetes import read_token

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_METADATA_SERVICE = "http://169.254.169.254"
_TOKEN_PATH = "/metadata/identity/oauth2/token"  # noqa: S105  # a path
_MAX_ARC_KEY = 4096

Found: TypeAlias = tuple[str, float, str]
"""The token, when it expires in seconds since 1970, and how it was obtained."""


@dataclass(frozen=True)
class Application:
    """Whom a token is for, as far as it is known."""

    authority: str
    tenant: str | None
    client_id: str | None
    client_secret: str | None = field(repr=False)


Source: TypeAlias = Callable[[Identity, Application, str], Found]


def source_of(name: str | None, application: Application) -> Source:
    """Return the named source, or the first one that the environment has settings for."""
    if name is not None:
        return SOURCES[name]
    if application.client_secret:
        return client_secret
    if os.environ.get("AZURE_FEDERATED_TOKEN_FILE"):
        return workload_identity
    return managed_identity


def client_secret(identity: Identity, application: Application, audience: str) -> Found:
    """Get a token with the id and the secret of an application."""
    if not (application.client_secret and application.client_id and application.tenant):
        raise identity.error(
            "a client secret needs AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
        )
    form = {"client_secret": application.client_secret}
    return *_from_entra(identity, application, audience, form), "client secret"


def workload_identity(identity: Identity, application: Application, audience: str) -> Found:
    """Get a token for the token that the environment has from another issuer (Kubernetes)."""
    file = os.environ.get("AZURE_FEDERATED_TOKEN_FILE")
    if not (file and application.client_id and application.tenant):
        raise identity.error(
            "workload identity needs AZURE_TENANT_ID, AZURE_CLIENT_ID and "
            "AZURE_FEDERATED_TOKEN_FILE, which the webhook sets for pods with the label "
            "azure.workload.identity/use"
        )
    assertion = read_token(identity, Path(file))
    form = {"client_assertion_type": _ASSERTION, "client_assertion": assertion}
    return *_from_entra(identity, application, audience, form), f"workload identity, from {file}"


def managed_identity(identity: Identity, application: Application, audience: str) -> Found:
    """Get a token from the endpoint of App Service, of Azure Arc, or of the virtual machine."""
    endpoint = os.environ.get("IDENTITY_ENDPOINT")
    if endpoint and (header := os.environ.get("IDENTITY_HEADER")):
        return _from_app_service(endpoint, header, application, audience)
    if endpoint and os.environ.get("IMDS_ENDPOINT"):
        return _from_arc(identity, endpoint, application, audience)
    return _from_virtual_machine(application, audience)


SOURCES: Mapping[str, Source] = {
    "client-secret": client_secret,
    "workload-identity": workload_identity,
    "managed-identity": managed_identity,
}


def _from_entra(
    identity: Identity, application: Application, audience: str, proof: Mapping[str, str]
) -> tuple[str, float]:
    if urlsplit(application.authority).scheme != "https":
        raise identity.error("AZURE_AUTHORITY_HOST must be an https address: it gets a secret")
    url = f"{application.authority.rstrip('/')}/{application.tenant}/oauth2/v2.0/token"
    form = {
        "grant_type": "client_credentials",
        "client_id": application.client_id or "",
        "scope": f"{audience}/.default",
        **proof,
    }
    what = "Microsoft Entra ID"
    started = time.time()
    document = request_json(what, url, form=form, proxied=True, secrets=proof.values())
    return _token(what, url, document, started)


def _from_app_service(endpoint: str, header: str, application: Application, audience: str) -> Found:
    what = "the identity endpoint of App Service"
    query = {"api-version": "2019-08-01", "resource": audience, **_client(application)}
    started = time.time()
    document = request_json(
        what, endpoint, query=query, headers={"X-IDENTITY-HEADER": header}, secrets=[header]
    )
    return *_token(what, endpoint, document, started), "the managed identity of App Service"


def _from_arc(identity: Identity, endpoint: str, application: Application, audience: str) -> Found:
    what = "the identity endpoint of Azure Arc"
    if application.client_id:
        raise identity.error("Azure Arc has no user-assigned identities: leave out the client id")
    query = {"api-version": "2020-06-01", "resource": audience}
    headers = {"Metadata": "true"}
    response = request(what, endpoint, query=query, headers=headers)
    if response.status != 401:
        raise refused(what, endpoint, response)
    key = _arc_key(identity, response.headers.get("WWW-Authenticate") or "")
    started = time.time()
    headers["Authorization"] = f"Basic {key}"
    document = request_json(what, endpoint, query=query, headers=headers, secrets=[key])
    return *_token(what, endpoint, document, started), "the managed identity of Azure Arc"


def _arc_key(identity: Identity, challenge: str) -> str:
    # The agent proves itself by a file that only it can write; whatever else the response names
    # must not be read, because its content goes to whoever sent the response.
    file = Path(challenge.partition("=")[2].strip())
    if file.parent != _arc_directory() or file.suffix != ".key":
        raise identity.error("the response of Azure Arc does not name a file of its agent")
    try:
        with file.open("rb") as opened:
            raw = opened.read(_MAX_ARC_KEY + 1)
    except OSError as error:
        raise identity.error(
            f"the key of Azure Arc's agent cannot be read ({error.strerror}): add this user to the "
            "group himds"
        ) from None
    if len(raw) > _MAX_ARC_KEY:
        raise identity.error("the key of Azure Arc's agent is too large")
    return raw.decode("ascii", "replace").strip()


def _arc_directory() -> Path:
    if sys.platform == "win32":
        data = os.environ.get("PROGRAMDATA", "")
        return Path(data) / "AzureConnectedMachineAgent" / "Tokens"
    return Path("/var/opt/azcmagent/tokens")


def _from_virtual_machine(application: Application, audience: str) -> Found:
    host = os.environ.get("AZURE_POD_IDENTITY_AUTHORITY_HOST") or _METADATA_SERVICE
    url = host.rstrip("/") + _TOKEN_PATH
    what = "the instance metadata service of Azure"
    query = {"api-version": "2018-02-01", "resource": audience, **_client(application)}
    started = time.time()
    document = request_json(what, url, query=query, headers={"Metadata": "true"})
    return *_token(what, url, document, started), "the managed identity of this machine"


def _client(application: Application) -> dict[str, str]:
    return {"client_id": application.client_id} if application.client_id else {}


def _token(what: str, url: str, document: Mapping[str, Any], started: float) -> tuple[str, float]:
    token = document.get("access_token")
    try:
        # Managed identities respond with texts, and some only with the time of expiry.
        if "expires_in" in document:
            expires = started + float(document["expires_in"])
        else:
            expires = float(document["expires_on"])
    except (KeyError, TypeError, ValueError):
        expires = 0.0
    if not isinstance(token, str) or expires <= 0:
        raise EndpointError(f"{what} ({url}) responded without access_token and its expiry")
    return token, expires

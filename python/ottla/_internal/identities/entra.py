"""Identities of Microsoft Entra ID: for Azure Event Hubs, and for other clusters that trust it.

Invariants: the addresses of token services, the files and the secrets come from the environment or
from the program, never from a configuration. A configuration alone gets a token for the namespace
of Event Hubs that it names; one for another audience could open anything in Azure, so it needs
permission.
"""

from __future__ import annotations

import os
import re
from typing import Any

from ottla._internal.identities.entra_sources import SOURCES, Application, source_of
from ottla._internal.identities.http_exchange import EndpointError
from ottla._internal.identities.identity import (
    Identity,
    IdentityToken,
    check_texts,
    printable,
)
from ottla._internal.identities.json_web_token import claims_of
from ottla.errors import ArgumentTypeError, ConfigError

_CLOUDS = {
    "public": ("servicebus.windows.net", "login.microsoftonline.com"),
    "us-government": ("servicebus.usgovcloudapi.net", "login.microsoftonline.us"),
    "china": ("servicebus.chinacloudapi.cn", "login.partner.microsoftonline.cn"),
}
_NAMESPACE = re.compile(r"[A-Za-z][A-Za-z0-9-]{4,48}[A-Za-z0-9]")
# Directory and client ids are UUIDs; a directory may also be named by a domain.
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
_CLIENT_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


class EntraId(Identity):
    """Tokens of Microsoft Entra ID for any audience.

    Args:
        audience: the application that the token is for, such as ``api://kafka``.
        tenant: the directory. Default: ``AZURE_TENANT_ID``.
        client_id: the application, or the user-assigned managed identity, that the token is for.
            Default: ``AZURE_CLIENT_ID``; without one, the system-assigned managed identity.
        client_secret: the secret of the application. Default: ``AZURE_CLIENT_SECRET``.
        source: ``client-secret``, ``workload-identity`` (``AZURE_FEDERATED_TOKEN_FILE``) or
            ``managed-identity``. Default: the first one that the environment has settings for.
        cloud: ``public``, ``us-government`` or ``china``. Default: ``public``.
        credential: a credential of azure-identity, in place of all of these. Default: none.

    Raises:
        ConfigError: an argument is malformed.
    """

    name = "entra-id"

    def __init__(
        self,
        audience: str,
        *,
        tenant: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        source: str | None = None,
        cloud: str = "public",
        credential: Any = None,
    ) -> None:
        check_texts(
            self.name,
            audience=audience,
            tenant=tenant,
            client_id=client_id,
            client_secret=client_secret,
            source=source,
            cloud=cloud,
        )
        if credential is not None and not hasattr(credential, "get_token"):
            raise ArgumentTypeError(
                f"{self.name}: credential is of type {type(credential).__name__}: expected one of "
                "azure-identity, such as DefaultAzureCredential()"
            )
        if not (audience or "").strip():
            raise ConfigError(f"{self.name}: audience: expected an application such as api://kafka")
        if tenant is not None and not _TENANT.fullmatch(tenant):
            raise ConfigError(f"{self.name}: tenant: expected the id or a domain of a directory")
        if client_id is not None and not _CLIENT_ID.fullmatch(client_id):
            raise ConfigError(f"{self.name}: client_id: expected the id of an application")
        if source is not None and source not in SOURCES:
            raise ConfigError(f"{self.name}: source: expected one of {', '.join(SOURCES)}")
        self._audience = audience.rstrip("/")
        self._source, self._credential = source, credential
        self._tenant, self._client_id, self._client_secret = tenant, client_id, client_secret
        self._authority = self._host_of(cloud)[1]

    @classmethod
    def _host_of(cls, cloud: str) -> tuple[str, str]:
        if cloud not in _CLOUDS:
            raise ConfigError(f"{cls.name}: cloud: expected one of {', '.join(_CLOUDS)}")
        return _CLOUDS[cloud]

    @property
    def needs_permission(self) -> bool:
        return True

    def fetch(self, secrets: list[str]) -> IdentityToken:
        if self._credential is not None:
            # The program's own object, whose errors explain themselves.
            token = self._credential.get_token(f"{self._audience}/.default")
            return IdentityToken(token.token, token.expires_on, self._subject(token.token, ""))
        host = os.environ.get("AZURE_AUTHORITY_HOST") or self._authority
        application = Application(
            authority=host if "://" in host else f"https://{host}",
            tenant=self._tenant or os.environ.get("AZURE_TENANT_ID"),
            client_id=self._client_id or os.environ.get("AZURE_CLIENT_ID"),
            client_secret=self._client_secret or os.environ.get("AZURE_CLIENT_SECRET"),
        )
        if application.client_secret:
            secrets.append(application.client_secret)
        source = source_of(self._source, application)
        try:
            value, expires, detail = source(self, application, self._audience)
        except EndpointError as error:
            raise self.error(str(error)) from None
        return IdentityToken(value, expires, self._subject(value, f", by {detail}"))

    def _subject(self, token: str, detail: str) -> str:
        claims = claims_of(token)
        who = claims.get("appid") or claims.get("azp") or claims.get("oid") or "an application"
        return printable(f"{who} for {self._audience}{detail}")


class AzureEventHubs(EntraId):
    """Tokens of Microsoft Entra ID for a namespace of Azure Event Hubs.

    Args:
        namespace: the namespace: the first part of its host name.
        tenant: the directory. Default: ``AZURE_TENANT_ID``.
        client_id: the application, or the user-assigned managed identity, that the token is for.
            Default: ``AZURE_CLIENT_ID``; without one, the system-assigned managed identity.
        client_secret: the secret of the application. Default: ``AZURE_CLIENT_SECRET``.
        source: ``client-secret``, ``workload-identity`` (``AZURE_FEDERATED_TOKEN_FILE``) or
            ``managed-identity``. Default: the first one that the environment has settings for.
        cloud: ``public``, ``us-government`` or ``china``. Default: ``public``.
        credential: a credential of azure-identity, in place of all of these. Default: none.

    Raises:
        ConfigError: an argument is malformed.
    """

    name = "azure-event-hubs"

    def __init__(
        self,
        namespace: str,
        *,
        tenant: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        source: str | None = None,
        cloud: str = "public",
        credential: Any = None,
    ) -> None:
        check_texts(self.name, namespace=namespace, cloud=cloud)
        if not _NAMESPACE.fullmatch(namespace or ""):
            raise ConfigError(
                f"{self.name}: namespace: expected the first part of the host name, such as orders "
                "of orders.servicebus.windows.net"
            )
        super().__init__(
            f"https://{namespace}.{self._host_of(cloud)[0]}",
            tenant=tenant,
            client_id=client_id,
            client_secret=client_secret,
            source=source,
            cloud=cloud,
            credential=credential,
        )

    @property
    def needs_permission(self) -> bool:
        return False

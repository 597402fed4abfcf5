"""The configuration of the registry's tokens, read and checked without I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlparse, urlunparse

_AZURE_ENDPOINT = "http://169.254.169.254/metadata/identity/oauth2/token"


def normalize_identity_pool(identity_pool_raw: str | list[str] | None) -> str | None:
    """Return one identity pool, or several joined with commas."""
    if identity_pool_raw is None or isinstance(identity_pool_raw, str):
        return identity_pool_raw
    if not isinstance(identity_pool_raw, list):
        raise TypeError(f"identity pool id must be a str or list, not {type(identity_pool_raw)}")
    if not all(isinstance(item, str) for item in identity_pool_raw):
        raise TypeError("each identity pool id of the list must be a str")
    return ",".join(identity_pool_raw)


def bearer_fields(token: str, logical_cluster: str, identity_pool: str | None) -> dict[str, Any]:
    """Return the fields of a request with a token."""
    fields = {"bearer.auth.token": token, "bearer.auth.logical.cluster": logical_cluster}
    if identity_pool is not None:
        fields["bearer.auth.identity.pool.id"] = identity_pool
    return fields


def require(conf: dict[str, Any], what: str, *keys: str) -> None:
    """Raise a ValueError that names the keys that the configuration lacks."""
    missing = [key for key in keys if key not in conf]
    if missing:
        raise ValueError(f"Missing required {what} configuration properties: {', '.join(missing)}")


def take_text(conf: dict[str, Any], key: str, name: str | None = None) -> str:
    """Remove a text from the configuration, and return it."""
    value = conf.pop(key)
    if not isinstance(value, str):
        raise TypeError(f"{name or key} must be a str, not {type(value)}")
    return value


def take_cluster(conf: dict[str, Any]) -> tuple[str, str | None]:
    """Remove the logical cluster and the identity pools, and return them."""
    require(conf, "bearer", "bearer.auth.logical.cluster")
    cluster = take_text(conf, "bearer.auth.logical.cluster", "logical cluster")
    return cluster, normalize_identity_pool(conf.pop("bearer.auth.identity.pool.id", None))


def take_client(conf: dict[str, Any]) -> tuple[str, str, str, str]:
    """Remove the client of an OpenID provider: its id, secret and scope, and the endpoint."""
    keys = (
        "bearer.auth.client.id",
        "bearer.auth.client.secret",
        "bearer.auth.scope",
        "bearer.auth.issuer.endpoint.url",
    )
    require(conf, "OAuth", *keys)
    client_id, secret, scope, endpoint = (take_text(conf, key) for key in keys)
    return client_id, secret, scope, endpoint


def take_azure_endpoint(conf: dict[str, Any]) -> str:
    """Remove the endpoint of Azure's metadata service, with its query, and return it."""
    key = "bearer.auth.issuer.endpoint.url"
    has_endpoint = key in conf
    endpoint = take_text(conf, key) if has_endpoint else _AZURE_ENDPOINT
    try:
        parts = urlparse(endpoint)
    except ValueError as error:
        raise ValueError(f"Failed to parse token endpoint URL: {error}") from error
    query = conf.pop("bearer.auth.issuer.endpoint.query", None)
    if query:
        if not isinstance(query, str):
            kind = type(query)
            raise TypeError(f"bearer.auth.issuer.endpoint.query must be a str, not {kind}")
        return urlunparse(parts._replace(query=query, fragment=""))
    if not has_endpoint:
        raise ValueError(
            "bearer.auth.issuer.endpoint.query must be provided "
            "when bearer.auth.issuer.endpoint.url isn't overridden"
        )
    return endpoint


def take_custom(conf: dict[str, Any]) -> tuple[Callable[[dict[str, Any]], Any], dict[str, Any]]:
    """Remove the application's own function and its argument, and return them."""
    keys = ("bearer.auth.custom.provider.function", "bearer.auth.custom.provider.config")
    require(conf, "custom OAuth", *keys)
    function, config = (conf.pop(key) for key in keys)
    if not callable(function):
        raise TypeError(f"{keys[0]} must be a callable, not {type(function)}")
    if not isinstance(config, dict):
        raise TypeError(f"{keys[1]} must be a dict, not {type(config)}")
    return function, config


def take_static(conf: dict[str, Any]) -> str:
    """Remove a fixed token, and return it."""
    if "bearer.auth.token" not in conf:
        raise ValueError("Missing bearer.auth.token")
    return take_text(conf, "bearer.auth.token")

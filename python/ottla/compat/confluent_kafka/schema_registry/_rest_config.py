"""The configuration of a registry client, read and checked. No connection is made here."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

_NUMBERS = {
    "cache.capacity": 1000,
    "max.retries": 3,
    "retries.wait.ms": 1000,
    "retries.max.wait.ms": 20000,
}


@dataclass
class RestConfig:
    """What a client needs to send requests."""

    base_urls: list[str]
    verify: ssl.SSLContext | None
    auth: tuple[str, str] | None = field(repr=False)
    proxy: str | None = field(repr=False)
    timeout: float | None
    cache_capacity: int
    cache_latest_ttl_sec: float | None
    max_retries: int
    retries_wait_ms: int
    retries_max_wait_ms: int
    rest: dict[str, Any] = field(repr=False)
    """The keys that were not read: those of tokens, and unknown ones."""


def read_rest_config(conf: dict[str, Any]) -> RestConfig:
    """Read a configuration; the mapping itself is not changed."""
    rest = dict(conf)
    urls, from_url = _read_urls(rest.pop("url", None))
    verify = _read_tls(rest, any(url.startswith("https") for url in urls))
    auth = _read_auth(rest, from_url)
    numbers = {key: int(_number(rest, key, default)) for key, default in _NUMBERS.items()}
    ttl = _number(rest, "cache.latest.ttl.sec", None)
    return RestConfig(
        base_urls=urls,
        verify=verify,
        auth=auth,
        proxy=rest.pop("proxy", None),
        timeout=rest.pop("timeout", None),
        cache_capacity=numbers["cache.capacity"],
        cache_latest_ttl_sec=ttl,
        max_retries=numbers["max.retries"],
        retries_wait_ms=numbers["retries.wait.ms"],
        retries_max_wait_ms=numbers["retries.max.wait.ms"],
        rest=rest,
    )


def _read_urls(value: Any) -> tuple[list[str], tuple[str, str] | None]:
    if value is None:
        raise ValueError("Missing required configuration property url")
    if not isinstance(value, str):
        raise TypeError(f"url must be a str, not {type(value)}")
    urls: list[str] = []
    credentials = None
    for item in value.split(","):
        url = item.strip().rstrip("/")
        if not url.startswith(("http", "mock")):
            # A URL may have a password in it, so only one without is shown.
            raise ValueError("Invalid url" if "@" in url else f"Invalid url {url}")
        parts = urlsplit(url)
        if parts.username and parts.password is not None:
            found = (unquote(parts.username), unquote(parts.password))
            credentials = credentials or found
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
            url = urlunsplit(parts)
        urls.append(url)
    return urls, credentials


def _read_tls(conf: dict[str, Any], used: bool) -> ssl.SSLContext | None:
    ca = conf.pop("ssl.ca.location", None)
    key = conf.pop("ssl.key.location", None)
    password = conf.pop("ssl.key.password", None)
    certificate = conf.pop("ssl.certificate.location", None)
    if certificate is None and (key is not None or password is not None):
        raise ValueError(
            "ssl.certificate.location required when configuring ssl.key.location"
            " or ssl.key.password"
        )
    if not used and certificate is None and not isinstance(ca, str):
        # Reading the authorities of the system takes milliseconds, for which plain HTTP has no use.
        return None
    return tls_context(ca, key, password, certificate)


def tls_context(
    ca: str | bool | None, key: str | None, password: str | None, certificate: str | None
) -> ssl.SSLContext:
    """Return the TLS settings of a client.

    Args:
        ca: the authorities' certificates, None for the system's, or False to verify nothing.
        key: the client's key.
        password: the password of the key.
        certificate: the client's certificate.
    """
    context = _authorities(ca)
    if certificate is not None:
        context.load_cert_chain(certificate, keyfile=key, password=password)
    return context


def _authorities(ca: str | bool | None) -> ssl.SSLContext:
    if ca is False:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    file = ca if isinstance(ca, str) else os.environ.get("SSL_CERT_FILE")
    if file:
        if Path(file).is_dir():
            return ssl.create_default_context(capath=file)
        return ssl.create_default_context(cafile=file)
    directory = os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(capath=directory or None)


def _read_auth(conf: dict[str, Any], from_url: tuple[str, str] | None) -> tuple[str, str] | None:
    if "basic.auth.user.info" not in conf:
        return from_url
    if from_url is not None:
        raise ValueError(
            "basic.auth.user.info configured with userinfo credentials in the URL."
            " Remove userinfo credentials from the url or"
            " remove basic.auth.user.info from the configuration"
        )
    user, separator, password = conf.pop("basic.auth.user.info").partition(":")
    if not separator:
        raise ValueError("basic.auth.user.info must be in the form of {username}:{password}")
    return user, password


def _number(conf: dict[str, Any], key: str, default: Any) -> Any:
    value = conf.pop(key, None)
    if value is None:
        return default
    if not isinstance(value, (int, float)):
        raise TypeError(f"{key} must be a number, not {type(value)}")
    return value

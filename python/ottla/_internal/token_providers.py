"""The callables that ``sasl.oauthbearer.token.provider`` may name, and the one that it names.

A configuration may come from a file, a Spark job or a form, so that its author is not who runs the
process. Invariants: a name from a configuration is imported or called only if the application has
registered it, or the environment variable ``OTTLA_TOKEN_PROVIDERS`` lists it; exempt are the
identities of ``ottla.identities`` whose tokens are good for Kafka only. The content of a file that
the configuration chooses, and a token that opens more than Kafka, would go to a broker that the
same configuration chooses, so those identities need the same permission, arguments included.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ottla.errors import ConfigError, described

__all__ = ["register_token_provider"]

VARIABLE = "OTTLA_TOKEN_PROVIDERS"
"""The environment variable that lists allowed names, with commas between them."""

_Provider = TypeVar("_Provider", bound=Callable[[], Any])

_KEY = "sasl.oauthbearer.token.provider"

_REMEDY = (
    f"add the name to the environment variable {VARIABLE} (names with commas between them), or "
    "register the callable with ottla.register_token_provider; in Spark, set the variable for the "
    f"driver, and spark.executorEnv.{VARIABLE} for the executors"
)

_registered: dict[str, Callable[[], Any]] = {}


def register_token_provider(provider: _Provider, *, name: str | None = None) -> _Provider:
    """Allow configurations of this process to name a token provider.

    After this, ``sasl.oauthbearer.token.provider`` may have the name, and nothing is imported for
    it. Another process, such as an executor of Spark, does not have what was registered here: list
    the name in its environment variable ``OTTLA_TOKEN_PROVIDERS`` instead. A provider replaces the
    one that was registered under the same name, for new clients.

    Args:
        provider: a callable without arguments that returns a token, ``(token, expiry)`` or
            ``(token, expiry, extensions)``, as for ``sasl_oauth_token``.
        name: the name for the configuration (default: ``module:function``, the names by which
            Python knows the callable).

    Returns:
        The provider, so that this can decorate it.

    Raises:
        ConfigError: the provider is not callable, or has no name of its own and none is passed.
    """
    if not callable(provider):
        raise ConfigError(
            "register_token_provider: expected a callable that returns a token or (token, expiry)"
        )
    if name is None:
        function = getattr(provider, "__qualname__", None)
        name = f"{provider.__module__}:{function}" if function else ""
    if not name.strip():
        raise ConfigError("register_token_provider: the provider has no name: pass one as name")
    _registered[name.strip()] = provider
    return provider


def named_provider(name: str, addresses: Sequence[str] = ()) -> Callable[[], Any]:
    """Return the callable that a configuration names; the core calls this for each new client.

    Args:
        name: the name.
        addresses: those of the cluster, as ``host:port``, from which an identity may derive an
            argument that it was not given.

    Raises:
        ConfigError: the name is not allowed, or what it names cannot be imported or called. The
            message contains only names that are allowed, since others may be tokens.
    """
    if (registered := _registered.get(name)) is not None:
        return registered
    if (identity := _identity(name, addresses)) is not None:
        return identity
    module, _, function = name.partition(":")
    if not (_is_path(module) and _is_path(function)):
        from ottla._internal.identities.names import NAMES

        raise ConfigError(
            f"{_KEY}: expected the name of a callable, package.module:function, or one of "
            f"{', '.join(NAMES)}"
        )
    if not _is_allowed(module, function):
        raise ConfigError(
            f"{_KEY}: this process may not call what is named there, because a configuration alone "
            f"does not choose code to run: {_REMEDY}"
        )
    try:
        found: Any = importlib.import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise ConfigError(
            f"{_KEY}={name} cannot be imported: {described(error)}; it must be importable where "
            "the client runs; in Spark, on the driver and on every executor (spark-submit "
            "--py-files)"
        ) from error
    if not callable(found):
        raise ConfigError(
            f"{_KEY}={name} is not callable: name a callable that returns a token or "
            "(token, expiry)"
        )
    allowed: Callable[[], Any] = found
    return allowed


def _identity(name: str, addresses: Sequence[str]) -> Callable[[], Any] | None:
    """Return the identity of that name; None if there is none."""
    # Most names are module:function, for which nothing is loaded.
    if ":" in name.partition("?")[0]:
        return None
    from ottla._internal.identities.names import named_identity

    try:
        identity = named_identity(name, addresses)
    except ConfigError as error:
        raise ConfigError(f"{_KEY}: {error}") from None
    if identity is not None and identity.needs_permission and name not in _allowed_names():
        raise ConfigError(
            f"{_KEY}={identity.name}: a token or a file that opens more than Kafka would go to the "
            "brokers of this configuration, so it needs permission, with its arguments exactly as "
            f"written: {_REMEDY}"
        )
    return identity


def _is_path(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _is_allowed(module: str, function: str) -> bool:
    names = _allowed_names()
    # Of a whole module, only its own names: not those of the modules that it imports.
    return f"{module}:{function}" in names or (f"{module}:*" in names and "." not in function)


def _allowed_names() -> set[str]:
    # Read each time: an application may set it before it creates a client.
    return {name.strip() for name in os.environ.get(VARIABLE, "").split(",")}

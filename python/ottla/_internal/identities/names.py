"""Identities by name, as in ``sasl.oauthbearer.token.provider=aws-msk-iam?region=eu-central-1``.

Arguments follow the name as in the query of a URL. Invariants: only arguments that a configuration
may choose exist here, none of which is a secret; no message contains a value, because a text in the
wrong place may be a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote

from ottla._internal.identities.aws_msk_iam import AwsMskIam
from ottla._internal.identities.entra import AzureEventHubs, EntraId
from ottla._internal.identities.gcp_managed_kafka import GcpManagedKafka
from ottla._internal.identities.identity import Identity
from ottla._internal.identities.kubernetes import KubernetesServiceAccount
from ottla.errors import ConfigError

_ENTRA = ("tenant", "client_id", "source", "cloud")

# The class of each name, its required argument, and its other ones.
_NAMED: Mapping[str, tuple[Callable[..., Identity], str | None, tuple[str, ...]]] = {
    AwsMskIam.name: (AwsMskIam, None, ("region", "profile", "role", "session")),
    AzureEventHubs.name: (AzureEventHubs, "namespace", _ENTRA),
    EntraId.name: (EntraId, "audience", _ENTRA),
    GcpManagedKafka.name: (GcpManagedKafka, None, ("principal", "source")),
    KubernetesServiceAccount.name: (KubernetesServiceAccount, None, ("file",)),
}

# An argument that the host names of a cloud's clusters have as a group.
_FROM_HOSTS: Mapping[str, tuple[str, re.Pattern[str]]] = {
    AwsMskIam.name: (
        "region",
        re.compile(r"[a-z0-9.-]+\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?"),
    ),
    AzureEventHubs.name: ("namespace", re.compile(r"([a-z0-9-]+)\.servicebus\.windows\.net")),
}

NAMES = tuple(_NAMED)
"""The names, without arguments."""


def named_identity(text: str, addresses: Sequence[str] = ()) -> Identity | None:
    """Return the identity that a text names; None if it names none.

    Args:
        text: the name and the arguments.
        addresses: those of the cluster, as ``host:port``. The names of hosts at AWS have the region
            and those of Event Hubs the namespace, if the arguments do not.

    Raises:
        ConfigError: its arguments are malformed, or a package that it needs is not installed.
    """
    name, _, query = text.partition("?")
    if name not in _NAMED:
        return None
    create, required, optional = _NAMED[name]
    known = (*([required] if required else []), *optional)
    arguments: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if key not in known or not equals or not value or key in arguments:
            raise ConfigError(
                f"{name}: expected arguments as in {name}?{known[0]}=…, each once and with a value "
                f"(%26 for &); it has {', '.join(known)}"
            )
        arguments[key] = unquote(value)
    _complete(name, arguments, addresses)
    if required and required not in arguments:
        raise ConfigError(f"{name}: the argument {required} is missing: {name}?{required}=…")
    return create(**arguments)


def _complete(name: str, arguments: dict[str, str], addresses: Sequence[str]) -> None:
    """Add the argument that all addresses agree on, if it is missing."""
    if name not in _FROM_HOSTS or _FROM_HOSTS[name][0] in arguments:
        return
    argument, pattern = _FROM_HOSTS[name]
    hosts = [part.strip().rpartition(":")[0].lower() for part in addresses]
    found = {match[1] if (match := pattern.fullmatch(host)) else None for host in hosts}
    if len(found) == 1 and (value := found.pop()) is not None:
        arguments[argument] = value

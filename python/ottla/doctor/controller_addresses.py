"""The configuration of a diagnosis with ``bootstrap.controllers``: addresses, and the rest.

Invariant: a configuration without controllers, with brokers too, or with values of other types goes
to the core as it is, which checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla import Client

CONTROLLERS = "bootstrap.controllers"
_NAMES = (CONTROLLERS, CONTROLLERS.replace(".", "_"))
_BROKERS = ("bootstrap.servers", "bootstrap_servers")


@dataclass(frozen=True)
class ControllerAddresses:
    """Addresses of controllers, and the configuration without them.

    Attributes:
        addresses: the controllers, as ``host:port``.
        config: the configuration by Kafka's dotted names.
        more: the keyword arguments.
    """

    addresses: tuple[str, ...]
    config: Mapping[str, Any]
    more: Mapping[str, Any]

    def client(self, addresses: Sequence[str]) -> Client:
        """Return a client that connects to some controllers when it is used.

        Raises:
            KafkaError: there is none with this configuration.
        """
        from ottla import Client

        config = {**self.config, CONTROLLERS: ",".join(addresses)}
        return Client(config, connect=False, **self.more)


def controllers_in(
    bootstrap: object, config: Mapping[str, Any] | None, more: Mapping[str, Any]
) -> ControllerAddresses | None:
    """Return the configured controllers; None if that is for the core to say."""
    merged: Any = config or {}
    if isinstance(bootstrap, Mapping) and config is None:
        merged = bootstrap
    elif bootstrap is not None or not isinstance(merged, Mapping):
        return None
    given: Any = None
    for part in (merged, more):
        for name in _NAMES:
            given = part.get(name, given)
    texts = given.split(",") if isinstance(given, str) else given
    if (
        not texts
        or not _are_texts(texts)
        or any(part.get(name) for part in (merged, more) for name in _BROKERS)
    ):
        return None
    return ControllerAddresses(
        tuple(text.strip() for text in texts),
        {name: value for name, value in merged.items() if name not in _NAMES},
        {name: value for name, value in more.items() if name not in _NAMES},
    )


def _are_texts(given: object) -> bool:
    return isinstance(given, Sequence) and all(isinstance(each, str) for each in given)

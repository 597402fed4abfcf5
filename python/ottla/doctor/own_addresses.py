"""Asks the brokers which addresses they advertise themselves: a gateway in between names others.

Invariant: a broker that may not be asked, or whose configuration leaves its host open, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ottla.admin.operation_call import Call, Request
from ottla.doctor.facts import Facts
from ottla.doctor.state_facts import OwnAddress
from ottla.errors import KafkaError

_BROKER_RESOURCE = 4
# The second one is in effect where the first one is not set.
_KEYS = ("advertised.listeners", "listeners")
# Of a large cluster, a few brokers say as much: a gateway replaces all addresses.
_MAX_BROKERS = 10
# A listener: its name, and the host and port, of which the host may be absent.
_LISTENER = re.compile(r"[^:/]+://(?P<host>\[[^]]*\]|[^:]*):(?P<port>\d+)")


async def own_addresses(call: Call, facts: Facts) -> tuple[OwnAddress, ...]:
    """Return the addresses in the configuration of brokers that work."""
    working = [broker.id for broker in facts.brokers if broker.endpoint.working is not None]
    asked = sorted(working)[:_MAX_BROKERS]
    requests = [
        Request(
            "DescribeConfigs",
            {
                "resources": [
                    {
                        "resource_type": _BROKER_RESOURCE,
                        "resource_name": str(broker),
                        "configuration_keys": list(_KEYS),
                    }
                ]
            },
            to=broker,
        )
        for broker in asked
    ]
    found: list[OwnAddress] = []
    for broker, response in zip(asked, await call.send(requests), strict=True):
        if isinstance(response, KafkaError):
            continue
        values = {
            config["name"]: config["value"]
            for result in response.body["results"]
            for config in result["configs"]
        }
        found += [OwnAddress(broker, host, port) for host, port in addresses_of(values)]
    return tuple(found)


def addresses_of(configs: Mapping[str, str | None]) -> tuple[tuple[str, int], ...]:
    """Return the hosts and ports that a broker advertises; none if one of them is not said.

    Args:
        configs: the values of ``advertised.listeners`` and ``listeners``, None where not set.
    """
    value = next((value for key in _KEYS if (value := configs.get(key))), "")
    addresses = []
    for listener in filter(None, map(str.strip, value.split(","))):
        matched = _LISTENER.fullmatch(listener)
        host = "" if matched is None else matched["host"].strip("[]")
        if matched is None or not host or host in {"0.0.0.0", "::"}:  # noqa: S104 - no binding
            # The broker names its machine in the place of the host.
            return ()
        addresses.append((host, int(matched["port"])))
    return tuple(addresses)

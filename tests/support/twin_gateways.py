"""Two gateways with the same settings, which a balancer at 127.0.0.1 makes one for clients.

They listen at loopback addresses of their own, and advertise the balancer's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.support.gateway_process import GatewayProcess

BALANCER = "127.0.0.1"
HOSTS = ("127.0.0.2", "127.0.0.3")


@contextmanager
def twin_gateways(
    servers: str, first: int, status: int, brokers: int = 3
) -> Iterator[list[GatewayProcess]]:
    """Run the gateways; yield them.

    Args:
        servers: the addresses of the cluster.
        first: the bootstrap port; the brokers from the id 1 on have the ports after the next one.
        status: the port of their status.
        brokers: the number of brokers.
    """
    addresses = {n: f"{BALANCER}:{first + 1 + n}" for n in range(1, brokers + 1)}
    with ExitStack() as running:
        gateways = []
        for host in HOSTS:
            where = ("--listen", f"{host}:{first}", "--advertise", BALANCER)
            ports = ("--ports", f"{first + 1}-{first + 1 + brokers}")
            arguments = [servers, *where, *ports, "--status", f"{host}:{status}"]
            gateway = GatewayProcess(arguments, f"{BALANCER}:{first}", addresses)
            gateways.append(running.enter_context(gateway))
        yield gateways

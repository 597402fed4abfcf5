"""A company's network and an outside network, with a router between them.

    lan 10.213.N.0/24: the router, one host per broker, clients, and this host
    wan 198.18.N.0/24: the router with several addresses, clients

The router forwards only configured ports from the wan (destination NAT) and silently drops
everything else, as firewalls do. N is random, so that two runs may share a machine.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from types import TracebackType

from tests.support.namespaces import Namespace, Namespaces, connect_veth, run_command

_RULES = """
table ip ottla {
  set blackholed { type ipv4_addr; }
  set rejected { type ipv4_addr; }
  set muted { type ipv4_addr; }
  set narrowed { type ipv4_addr; }
  set tunneled { type ipv4_addr; }
  chain prerouting { type nat hook prerouting priority dstnat; }
  chain forward {
    type filter hook forward priority filter; policy drop;
    # If bridges pass packets to IP filters, traffic within the lan arrives here, too.
    iifname "lan" oifname "lan" accept
    ip saddr @blackholed drop
    ip daddr @blackholed drop
    ip daddr @rejected reject with icmp port-unreachable
    ip saddr @muted tcp flags & psh == psh drop
    ip daddr @muted tcp flags & psh == psh drop
    ip saddr @narrowed ip length > 1300 drop
    ip daddr @narrowed ip length > 1300 drop
    ip saddr @tunneled ip length > 900 drop
    ip daddr @tunneled ip length > 900 drop
    iifname "lan" accept
    ct state established,related accept
    ct status dnat accept
  }
}
"""


class Network:
    """The router and the hosts on both sides."""

    def __init__(self, brokers: int) -> None:
        self._spaces = Namespaces()
        self._subnet = _free_subnet()
        try:
            self.router = self._spaces.add("router")
            for bridge, address in (("lan", self.lan(1)), ("wan", self.wan(1))):
                self.router.ip(f"link add {bridge} type bridge")
                self.router.ip(f"addr add {address}/24 dev {bridge}")
                self.router.ip(f"link set {bridge} up")
            run_command(*self.router.exec_prefix, "sysctl", "-qw", "net.ipv4.ip_forward=1")
            self._nft(_RULES)
            connect_veth(None, f"ottla{os.getpid()}"[-15:], f"{self.lan(2)}/24", self.router, "lan")
            self.brokers = [
                self.add_host(f"broker{i}", "lan", 10 + i) for i in range(1, brokers + 1)
            ]
            self.inside = self.add_host("inside", "lan", 50)
            self.outside = self.add_host("outside", "wan", 50)
        except BaseException:
            self.close()
            raise

    def add_host(self, name: str, bridge: str, number: int) -> Namespace:
        """Add a host to the lan or the wan, with this number as the end of its address."""
        at = self.lan if bridge == "lan" else self.wan
        space = self._spaces.add(name)
        connect_veth(space, name, f"{at(number)}/24", self.router, bridge)
        space.ip(f"route add default via {at(1)}")
        return space

    def lan(self, host: int) -> str:
        """Return an address in the lan."""
        return f"10.213.{self._subnet}.{host}"

    def wan(self, host: int) -> str:
        """Return an address in the wan."""
        return f"198.18.{self._subnet}.{host}"

    def broker_address(self, broker_id: int) -> str:
        """Return a broker's address in the lan."""
        return self.lan(10 + broker_id)

    def forward(self, host: int, port: int, to: Sequence[tuple[str, int]]) -> str:
        """Forward a port of a wan address of the router to servers in turn; return `host:port`."""
        address = self.wan(host)
        if host != 1:
            self.router.ip(f"addr replace {address}/24 dev wan")
        servers = ", ".join(f"{i} : {host} . {port}" for i, (host, port) in enumerate(to))
        self._nft(
            f"add rule ip ottla prerouting ip daddr {address} tcp dport {port} "
            f"dnat ip to numgen inc mod {len(to)} map {{ {servers} }}"
        )
        return f"{address}:{port}"

    def forward_by(self, host: int, rule: str) -> None:
        """Give the router a wan address, and add a rule to its table `ottla`."""
        self.router.ip(f"addr replace {self.wan(host)}/24 dev wan")
        self._nft(rule)

    def blackhole(self, *addresses: str) -> None:
        """Drop all packets between wan and lan to or from these addresses."""
        self._add("blackholed", addresses)

    def reject(self, *addresses: str) -> None:
        """Reject connections from the wan to these addresses, as some firewalls do."""
        self._add("rejected", addresses)

    def mute(self, *addresses: str) -> None:
        """Let connections to these addresses open, but drop their data."""
        self._add("muted", addresses)

    def narrow(self, *addresses: str) -> None:
        """Silently drop packets of more than 1300 bytes to or from these addresses.

        This is an MTU black hole between wan and lan.
        """
        self._add("narrowed", addresses)

    def tunnel(self, *addresses: str) -> None:
        """Silently drop packets of more than 900 bytes to or from these addresses."""
        self._add("tunneled", addresses)

    def heal(self) -> None:
        """Remove all drops and rejections."""
        for name in ("blackholed", "rejected", "muted", "narrowed", "tunneled"):
            self._nft(f"flush set ip ottla {name}")

    def close(self) -> None:
        """Remove the networks."""
        self._spaces.close()

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _add(self, name: str, addresses: Sequence[str]) -> None:
        self._nft(f"add element ip ottla {name} {{ {', '.join(addresses)} }}")

    def _nft(self, rules: str) -> None:
        run_command(*self.router.exec_prefix, "nft", "-f", "-", stdin=rules)


def _free_subnet() -> int:
    taken = run_command("ip", "-4", "addr")
    return random.SystemRandom().choice([n for n in range(1, 255) if f"10.213.{n}." not in taken])

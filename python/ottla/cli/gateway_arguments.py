"""The arguments of ``ottla gateway``, and the settings of a gateway that follow from them.

Invariant: what cannot work is an error that names the option, before anything is opened.
"""

from __future__ import annotations

import argparse
import ipaddress
import re
from pathlib import Path
from typing import Any

from ottla.cli.gateway_rules import add_rules
from ottla.cli.options import add_cluster, add_json
from ottla.cli.parsing import seconds
from ottla.errors import ConfigError

# The ports for brokers if --ports is absent, counted from the one after the bootstrap port.
_PORT_COUNT = 100
_PORT_MAX = 65_535
_BROKER_MAX = 2**31 - 1
_COUNT_END = 2**32
# What no host name has: clients would take a part of it for a port or a scheme.
_NOT_IN_HOST = re.compile(r"[\s:/@,\[\]]")


def add_arguments(commands: argparse._SubParsersAction[Any]) -> argparse.ArgumentParser:
    """Add the command and its arguments; return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "gateway",
        help="let clients reach all brokers through one host",
        description="Listen at one address for bootstrapping and one for each broker, and pass "
        "connections on to the cluster. Responses name these addresses in place of the brokers' "
        "own. Ctrl-C or SIGTERM ends it as soon as the requests in flight have their responses; "
        "SIGHUP reads the configuration and all files again.",
    )
    add_cluster(parser)
    parser.add_argument(
        "--listen",
        default="127.0.0.1:19092",
        type=_address,
        metavar="HOST:PORT",
        help="the IP address and the port for bootstrapping (127.0.0.1:19092)",
    )
    parser.add_argument(
        "--advertise",
        type=_host,
        metavar="HOST",
        help="the host name under which clients reach the gateway (the address of --listen)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--ports",
        type=_ports,
        metavar="FIRST-LAST",
        help="the ports for brokers, in the order of their ids (the 100 after that of --listen)",
    )
    where.add_argument(
        "--sni",
        type=_host,
        metavar="NAME",
        help="the host name for a broker, with {id} in place of its id, such as "
        "'broker-{id}.example.com': all have the port of --listen. Needs --tls-cert",
    )
    parser.add_argument(
        "--first-broker",
        type=_broker,
        metavar="ID",
        help="the id of the broker that has the first port (0)",
    )
    parser.add_argument(
        "--tls-cert",
        type=Path,
        metavar="FILE",
        help="use TLS towards clients: a PEM file with the certificate, followed by those of its "
        "issuers. It is read again when it changes",
    )
    parser.add_argument(
        "--tls-key", type=Path, metavar="FILE", help="a PEM file with the certificate's private key"
    )
    parser.add_argument(
        "--client-ca",
        type=Path,
        metavar="FILE",
        help="require a certificate of clients: a PEM file with the authorities",
    )
    parser.add_argument(
        "--users",
        type=Path,
        metavar="FILE",
        help="let clients log in to the gateway, with PLAIN or SCRAM and the users of this file "
        "(see 'ottla gateway-users'), and log in to the brokers with the credentials of -X or "
        "those of the user in the file. It is read again when it changes. Without it, clients log "
        "in to the brokers",
    )
    parser.add_argument(
        "--allow-plaintext-passwords",
        action="store_true",
        help="offer PLAIN also without TLS, where others can read the passwords",
    )
    parser.add_argument(
        "--reauthenticate",
        type=seconds(1),
        metavar="SECONDS",
        help="how long a login lasts; clients renew theirs before (as long as the connection)",
    )
    add_rules(parser)
    parser.add_argument(
        "--connections",
        type=_count,
        metavar="N",
        help="the connections of clients at one time (10000)",
    )
    parser.add_argument(
        "--connections-per-address",
        type=_count,
        metavar="N",
        help="the connections from one address at one time (as many as there may be)",
    )
    parser.add_argument(
        "--setup-timeout",
        type=seconds(0.001),
        metavar="SECONDS",
        help="how long a client may take for TLS, login and its first request (30)",
    )
    parser.add_argument(
        "--drain",
        type=seconds(0),
        default=30.0,
        metavar="SECONDS",
        help="how long requests in flight may take when the gateway ends (30)",
    )
    parser.add_argument(
        "--status",
        type=_address,
        metavar="HOST:PORT",
        help="serve the connections, totals and events over HTTP: /connections, /totals, /events, "
        "/brokers as JSON, /metrics for Prometheus, and /ready. Whoever reaches it sees them",
    )
    parser.add_argument(
        "--allow-faults",
        action="store_true",
        help="let whoever reaches the address of --status, which must be one of this machine "
        "alone, inject faults over HTTP: POST /faults. For tests: clients lose responses, get "
        "errors and wait",
    )
    parser.add_argument(
        "--allow-remote-faults",
        action="store_true",
        help="as --allow-faults, also if other machines reach the address of --status",
    )
    parser.add_argument(
        "--access-log",
        type=Path,
        metavar="FILE",
        help="append a line of JSON for each connection that has ended; - for standard error",
    )
    add_json(parser, "print the addresses as JSON")
    parser.add_argument(
        "--for", dest="seconds", type=seconds(0), help="exit after this many seconds"
    )
    return parser


def _address(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator or not host or not port.isdecimal() or int(port) > _PORT_MAX:
        raise argparse.ArgumentTypeError(f"expected an IP address and a port, got {text!r}")
    bare = host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(bare)
    except ValueError:
        message = f"expected an IP address of this machine and a port, got {text!r}"
        raise argparse.ArgumentTypeError(message) from None
    return bare, int(port)


def _ports(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last) <= _PORT_MAX):
        raise argparse.ArgumentTypeError(f"expected a range such as 19093-19192, got {text!r}")
    return int(first), int(last)


def _broker(text: str) -> int:
    if not text.isdecimal() or int(text) > _BROKER_MAX:
        raise argparse.ArgumentTypeError(f"expected the id of a broker, 0 or more, got {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < _COUNT_END:
        raise argparse.ArgumentTypeError(f"expected a number of connections, 1 or more: {text!r}")
    return int(text)


def users_of(arguments: argparse.Namespace) -> Path | None:
    """Return the file of users, after checking the options that need it."""
    users: Path | None = arguments.users
    if users is None:
        for option in ("allow_plaintext_passwords", "reauthenticate"):
            if getattr(arguments, option):
                name = option.replace("_", "-")
                raise ConfigError(f"--{name} is about logins at the gateway: give --users FILE")
    return users


def allows_faults(arguments: argparse.Namespace) -> bool:
    """Return whether faults may be injected, after checking who may do it."""
    if not (arguments.allow_faults or arguments.allow_remote_faults):
        return False
    option = "--allow-remote-faults" if arguments.allow_remote_faults else "--allow-faults"
    if arguments.status is None:
        raise ConfigError(
            f"{option}: faults are injected over HTTP: give the address with --status, such as "
            "--status 127.0.0.1:9464"
        )
    host, _ = arguments.status
    if not arguments.allow_remote_faults and not ipaddress.ip_address(host).is_loopback:
        raise ConfigError(
            f"--allow-faults: other machines reach --status {host}, and could inject faults: use "
            "127.0.0.1, or say --allow-remote-faults"
        )
    return True


def limits_of(arguments: argparse.Namespace) -> dict[str, Any]:
    limits = {
        "connections": arguments.connections,
        "connections_per_address": arguments.connections_per_address,
        "setup": arguments.setup_timeout,
    }
    return {name: value for name, value in limits.items() if value is not None}


def _host(text: str) -> str:
    """Return a host name or an IP address, as clients resolve it."""
    bare = text.removeprefix("[").removesuffix("]")
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        if not _NOT_IN_HOST.search(text):
            return text
        message = f"expected a host name or an IP address without a port, got {text!r}"
        raise argparse.ArgumentTypeError(message) from None
    if address.is_unspecified:
        message = f"{text} is every address of this machine: give one that clients reach"
        raise argparse.ArgumentTypeError(message)
    return bare


def broker_ports(arguments: argparse.Namespace) -> tuple[int, int] | None:
    """Return the ports for brokers; None with server names, or if the system chooses the ports."""
    _, port = arguments.listen
    chosen: tuple[int, int] | None = arguments.ports
    if arguments.sni is None and chosen is None and port > 0:
        if port == _PORT_MAX:
            raise ConfigError(f"--listen: no port follows {port}: give --ports for the brokers")
        chosen = port + 1, min(port + _PORT_COUNT, _PORT_MAX)
    if chosen is None and arguments.first_broker is not None:
        raise ConfigError(
            "--first-broker says which broker has the first of the ports: leave it out with --sni "
            "and with port 0 in --listen, or give --ports"
        )
    return chosen


def reachable(host: str) -> str:
    if ipaddress.ip_address(host).is_unspecified:
        raise ConfigError(
            f"--listen {host} is every address of this machine: say under which host name clients "
            "reach it (--advertise HOST)"
        )
    return host


def tls_of(arguments: argparse.Namespace) -> dict[str, Any] | None:
    if arguments.tls_cert is None:
        if arguments.tls_key is not None or arguments.client_ca is not None:
            raise ConfigError("--tls-key and --client-ca need a certificate: give --tls-cert")
        return None
    key = arguments.tls_cert if arguments.tls_key is None else arguments.tls_key
    files = {"ssl.certificate.location": str(arguments.tls_cert), "ssl.key.location": str(key)}
    if arguments.client_ca is not None:
        files["ssl.truststore.location"] = str(arguments.client_ca)
    return {"bootstrap.servers": "none:1", **files}

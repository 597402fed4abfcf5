"""``ottla gateway``: give every broker of a cluster an address on one host.

Invariant: the command fails before it serves if a broker that the cluster names has no address.
"""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import re
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypedDict

from ottla import Client, _core
from ottla._internal.text import counted
from ottla.cli.messages import say
from ottla.cli.options import add_cluster, add_json, configuration, servers_of
from ottla.cli.output import print_document
from ottla.cli.parsing import seconds
from ottla.cli.waiting import report_waiting
from ottla.errors import ConfigError, KafkaError
from ottla.gateway.access_log import AccessLog
from ottla.gateway.status_server import StatusServer

if sys.platform != "win32":
    import resource

# The longest delay, in seconds, before Ctrl-C takes effect.
_INTERVAL = 0.2
# The ports for brokers if --ports is absent, counted from the one after the bootstrap port.
_PORT_COUNT = 100
_PORT_MAX = 65_535
_BROKER_MAX = 2**31 - 1
# What no host name has: clients would take a part of it for a port or a scheme.
_NOT_IN_HOST = re.compile(r"[\s:/@,\[\]]")


class BrokerAddress(TypedDict):
    """The address that the gateway has for a broker.

    Attributes:
        id: the broker's id.
        address: host and port.
    """

    id: int
    address: str


class GatewayAddresses(TypedDict):
    """The document of the command, printed as soon as the gateway serves.

    Attributes:
        bootstrap: the address at which clients bootstrap.
        brokers: the addresses of the brokers.
        status: the address of ``--status``, or null.
    """

    bootstrap: str
    brokers: list[BrokerAddress]
    status: str | None


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "gateway",
        help="let clients reach all brokers through one host",
        description="Listen at one address for bootstrapping and one for each broker, and pass "
        "connections on to the cluster. Responses name these addresses in place of the brokers' "
        "own. Ctrl-C or SIGTERM ends it as soon as the requests in flight have their responses.",
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
        "/brokers as JSON, and /metrics for Prometheus. Whoever reaches it sees them",
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
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or for the given time."""
    config = configuration(arguments)
    host, port = arguments.listen
    ports = _broker_ports(arguments)
    _raise_descriptor_limit()
    gateway = _core.Gateway(
        config,
        listen=(host, port),
        advertised_host=arguments.advertise or _reachable(host),
        ports=ports,
        first_broker=arguments.first_broker or 0,
        server_name=arguments.sni,
        tls=_tls(arguments),
        client_auth=arguments.client_ca is not None,
    )
    with ExitStack() as shown:
        # The log gets those connections, too, that end because the gateway does.
        log = None
        if arguments.access_log is not None:
            log = shown.enter_context(AccessLog(gateway, arguments.access_log))
        shown.callback(_close, gateway, arguments.drain)
        status = None
        if arguments.status is not None:
            status = shown.enter_context(StatusServer(gateway, *arguments.status)).address
        _wait_for_brokers(gateway, config)
        _print_addresses(gateway, status, as_json=arguments.json)
        end = None if arguments.seconds is None else time.monotonic() + arguments.seconds
        while end is None or time.monotonic() < end:
            time.sleep(_INTERVAL)
            if log is not None:
                log.write()
    return 0


def _print_addresses(gateway: _core.Gateway, status: str | None, *, as_json: bool) -> None:
    if as_json:
        brokers = [BrokerAddress(id=n, address=at) for n, at in gateway.brokers.items()]
        addresses = GatewayAddresses(bootstrap=gateway.bootstrap, brokers=brokers, status=status)
        print_document(addresses)
    else:
        print(f"ottla gateway: {gateway.bootstrap}")
        for broker, address in gateway.brokers.items():
            print(f"  broker {broker}: {address}")
        if status is not None:
            print(f"  status: http://{status}/connections")
    sys.stdout.flush()


def _close(gateway: _core.Gateway, drain: float) -> None:
    if cut_off := gateway.close(drain):
        were = "was" if cut_off == 1 else "were"
        say(f"{counted(cut_off, 'connection')} {were} cut off, after {drain:g} s", "warning")


def _raise_descriptor_limit() -> None:
    """Allow as many open files as this process may: each connection needs two."""
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # macOS refuses a limit above its own, and then the present one stays.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _wait_for_brokers(gateway: _core.Gateway, config: dict[str, Any]) -> None:
    """Wait until the gateway has an address for each broker of the cluster.

    A cluster that does not accept the gateway itself, since the credentials are those of its
    clients, is no error: clients' responses will name the brokers.
    """
    try:
        with (
            report_waiting(lambda: f"a response from {servers_of(config)}"),
            Client(config=config) as client,
        ):
            expected = set(client.cluster().brokers)
    except ConfigError:
        raise
    except KafkaError as error:
        say(f"the gateway knows no broker until a client has connected: {error}", "warning")
        return
    deadline = time.monotonic() + 10
    while missing := expected - gateway.brokers.keys():
        if time.monotonic() > deadline:
            ids = ", ".join(map(str, sorted(missing)))
            raise ConfigError(
                f"these brokers have no address here: {ids}; --ports and --first-broker must have "
                "a free port for each id from the lowest to the highest"
            )
        time.sleep(0.01)


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


def _broker_ports(arguments: argparse.Namespace) -> tuple[int, int] | None:
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


def _reachable(host: str) -> str:
    if ipaddress.ip_address(host).is_unspecified:
        raise ConfigError(
            f"--listen {host} is every address of this machine: say under which host name clients "
            "reach it (--advertise HOST)"
        )
    return host


def _tls(arguments: argparse.Namespace) -> dict[str, Any] | None:
    if arguments.tls_cert is None:
        if arguments.tls_key is not None or arguments.client_ca is not None:
            raise ConfigError("--tls-key and --client-ca need a certificate: give --tls-cert")
        return None
    key = arguments.tls_cert if arguments.tls_key is None else arguments.tls_key
    files = {"ssl.certificate.location": str(arguments.tls_cert), "ssl.key.location": str(key)}
    if arguments.client_ca is not None:
        files["ssl.truststore.location"] = str(arguments.client_ca)
    return {"bootstrap.servers": "none:1", **files}

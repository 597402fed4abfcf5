"""``ottla console``: serve a page that shows a cluster as a client sees it, and open a browser.

If the cluster cannot be reached, the page shows the reason. Invariant: the address, with its token,
is printed to standard output only; it appears in no log and in no list of processes.
"""

from __future__ import annotations

import argparse
import getpass
import os
import socket
import sys
import tempfile
import time
import webbrowser
from collections.abc import Mapping
from contextlib import ExitStack
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ottla import Client
from ottla._internal import extras
from ottla.cli.messages import say
from ottla.cli.options import add_cluster, add_json, configuration
from ottla.cli.output import print_document
from ottla.cli.parsing import seconds
from ottla.console.profiles import cluster_arguments, clusters, registry_of, selected
from ottla.errors import ConfigError

if TYPE_CHECKING:
    from ottla.console import Console
    from ottla.console.simulation import Simulation

# The longest delay, in seconds, before Ctrl-C takes effect.
_INTERVAL = 0.2


class ConsoleAddress(TypedDict):
    """The document of the command, printed as soon as the console serves.

    Attributes:
        url: the address, with its token.
    """

    url: str


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "console",
        help="show the cluster in a browser, as this client sees it",
        description="Serve a page that shows the cluster as a client sees it: leaders, "
        "connections, rates, groups and messages. Several profiles make one console of their "
        "clusters. Needs pip install 'ottla[console]'. It listens "
        "on loopback, and the address that it prints has a token. Ctrl-C ends it.",
    )
    add_cluster(parser, several=True)
    parser.add_argument("--port", type=int, default=0, help="the port (any free one)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen at (127.0.0.1); others are reachable from other machines, "
        "without encryption unless there is a --tls-cert",
    )
    parser.add_argument(
        "--tls-cert",
        type=Path,
        metavar="FILE",
        help="serve with TLS: a PEM file with the certificate, followed by those of its issuers",
    )
    parser.add_argument(
        "--tls-key",
        type=Path,
        metavar="FILE",
        help="a PEM file with the certificate's private key, not encrypted (that of --tls-cert)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further host name of its address, such as a proxy's; may be repeated",
    )
    parser.add_argument(
        "--allow-changes",
        action="store_true",
        help="allow its pages to change the cluster: topics, groups, records, access",
    )
    parser.add_argument(
        "--no-token", action="store_true", help="need no token; on loopback addresses only"
    )
    parser.add_argument(
        "--schema-registry",
        metavar="URL",
        help="the schema registry for keys and values of messages; its other settings are "
        "configuration keys schema.registry.*",
    )
    parser.add_argument(
        "--gateway",
        dest="gateways",
        action="append",
        default=[],
        metavar="URL",
        help="the address of a gateway's --status: a page shows the clients behind it; may be "
        "repeated",
    )
    parser.add_argument(
        "--simulate",
        type=int,
        nargs="?",
        const=3,
        metavar="BROKERS",
        help="show a mock cluster in this process instead, with that many brokers (3) and traffic, "
        "and a page that breaks it; the pages may change it",
    )
    add_json(parser, "print the address as JSON")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--for", dest="seconds", type=seconds(0), help="exit after this many seconds"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or for the given time."""
    try:
        extras.require("ottla console", "console")
    except extras.MissingExtraError as error:
        raise ConfigError(str(error)) from None
    from ottla.console.address import is_loopback

    with ExitStack() as stack:
        console = serve_clusters(arguments, stack)
        if arguments.json:
            print_document(ConsoleAddress(url=console.url))
            sys.stdout.flush()
        else:
            print(f"ottla console: {console.url}", flush=True)
        if not is_loopback(arguments.host) and arguments.tls_cert is None:
            say(
                f"the console listens at {arguments.host} without encryption: whoever is on the "
                "way can read its token and use it. Give it a certificate (--tls-cert FILE, "
                "--tls-key FILE), or use the default address with a tunnel: "
                f"ssh -L {console.port}:127.0.0.1:{console.port} USER@HOST, or a proxy with TLS "
                "in front of it (--allow-host NAME)",
                "warning",
            )
        _open(console, arguments, stack)
        _wait(console, arguments.seconds)
    return 0


def serve_clusters(arguments: argparse.Namespace, stack: ExitStack) -> Console:
    """Serve the cluster of the arguments, or those of several profiles, until the stack closes.

    Raises:
        ConfigError: an argument is wrong.
    """
    _check_simulation(arguments)
    if profiles := selected(arguments):
        return _serve_several(arguments, profiles, stack)
    return _serve_one(arguments, stack)


def _serve_one(arguments: argparse.Namespace, stack: ExitStack) -> Console:
    from ottla.console import serve

    simulation = None
    if arguments.simulate is None:
        # The console also shows an unreachable cluster.
        client: Any = stack.enter_context(Client(config=configuration(arguments), connect=False))
        words = cluster_arguments(arguments)
    else:
        simulation = stack.enter_context(_simulation(arguments))
        client = simulation.producer
        words = ["-b", simulation.mock.bootstrap]
    registry, limits = registry_of(arguments)
    console = serve(
        client,
        # A mock cluster may always be changed.
        allow_changes=arguments.allow_changes or simulation is not None,
        schema_registry=registry,
        schema_limits=limits,
        cluster_arguments=words,
        simulation=simulation,
        gateways=arguments.gateways,
        **_address(arguments),
    )
    return stack.enter_context(console)


def _serve_several(
    arguments: argparse.Namespace, profiles: Mapping[str, Mapping[str, str]], stack: ExitStack
) -> Console:
    from ottla.console import serve_application
    from ottla.console.address import address_of
    from ottla.console.clusters import Clusters

    served = Clusters(clusters(arguments, profiles), allow_changes=arguments.allow_changes)
    stack.callback(served.close)
    address = address_of(**_address(arguments))
    console = serve_application(served.application(), served.end_streams, address)
    return stack.enter_context(console)


def _address(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of ``serve`` that are the address of the console."""
    return {
        "host": arguments.host,
        "port": arguments.port,
        "allow_hosts": arguments.allow_host,
        "token": not arguments.no_token,
        "tls_cert": arguments.tls_cert,
        "tls_key": arguments.tls_key,
    }


def _simulation(arguments: argparse.Namespace) -> Simulation:
    from ottla.console.simulation import Simulation

    return Simulation(arguments.simulate)


def _check_simulation(arguments: argparse.Namespace) -> None:
    """Check that no argument names a cluster if there is a simulation."""
    if arguments.simulate is None:
        return
    given = {
        "BOOTSTRAP": arguments.bootstrap,
        "-b": arguments.brokers,
        "-X": arguments.settings,
        "--config": arguments.config,
        "--profile": arguments.profile or arguments.profiles,
        "--all-profiles": arguments.all_profiles,
    }
    for name, value in given.items():
        if value:
            raise ConfigError(
                f"--simulate has a cluster of its own: leave out {name}, or leave out --simulate"
            )


def _wait(console: Console, seconds: float | None) -> None:
    until = None if seconds is None else time.monotonic() + seconds
    while until is None or time.monotonic() < until:
        if console.wait(timeout=_INTERVAL):
            return


def _open(console: Console, arguments: argparse.Namespace, stack: ExitStack) -> None:
    """Open a browser, or report how to open the address. ``stack`` closes when the command ends."""
    if arguments.no_browser:
        return
    if os.environ.get("SSH_CONNECTION"):
        _report(
            "this is a session over SSH: forward the port from your machine, and open the address "
            f"there: ssh -L {console.port}:127.0.0.1:{console.port} "
            f"{getpass.getuser()}@{socket.gethostname()}"
        )
        return
    # A text browser would take over the terminal.
    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not (has_display or sys.platform in {"darwin", "win32"}):
        _report("there is no display for a browser: open the address in one")
        return
    page = _redirection(console.url)
    stack.callback(page.unlink, missing_ok=True)
    if not webbrowser.open(page.as_uri()):
        _report("no browser could be started: open the address in one")


def _redirection(url: str) -> Path:
    """Write a page that redirects to an address, since all users can see a browser's arguments."""
    # Only this user can read the file.
    descriptor, name = tempfile.mkstemp(prefix="ottla-console-", suffix=".html")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(url)}">\n')
    return Path(name)


def _report(message: str) -> None:
    say(message)

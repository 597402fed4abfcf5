"""``ottla gateway``: give every broker of a cluster an address on one host.

Invariant: the command fails before it serves if a broker that the cluster names has no address.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any, TypedDict

from ottla import _core
from ottla._internal.text import counted
from ottla.cli.gateway_arguments import (
    add_arguments,
    allows_faults,
    broker_ports,
    limits_of,
    reachable,
    tls_of,
    users_of,
)
from ottla.cli.gateway_rules import rules_of
from ottla.cli.messages import say
from ottla.cli.options import configuration, servers_of
from ottla.cli.output import print_document
from ottla.cli.waiting import report_waiting
from ottla.errors import ConfigError, KafkaError

if sys.platform != "win32":
    import resource

# The longest delay, in seconds, before Ctrl-C takes effect.
_INTERVAL = 0.2
# The seconds that the last lines of the access log may take.
_LOG_TIMEOUT = 1.0


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
    add_arguments(commands).set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or for the given time."""
    config = configuration(arguments)
    host, port = arguments.listen
    ports = broker_ports(arguments)
    allow_faults = allows_faults(arguments)
    if allow_faults:
        say(
            "this gateway allows faults: whoever reaches the address of --status can make it lose, "
            "delay and falsify what clients send and receive",
            "warning",
        )
    _raise_descriptor_limit()
    with ExitStack() as shown:
        # From before it serves until it has ended, so that SIGHUP interrupts neither.
        reloading = shown.enter_context(_hang_ups())
        gateway = _core.Gateway(
            config,
            listen=(host, port),
            advertised_host=arguments.advertise or reachable(host),
            ports=ports,
            first_broker=arguments.first_broker or 0,
            server_name=arguments.sni,
            tls=tls_of(arguments),
            client_auth=arguments.client_ca is not None,
            users=users_of(arguments),
            allow_plaintext_passwords=arguments.allow_plaintext_passwords,
            reauthenticate=arguments.reauthenticate,
            limits=limits_of(arguments),
            rules=rules_of(arguments),
            allow_faults=allow_faults,
            keep_ended=arguments.access_log is not None,
        )
        # The log gets those connections, too, that end because the gateway does.
        log = None
        if arguments.access_log is not None:
            log = _core.GatewayAccessLog(gateway, arguments.access_log)
            shown.callback(_finish, log, arguments.access_log)
        status = None
        if arguments.status is not None:
            status_server = _core.GatewayStatus(gateway, *arguments.status)
            shown.callback(status_server.close)
            status = status_server.address
        # What is shown says that the gateway ends for as long as it drains.
        shown.callback(_close, gateway, arguments.drain)
        _wait_for_brokers(gateway, config, reloading, lambda: _reload(gateway, log, arguments))
        _print_addresses(gateway, status, as_json=arguments.json)
        end = None if arguments.seconds is None else time.monotonic() + arguments.seconds
        while end is None or time.monotonic() < end:
            time.sleep(_INTERVAL)
            if reloading.given.is_set():
                reloading.given.clear()
                _reload(gateway, log, arguments)
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
    """Drain the gateway; a signal in the meantime cuts off the connections that are left."""
    start = time.monotonic()
    try:
        _say_cut_off(gateway.close(drain), drain)
    except KeyboardInterrupt:
        _say_cut_off(gateway.close(0), round(time.monotonic() - start, 1))
        raise


def _finish(log: _core.GatewayAccessLog, path: Path) -> None:
    """Write the last lines, unless their reader is too slow."""
    if not log.flush(_LOG_TIMEOUT) and str(path) != "-":
        say(f"the last connections are missing in {path}: its reader is too slow", "warning")


def _say_cut_off(count: int, seconds: float) -> None:
    if count:
        were = "was" if count == 1 else "were"
        say(f"{counted(count, 'connection')} {were} cut off, after {seconds:g} s", "warning")


def _raise_descriptor_limit() -> None:
    """Allow as many open files as this process may: each connection needs two."""
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # macOS refuses a limit above its own, and then the present one stays.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _HangUp(BaseException):
    """SIGHUP has interrupted a wait."""


class _HangUps:
    """The SIGHUPs that have come.

    Attributes:
        given: set by each.
    """

    def __init__(self) -> None:
        self.given = Event()
        self._interrupts = False

    def handle(self, *_: object) -> None:
        self.given.set()
        if self._interrupts:
            raise _HangUp

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Raise ``_HangUp`` in the block when SIGHUP comes."""
        self._interrupts = True
        try:
            if self.given.is_set():
                raise _HangUp
            yield
        finally:
            self._interrupts = False


def _wait_for_brokers(
    gateway: _core.Gateway,
    config: dict[str, Any],
    hang_ups: _HangUps,
    reload: Callable[[], dict[str, Any] | None],
) -> None:
    """Wait until the gateway has an address for each broker of the cluster.

    SIGHUP reads the configuration again, which may be what is wrong.

    A cluster that does not accept the gateway itself, since the credentials are those of its
    clients, is no error: clients' responses will name the brokers.
    """
    waiting = True
    while waiting:
        try:
            with hang_ups.interrupting():
                _find_brokers(gateway, servers_of(config))
            waiting = False
        except _HangUp:
            hang_ups.given.clear()
            config = reload() or config
        except ConfigError:
            raise
        except KafkaError as error:
            say(f"the gateway knows no broker until a client has connected: {error}", "warning")
            waiting = False


def _find_brokers(gateway: _core.Gateway, servers: str) -> None:
    with report_waiting(lambda: f"a response from {servers}"):
        gateway.find_brokers()


@contextmanager
def _hang_ups() -> Iterator[_HangUps]:
    """See each SIGHUP, in place of ending; ``nohup`` ignores the signal as before."""
    given = _HangUps()
    number = getattr(signal, "SIGHUP", None)
    before = None if number is None else signal.getsignal(number)
    if number is None or before is signal.SIG_IGN or current_thread() is not main_thread():
        yield given
        return
    signal.signal(number, given.handle)
    try:
        yield given
    finally:
        signal.signal(number, before)


def _reload(
    gateway: _core.Gateway, log: _core.GatewayAccessLog | None, arguments: argparse.Namespace
) -> dict[str, Any] | None:
    """Read everything again that comes from files; what cannot be read stays as it is.

    Return the configuration if it was read.
    """
    config = None
    try:
        read = configuration(arguments)
        gateway.reload(read)
        config = read
    except KafkaError as error:
        say(
            f"nothing was changed, since the configuration cannot be read again: {error}; "
            "correct it and send SIGHUP again",
            "warning",
        )
    else:
        say("the configuration and all files were read again")
    try:
        if log is not None:
            log.reopen()
    except ConfigError as error:
        say(
            f"the access log goes on in the file that is open, since it cannot be opened again: "
            f"{error}; correct this and send SIGHUP again",
            "warning",
        )
    return config

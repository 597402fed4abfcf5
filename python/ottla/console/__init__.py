"""The console: a page in the browser that shows a cluster as a client sees it.

```python
with ottla.Producer("kafka1:9092") as producer, ottla.console.serve(producer) as console:
    print(console.url)
```

``ottla console`` serves one for any cluster. The server listens on loopback, and its pages need the
token of its URL. It requires ``pip install 'ottla[console]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ottla._core import check_schema_limits
from ottla._internal import extras
from ottla._internal.arguments import names, number
from ottla._internal.required_arguments import flag, instance
from ottla.console.address import Address, address_of
from ottla.console.gateways import gateway_urls

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ottla.console.server import Server
    from ottla.console.simulation import Simulation
    from ottla.schema import Registry

__all__ = ["Console", "serve"]


class Console:
    """A console that is being served: the result of ``serve``.

    Use it in a ``with`` block, or ``close()`` it. The client that it shows stays open.

    Attributes:
        url: the address to open in a browser, with the token.
        port: the port.
        token: the token; None if anyone who can reach the port may use the console.
    """

    def __init__(self, server: Server, address: Address) -> None:
        self._server = server
        self.port = server.port
        self.token = address.token
        self.url = address.url(self.port)

    def wait(self, *, timeout: float | None = None) -> bool:
        """Wait until the console is closed.

        Args:
            timeout: seconds. Default: no limit.

        Returns:
            Whether the console is closed.

        Raises:
            InternalError: the console has failed.
        """
        if timeout is not None:
            timeout = number("timeout", timeout, "seconds, such as 1.5")
        return self._server.wait(timeout)

    def close(self) -> None:
        """End the console. Closing a closed one has no effect."""
        self._server.close()

    def __enter__(self) -> Console:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        # The token is left out, since it is a secret.
        return f"Console(port={self.port})"


def serve(
    client: Any,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    allow_changes: bool = False,
    allow_hosts: Sequence[str] = (),
    token: bool = True,
    schema_registry: Registry | str | None = None,
    schema_limits: Mapping[str, Any] | None = None,
    cluster_arguments: Sequence[str] | None = None,
    simulation: Simulation | None = None,
    gateways: Sequence[str] = (),
    tls_cert: str | Path | None = None,
    tls_key: str | Path | None = None,
) -> Console:
    """Serve a console for a client that the application has.

    The console shows that client's own connections, metrics and group, and sends its requests over
    them. While no page is open, it only reads the client's events (``Client.events``).

    Args:
        client: a client, producer, consumer or share consumer, blocking or for asyncio.
        port: the port; 0 takes any free one.
        host: the address to listen at. Addresses other than loopback are reachable from other
            machines, without encryption unless there is a ``tls_cert``.
        allow_changes: whether pages may change the cluster: topics, records and groups.
        allow_hosts: further host names under which browsers may open it, such as a proxy's.
        token: whether the URL has a token, which every request needs. Without one, the address
            must be loopback.
        schema_registry: the registry with which the Messages page decodes keys and values, or its
            URL.
        schema_limits: the limits on what those schemas multiply, like the argument ``limits`` of a
            format. Default: the defaults of the configuration keys.
        cluster_arguments: the arguments that name the cluster, and its configuration, in the
            commands that pages offer to copy. Default: the addresses of its brokers.
        simulation: the simulation whose producer is ``client``. Its page becomes the first page.
        gateways: the addresses of the status of gateways (``ottla gateway --status``), such as
            ``http://127.0.0.1:19091``, whose clients a page shows.
        tls_cert: a PEM file with the certificate of an address in ``https``, followed by those of
            its issuers. It is read once. Default: no TLS.
        tls_key: a PEM file with its private key, not encrypted. Default: the certificate's file.

    Returns:
        The console, which a thread serves until it is closed.

    Raises:
        ConfigError: the port is taken, or an argument is wrong, such as a key that does not belong
            to the certificate.
        ClosedError: the client is closed.
        MissingExtraError: the extra ``console`` is not installed.
        TypeError: ``client`` or ``schema_registry`` is something else.
    """
    extras.require("the console", "console")
    address = address_of(
        host=host,
        port=port,
        allow_hosts=allow_hosts,
        token=token,
        tls_cert=tls_cert,
        tls_key=tls_key,
    )
    if cluster_arguments is not None:
        cluster_arguments = names("cluster_arguments", cluster_arguments)
    # The packages of the extra are imported here, not with ottla.
    from ottla.console.app import application
    from ottla.console.routes.context import context_of

    if simulation is not None:
        from ottla.console.simulation import Simulation

        instance("simulation", simulation, Simulation, "ottla.console.simulation.Simulation")
    if schema_limits is not None:
        check_schema_limits(schema_limits)
    context = context_of(
        client,
        allow_changes=flag("allow_changes", allow_changes),
        registry=_registry(schema_registry),
        limits=schema_limits,
        arguments=cluster_arguments,
        simulation=simulation,
        gateways=gateway_urls(gateways),
    )
    return serve_application(application(context), context.observer.close, address)


def serve_application(
    application: ASGIApp, end_streams: Callable[[], Coroutine[Any, Any, None]], address: Address
) -> Console:
    """Serve a console's application.

    Args:
        application: the application.
        end_streams: ends the streams of its pages. It is called in the application's event loop.
        address: the address.

    Raises:
        ConfigError: the port is taken.
    """
    from ottla.console.server import Server, listen

    server = Server(application, end_streams, listen(address.host, address.port), address)
    server.start()
    return Console(server, address)


def _registry(given: object) -> Registry | None:
    # This import also loads the schema decoders.
    from ottla.schema import Registry

    if given is None or isinstance(given, Registry):
        return given
    if isinstance(given, str):
        return Registry(given)
    kind = type(given).__name__
    raise TypeError(f"schema_registry is of type {kind}: expected ottla.schema.Registry, or a URL")

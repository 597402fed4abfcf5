"""The context that the routes share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ottla._internal.text import join
from ottla.console.confirmed import new_key
from ottla.console.group_survey import GroupSurvey
from ottla.console.observer import Observer
from ottla.console.simulation import Simulation
from ottla.console.source import Source
from ottla.console.survey import Survey
from ottla.console.workers import Workers
from ottla.errors import AuthorizationError
from ottla.schema import Registry

# The number of brokers named in the commands that pages offer to copy. One that responds is enough.
_ADDRESSES = 3


@dataclass(frozen=True)
class Context:
    """The client of a console, and the permissions and resources of its pages.

    Attributes:
        source: the client.
        observer: its observer.
        workers: the threads for blocking calls.
        survey: the requests about the whole cluster that pages share.
        groups: the groups and their lag during the session.
        allow_changes: whether pages may change the cluster.
        registry: the schema registry for the Messages page, if there is one.
        limits: the limits on what those schemas multiply; None for the defaults.
        arguments: the arguments of commands that name the cluster; None for its brokers.
        simulation: the simulation whose producer is the client, if there is one.
        gateways: the addresses of the status of gateways for the Clients page.
        name: the name of the cluster in a console of several; None if it is the only one.
        digest_key: the key of the digests of its plans.
    """

    source: Source
    observer: Observer
    workers: Workers
    survey: Survey
    groups: GroupSurvey
    allow_changes: bool
    registry: Registry | None = None
    limits: Mapping[str, object] | None = None
    arguments: Sequence[str] | None = None
    simulation: Simulation | None = None
    gateways: tuple[str, ...] = ()
    name: str | None = None
    digest_key: bytes = field(default_factory=new_key, repr=False)

    def cluster_arguments(self) -> Sequence[str]:
        """Return the arguments of a command that name the cluster."""
        if self.arguments is not None:
            return self.arguments
        topology = self.observer.topology
        brokers = [] if topology is None else topology.cluster.brokers.values()
        addresses = [join(broker.host, broker.port) for broker in brokers]
        return ["-b", ",".join(addresses[:_ADDRESSES])] if addresses else []

    def check_changes(self) -> None:
        """Check that pages may change the cluster.

        Raises:
            AuthorizationError: pages may not change the cluster.
        """
        if not self.allow_changes:
            raise AuthorizationError(
                "this console is read-only: start it with --allow-changes, or "
                "serve(..., allow_changes=True)"
            )


def context_of(
    client: Any,
    *,
    allow_changes: bool,
    registry: Registry | None = None,
    limits: Mapping[str, object] | None = None,
    arguments: Sequence[str] | None = None,
    simulation: Simulation | None = None,
    gateways: tuple[str, ...] = (),
    name: str | None = None,
) -> Context:
    """Return the context of a client: a client, producer, consumer or share consumer.

    The other arguments are attributes of the context.

    Raises:
        ClosedError: the client is closed.
        TypeError: it has another type.
    """
    source, workers = Source(client), Workers()
    observer = Observer(source)
    return Context(
        source,
        observer,
        workers,
        Survey(source, observer, workers),
        GroupSurvey(source.admin, workers),
        allow_changes,
        registry=registry,
        limits=limits,
        arguments=arguments,
        simulation=simulation,
        gateways=gateways,
        name=name,
    )

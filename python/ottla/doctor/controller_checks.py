"""The checks of KRaft controllers (KIP-919): at the given addresses, and at those they advertise.

The core checks an address up to ApiVersions, which shows that a controller listens there; an
``Admin`` over it does the rest: SASL, DescribeCluster, DescribeQuorum, and the id of the node.
Invariants: everything ends with the timeout, nothing is changed, and what controllers do not serve
(topics, groups, leaders) is not asked.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ottla.admin.cluster import ClusterDescription, describe_cluster
from ottla.admin.operation_call import Call, Request
from ottla.admin.quorum import QuorumDescription, describe_metadata_quorum
from ottla.doctor.cluster_facts import Broker, Quorum, Voter
from ottla.doctor.connection_facts import Address, BrokerView, Endpoint, Step, View
from ottla.doctor.controller_failures import identity_step, refused_steps, step_of
from ottla.doctor.facts import Facts
from ottla.doctor.progress import DiagnosisStep
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from ottla import Client
    from ottla.doctor.controller_addresses import ControllerAddresses

T = TypeVar("T")

DEFAULT_TIMEOUT = 20.0
# A step without a response takes at most this part of the timeout, as in the core.
_STEPS = 4
_BROKER_RESOURCE = 4
Examine = Callable[[Sequence[str], float], Facts]
OnStep = Callable[[DiagnosisStep], object]


class ControllerChecks:
    """The checks of one diagnosis.

    Args:
        given: the addresses and the configuration.
        examine: runs the core's checks of addresses within a timeout in seconds.
        timeout: seconds for everything.
        on_step: called as each check that the core does not make starts and ends.
    """

    def __init__(
        self,
        given: ControllerAddresses,
        examine: Examine,
        timeout: float,
        on_step: OnStep | None,
    ) -> None:
        self._given = given
        self._examine = examine
        self._started = time.monotonic()
        self._deadline = self._started + timeout
        self._step_timeout = timeout / _STEPS
        self._on_step = on_step
        # The seconds of the latest login at each controller, by id.
        self._logins: dict[int, float] = {}

    def run(self) -> Facts:
        """Run the checks."""
        facts = self._examine(self._given.addresses, self._left())
        protocol = facts.security_protocol
        servers = tuple(
            self._ask(server, protocol) if _is_controller(server) else refused_steps(server)
            for server in facts.bootstrap
        )
        facts = Facts(protocol, servers, has_controllers=True)
        working = [server for server in servers if server.working is not None]
        if working and self._left() > 0:
            facts = self._with_cluster(facts, [server.name for server in working])
        return dataclasses.replace(facts, seconds=time.monotonic() - self._started)

    def _left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _ask(self, server: Endpoint, protocol: str) -> Endpoint:
        """Authenticate at a controller, and ask it for the others."""
        target = f"bootstrap controller {server.name}"
        steps, cluster = self._operation([server.name], protocol, "Metadata", target, _describe)
        return _with_steps(server, steps, None if cluster is None else _view(cluster))

    def _operation(
        self,
        addresses: Sequence[str],
        protocol: str,
        check: str,
        target: str,
        operation: Callable[[Call], Awaitable[T]],
    ) -> tuple[list[Step], T | None]:
        """Run an operation over some controllers, and return the steps that it stands for."""

        async def run(call: Call) -> T:
            return await operation(call)

        from ottla.admin import Admin

        self._report(target, check, "started")
        started = time.monotonic()
        result: T | None = None
        logins: dict[int | None, float] = {}
        with self._given.client(addresses) as client:
            try:
                seconds = min(self._left(), self._step_timeout)
                with Admin(client) as admin:
                    result = admin._run("diagnosing controllers", seconds, run)  # noqa: SLF001
                last = Step(check, time.monotonic() - started)
            except KafkaError as error:
                last = step_of(error, check, time.monotonic() - started)
            if protocol.startswith("SASL"):
                logins = _logins(client)
        took = logins.pop(None, 0.0)
        last = dataclasses.replace(last, seconds=max(0.0, last.seconds - took))
        steps = [Step("SASL", took)] if protocol.startswith("SASL") else []
        steps = [last] if last.check == "SASL" else [*steps, last]
        self._logins |= {each: seconds for each, seconds in logins.items() if each is not None}
        state = "passed" if last.ok else "failed"
        self._report(target, check, state, last.message or "", last.seconds)
        return steps, result

    def _with_cluster(self, facts: Facts, working: list[str]) -> Facts:
        """Return the facts with the advertised addresses and the quorum."""
        views = (each.view for server in facts.bootstrap for each in server.addresses)
        view = next(each for each in views if each is not None)
        facts = dataclasses.replace(facts, cluster=view, quorum=self._quorum(facts, working))
        addresses = list(dict.fromkeys(each.address for each in view.brokers if each.port))
        known: dict[str, Endpoint] = {}
        if addresses and self._left() > 0:
            probed = self._examine(addresses, self._left())
            known = {server.name: server for server in probed.bootstrap}
        endpoints = {
            each.id: known.get(each.address) or _unusable(each, bool(addresses))
            for each in view.brokers
        }
        asked = [id_ for id_, endpoint in endpoints.items() if _is_controller(endpoint)]
        identities = self._identities(facts, working, asked)
        return dataclasses.replace(
            facts,
            brokers=tuple(
                Broker(
                    each.id,
                    each.rack,
                    0,
                    _with_steps(endpoints[each.id], *identities[each.id], node=each.id)
                    if each.id in identities
                    else refused_steps(endpoints[each.id]),
                )
                for each in view.brokers
            ),
        )

    def _quorum(self, facts: Facts, working: list[str]) -> Quorum | None:
        """Describe the quorum; None if the principal may not."""
        steps, quorum = self._operation(
            working,
            facts.security_protocol,
            "DescribeQuorum",
            "KRaft controllers",
            describe_metadata_quorum,
        )
        last = steps[-1]
        if last.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED.name:
            return None
        if quorum is None:
            return Quorum((last,))
        leader = quorum.leader_id if quorum.leader_id >= 0 else None
        return Quorum((last,), leader, _voters(quorum))

    def _identities(
        self, facts: Facts, working: list[str], asked: list[int]
    ) -> dict[int, tuple[list[Step], View | None]]:
        """Ask each controller, at its advertised address, for the id of its node."""
        if not asked:
            return {}
        protocol, view = facts.security_protocol, facts.cluster
        started = time.monotonic()

        async def ask(call: Call) -> list[object]:
            return list(await call.send([_node_id(each) for each in asked]))

        steps, responses = self._operation(
            working, protocol, "Identity", "advertised addresses of controllers", ask
        )
        if responses is None:
            return dict.fromkeys(asked, (steps, None))
        seconds = time.monotonic() - started
        found: dict[int, tuple[list[Step], View | None]] = {}
        for each, response in zip(asked, responses, strict=True):
            last = identity_step(each, response, seconds)
            took = self._logins.get(each, 0.0)
            sasl = [Step("SASL", took)] if protocol.startswith("SASL") else []
            if last is None:
                # The principal may not ask.
                found[each] = sasl, view
            elif last.check == "SASL":
                found[each] = [last], None
            else:
                found[each] = [*sasl, last], view if last.ok else None
        return found

    def _report(
        self, target: str, check: str, state: str, message: str = "", seconds: float = 0.0
    ) -> None:
        if self._on_step is not None:
            phase = {"DescribeQuorum": "Controllers", "Identity": "Advertised"}.get(check, check)
            values = {"phase": phase, "target": target, "check": check, "state": state}
            self._on_step(DiagnosisStep(**values, message=message, seconds=seconds))  # type: ignore[arg-type]


def _logins(client: Client) -> dict[int | None, float]:
    """Return the seconds of the logins by the id of the controller; under None the longest."""
    found: dict[int | None, float] = {}
    for status in client.connections():
        for phase, seconds in status.phases:
            if phase == "SASL":
                found[status.broker] = seconds
    return {**found, None: max(found.values(), default=0.0)}


async def _describe(call: Call) -> ClusterDescription:
    return await describe_cluster(call, fenced=False, authorized_operations=False)


def _node_id(controller: int) -> Request:
    resource = {
        "resource_type": _BROKER_RESOURCE,
        "resource_name": str(controller),
        "configuration_keys": ["node.id"],
    }
    return Request("DescribeConfigs", {"resources": [resource]}, to=controller)


def _is_controller(endpoint: Endpoint) -> bool:
    """Return whether a controller responds at one of the addresses."""
    return any(_stops_at_controller(address) for address in endpoint.addresses)


def _stops_at_controller(address: Address) -> bool:
    return address.failure is not None and address.failure.reason == "controller_port"


def _with_steps(
    endpoint: Endpoint, steps: list[Step], view: View | None, node: int | None = None
) -> Endpoint:
    """Return an endpoint with what was asked of its first address where a controller responds.

    Of its others it is known only that one responds. The node's id is kept if it was asked for.
    """
    is_known = any(step.check == "Identity" and step.ok for step in steps)
    node = node if is_known else None
    first = next(a for a in endpoint.addresses if _stops_at_controller(a))
    addresses: list[Address] = []
    for address in endpoint.addresses:
        passed = tuple(step for step in address.steps if step.ok)
        if address is first:
            addresses.append(
                dataclasses.replace(address, steps=(*passed, *steps), view=view, node=node)
            )
        elif _stops_at_controller(address):
            addresses.append(dataclasses.replace(address, steps=passed))
        else:
            addresses.append(address)
    return dataclasses.replace(endpoint, addresses=tuple(addresses))


def _unusable(controller: BrokerView, was_time: bool) -> Endpoint:
    reason, why = "out_of_time", "the timeout ended before the check"
    if was_time or not controller.port:
        reason, why = "unresolved", f"port {controller.port} is not usable"
    return Endpoint(controller.host, controller.port, Step("DNS", 0.0, reason, why))


def _view(cluster: ClusterDescription) -> View:
    found: Iterable[BrokerView] = (
        BrokerView(each.id, each.host, each.port, each.rack) for each in cluster.brokers
    )
    return View(cluster.cluster_id, tuple(found))


def _voters(quorum: QuorumDescription) -> tuple[Voter, ...]:
    """Return the voters, with how far they lag behind the leader."""
    times = {each.replica_id: each.last_caught_up_ms for each in quorum.voters}
    latest = times.get(quorum.leader_id)
    return tuple(
        Voter(id_, None if latest is None or at is None else max(0, latest - at))
        for id_, at in times.items()
    )

"""The doctor: checks each step of each connection, and reports failures with cause and fix.

``diagnose`` runs the checks in the core and those of ``thorough``, which return ``facts``;
``verdict``, a pure function, derives the findings from them; the ``Report`` has both, and
``render`` formats it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ottla import _core
from ottla._internal.required_arguments import function
from ottla.doctor.cluster_facts import (
    Broker,
    Coordinator,
    LogDir,
    PartitionCheck,
    Quorum,
    Topics,
    Voter,
)
from ottla.doctor.connection_facts import Address, BrokerView, Endpoint, Recovery, Step, Tls, View
from ottla.doctor.controller_addresses import CONTROLLERS, ControllerAddresses, controllers_in
from ottla.doctor.controller_checks import DEFAULT_TIMEOUT, ControllerChecks
from ottla.doctor.facts import Facts, facts_from
from ottla.doctor.findings import Finding
from ottla.doctor.progress import DiagnosisStep
from ottla.doctor.report import Report
from ottla.doctor.state_facts import (
    ClusterState,
    FencedBroker,
    Reassignment,
    ReplicaState,
    Responder,
    Throttle,
)
from ottla.doctor.thorough import connected_admin, examine_thoroughly
from ottla.doctor.token_subjects import with_token_subject
from ottla.doctor.verdict import judge
from ottla.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ottla import (
        AsyncClient,
        AsyncConsumer,
        AsyncProducer,
        AsyncShareConsumer,
        Client,
        Consumer,
        Producer,
        ShareConsumer,
    )
    from ottla.config_types import CommonConfig

    Diagnosable: TypeAlias = (
        Client
        | AsyncClient
        | Producer
        | AsyncProducer
        | Consumer[Any, Any]
        | AsyncConsumer[Any, Any]
        | ShareConsumer[Any, Any]
        | AsyncShareConsumer[Any, Any]
    )

__all__ = [
    "Address",
    "Broker",
    "BrokerView",
    "ClusterState",
    "Coordinator",
    "DiagnosisStep",
    "Endpoint",
    "Facts",
    "FencedBroker",
    "Finding",
    "LogDir",
    "PartitionCheck",
    "Quorum",
    "Reassignment",
    "Recovery",
    "ReplicaState",
    "Report",
    "Responder",
    "Step",
    "Throttle",
    "Tls",
    "Topics",
    "View",
    "Voter",
    "diagnose",
]


def diagnose(
    bootstrap: str | Sequence[str] | Mapping[str, Any] | Diagnosable | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    topic: str | None = None,
    group: str | None = None,
    timeout: float | None = None,
    on_step: Callable[[DiagnosisStep], object] | None = None,
    **kwargs: Unpack[CommonConfig],
) -> Report:
    """Check each step of a connection to every bootstrap server and broker.

    It writes nothing, creates no topic and joins no group. With ``bootstrap.controllers`` it checks
    KRaft controllers in the place of brokers: their connections, advertised addresses, ids and
    quorum; the report says what controllers do not serve.

    Args:
        bootstrap: addresses as ``host:port``, in one text or a list; or the configuration, as a
            mapping; or a client, a producer or a consumer, whose configuration is used, over
            connections of the diagnosis' own.
        config: configuration by Kafka's dotted names; keyword arguments are the same names with
            underscores, and win. See ``Client``.
        topic: a topic of which every partition is checked at its leader. Default: one partition of
            each leader.
        group: a group whose coordinator is checked.
        timeout: seconds for all checks together. A step without a response takes at most a quarter
            of it, and at most ``socket.connection.setup.timeout.ms``. Default: 20.
        on_step: called on this thread with a ``DiagnosisStep`` as each check starts and ends. The
            checks go on meanwhile. An exception that it raises ends the diagnosis.

    Returns:
        A report with the facts, and with the cause and the fix of each failure. Failures are not
        raised.

    Raises:
        ArgumentTypeError: ``on_step`` is no function.
        ConfigError: the configuration is invalid; or a topic or a group was given with
            ``bootstrap.controllers``, or a client of controllers in place of its configuration.
        ClosedError: the client is closed.
    """
    if on_step is not None:
        on_step = function("on_step", on_step)
    controllers = controllers_in(bootstrap, config, kwargs)
    if controllers is not None:
        if topic is not None or group is not None:
            raise ConfigError(
                "bootstrap.controllers: controllers know no topics and no groups; check a topic or "
                "a group with bootstrap.servers"
            )
        facts = _examine_controllers(controllers, timeout, on_step)
        return Report(facts, with_token_subject(judge(facts), bootstrap, config, kwargs))

    def examine(timeout: float | None) -> Facts:
        try:
            found = _core.examine(
                bootstrap,
                config,
                topic=topic,
                group=group,
                timeout=timeout,
                on_step=None
                if on_step is None
                else lambda values: on_step(DiagnosisStep(**values)),
                **kwargs,
            )
        except ConfigError as error:
            if not str(error).startswith(f"{CONTROLLERS}: the doctor"):
                raise
            raise ConfigError(
                f"{CONTROLLERS}: to check the controllers of a client, give its configuration in "
                "its place"
            ) from None
        return facts_from(found)

    facts = examine_thoroughly(examine, lambda: connected_admin(bootstrap, config, kwargs), timeout)
    findings = with_token_subject(judge(facts), bootstrap, config, kwargs)
    return Report(facts=facts, findings=findings)


def _examine_controllers(
    controllers: ControllerAddresses,
    timeout: float | None,
    on_step: Callable[[DiagnosisStep], object] | None,
) -> Facts:
    """Check controllers; the core checks their addresses as those of servers."""

    def report(values: dict[str, Any]) -> None:
        # The core ends with Metadata, which controllers do not serve.
        if on_step is not None and values["check"] != "Metadata":
            on_step(DiagnosisStep(**values))

    def examine(addresses: Sequence[str], left: float) -> Facts:
        found = _core.examine(
            list(addresses),
            controllers.config,
            timeout=left,
            on_step=None if on_step is None else report,
            **controllers.more,
        )
        return facts_from(found)

    seconds = DEFAULT_TIMEOUT if timeout is None else timeout
    return ControllerChecks(controllers, examine, seconds, on_step).run()

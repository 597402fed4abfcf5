"""The doctor: checks each step of each connection, and reports failures with cause and fix.

``diagnose`` runs the checks in the core and those of ``thorough``, which return ``facts``;
``verdict``, a pure function, derives the findings from them; the ``Report`` has both, and
``render`` formats it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ottla import _core
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

    It writes nothing, creates no topic and joins no group.

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
        ConfigError: the configuration is invalid.
        ClosedError: the client is closed.
    """

    def examine(timeout: float | None) -> Facts:
        found = _core.examine(
            bootstrap,
            config,
            topic=topic,
            group=group,
            timeout=timeout,
            on_step=None if on_step is None else lambda values: on_step(DiagnosisStep(**values)),
            **kwargs,
        )
        return facts_from(found)

    facts = examine_thoroughly(examine, lambda: connected_admin(bootstrap, config, kwargs), timeout)
    findings = with_token_subject(judge(facts), bootstrap, config, kwargs)
    return Report(facts=facts, findings=findings)

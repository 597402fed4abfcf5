"""The doctor: looks at every step of every connection, and says what is wrong and what to do.

``diagnose`` has the core look (``facts``), judges what was seen (``verdict``, a pure function), and
returns both as a ``Report``; ``picture`` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla import _core
from ottla.doctor.facts import (
    Address,
    Broker,
    BrokerView,
    Coordinator,
    Endpoint,
    Facts,
    PartitionCheck,
    Step,
    Tls,
    Topics,
    View,
    facts_from,
)
from ottla.doctor.findings import Finding
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ottla.config_types import CommonConfig

__all__ = [
    "Address",
    "Broker",
    "BrokerView",
    "Coordinator",
    "Endpoint",
    "Facts",
    "Finding",
    "PartitionCheck",
    "Report",
    "Step",
    "Tls",
    "Topics",
    "View",
    "diagnose",
]


def diagnose(
    bootstrap: str | Sequence[str] | Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    topic: str | None = None,
    group: str | None = None,
    timeout: float | None = None,
    **kwargs: Unpack[CommonConfig],
) -> Report:
    """Look at every bootstrap server and every broker as a client would meet it, step by step.

    Nothing is written, no topic is made, and no group is joined.

    Args:
        bootstrap: addresses as ``host:port``, in one text or a list; or a mapping in their place,
            which is the configuration.
        config: configuration by Kafka's dotted names; ``kwargs`` are the same with underscores.
        topic: a topic whose partitions are all asked of their leaders. Default: one partition of
            each leader.
        group: a group whose coordinator is looked for.
        timeout: seconds for everything together; a silent step takes a quarter of it at most, and
            no more than ``socket.connection.setup.timeout.ms``. Default: 20.

    Returns:
        What was seen and what it means. What is wrong with the cluster is not raised.

    Raises:
        ConfigError: the configuration makes no sense.
    """
    seen = _core.examine(bootstrap, config, topic=topic, group=group, timeout=timeout, **kwargs)
    facts = facts_from(seen)
    return Report(facts=facts, findings=judge(facts))

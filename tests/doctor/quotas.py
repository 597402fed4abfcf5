"""Quotas of real clusters."""

from __future__ import annotations

from tests.support.kafka_cluster import KafkaCluster

_COMMAND = "org.apache.kafka.tools.ConfigCommand"


def set_request_quota(cluster: KafkaCluster, percentage: str | None) -> None:
    """Set the share of a broker's threads that each client may use, in percent; None removes it."""
    if percentage is None:
        change = ["--delete-config", "request_percentage"]
    else:
        change = ["--add-config", f"request_percentage={percentage}"]
    everyone = ["--entity-type", "clients", "--entity-default"]
    cluster.run_tool(
        _COMMAND, "--bootstrap-server", cluster.bootstrap, "--alter", *everyone, *change
    )

"""The kinds and names of configuration resources as arguments, and where their values are set."""

from __future__ import annotations

from ottla.admin import ConfigResource

TYPES = {
    "topic": "topic",
    "broker": "broker",
    "broker-logger": "broker_logger",
    "group": "group",
    "client-metrics": "client_metrics",
}
"""The kinds of resources, by their names on the command line."""
ALL = "default"
"""The name that stands for the defaults of all brokers."""


def resource_of(kind: str, name: str) -> ConfigResource:
    """Return the resource that two arguments name."""
    if kind == "broker" and name == ALL:
        name = ""
    return ConfigResource(TYPES[kind], name)  # type: ignore[arg-type]  # a literal


def source_text(source: str | None) -> str:
    """Return for people where a value is set, from Kafka's name."""
    return (source or "").removesuffix("_CONFIG").replace("_", " ").lower()

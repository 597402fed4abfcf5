"""Executors of rules: those of an installed confluent-kafka, such as ``rules.cel``.

They work after ``ottla.compat.install("confluent_kafka")``, since they import the registry by that
name.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._original import original_directories

__path__ = [*__path__, *original_directories("rules")]

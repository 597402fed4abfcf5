"""Where the messages of ``confluent.type`` were before."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._original import original_directories

__path__ = [*__path__, *original_directories("confluent", "types")]

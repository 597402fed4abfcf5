"""``AIOProducer`` (``confluent_kafka.aio.producer``).

Invariant: it defines nothing itself.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka.aio.producer._AIOProducer import AIOProducer

__all__ = ["AIOProducer"]

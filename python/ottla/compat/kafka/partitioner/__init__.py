"""How a producer chooses the partition of a record."""

from ottla.compat.kafka.partitioner.abc import Partitioner
from ottla.compat.kafka.partitioner.default import DefaultPartitioner, murmur2
from ottla.compat.kafka.partitioner.sticky import StickyPartitioner

__all__ = ["DefaultPartitioner", "Partitioner", "StickyPartitioner", "murmur2"]

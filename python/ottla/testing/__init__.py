"""A Kafka cluster and a schema registry in this process, for tests, with injected faults.

```python
with ottla.testing.MockCluster(brokers=3) as cluster:
    cluster.create_topic("orders", partitions=6)
    producer = ottla.Producer(cluster.bootstrap)
```

With pytest, the fixtures ``mock_cluster`` and ``mock_registry`` provide new ones to each test.
"""

from __future__ import annotations

from ottla.testing.fault import Fault
from ottla.testing.gateway import Gateway
from ottla.testing.group import Group, GroupMember
from ottla.testing.mock_cluster import MockCluster
from ottla.testing.mock_registry import MockRegistry, RegistryFault, RegistryRequest
from ottla.testing.reassignments import Reassignment
from ottla.testing.telemetry import PushedMetric, PushedMetrics
from ottla.testing.transactions import TransactionState

__all__ = [
    "Fault",
    "Gateway",
    "Group",
    "GroupMember",
    "MockCluster",
    "MockRegistry",
    "PushedMetric",
    "PushedMetrics",
    "Reassignment",
    "RegistryFault",
    "RegistryRequest",
    "TransactionState",
]

"""The faults of a mock cluster or of a gateway: the methods of both."""

from __future__ import annotations

from typing import Generic, TypeVar

from ottla import _core
from ottla._internal.required_arguments import instance
from ottla.testing.fault import Fault

Core = TypeVar("Core", _core.MockCluster, _core.Gateway)


class FaultOperations(Generic[Core]):
    """Injects faults, and removes them."""

    _core: Core

    def inject(
        self,
        fault: Fault,
        *,
        api: str | None = None,
        broker: int | None = None,
        topic: str | None = None,
        partition: int | None = None,
        client_id: str | None = None,
        skip: int = 0,
        times: int | None = None,
    ) -> int:
        """Inject a fault into the requests that match all given conditions.

        The cluster behind a gateway may be a real one: the gateway misbehaves in its place. There,
        a request that an error refuses for some of its topics or partitions is refused whole; the
        others get an error after which clients send them again.

        Args:
            fault: the fault. A gateway has any but ``move_leader`` and ``omit_partition``, a mock
                cluster any but those of a link: ``cut``, ``slow`` and ``freeze``.
            api: the API's name, such as ``Produce``.
            broker: the broker's id; requests to a gateway's bootstrap address are to none.
            topic: the topic.
            partition: the partition.
            client_id: the client's ``client.id``.
            skip: the number of matching requests to leave unharmed first.
            times: the maximum number of requests to hit. Default: no limit. ``cut`` and ``slow``
                hit a connection once.

        Returns:
            The fault's id, for ``fault_hits``.

        Raises:
            ConfigError: there is no such API, or no such error code; or the mock cluster or the
                gateway has no such fault.
        """
        instance("fault", fault, Fault, "Fault.disconnect()")
        return self._core.inject(
            fault.reaction,
            api=api,
            broker=broker,
            topic=topic,
            partition=partition,
            client_id=client_id,
            skip=skip,
            times=times,
        )

    def fault_hits(self, fault: int) -> int:
        """Return the number of requests or connections that a fault has hit; 0 if it was removed.

        Args:
            fault: the fault's id, from ``inject``.
        """
        return self._core.fault_hits(fault)

    def remove_fault(self, fault: int) -> bool:
        """Remove a fault; return whether it was there.

        Args:
            fault: the fault's id, from ``inject``.
        """
        return self._core.remove_fault(fault)

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._core.clear_faults()

"""aiokafka's layer: a consumer that was neither stopped nor kept warns, and ends."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from ottla.compat.aiokafka import AIOKafkaConsumer
from ottla.compat.aiokafka.consumer._membership import Membership
from ottla.testing import MockCluster
from tests.support.forgotten import connections
from tests.support.loops import eventually, run


def test_no_task_keeps_a_forgotten_consumer_alive(mock_cluster: MockCluster, pairs: str) -> None:
    async def forget() -> None:
        reader = AIOKafkaConsumer(
            pairs, bootstrap_servers=mock_cluster.bootstrap, group_id="members"
        )
        await reader.start()
        membership: Membership | None = reader._membership
        assert membership is not None
        task = membership.poll._task
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        with pytest.warns(ResourceWarning, match="Unclosed AIOKafkaConsumer"):
            del reader
        assert task is not None
        await asyncio.wait([task])

    run(forget())


@pytest.mark.filterwarnings("ignore:Unclosed AIOKafkaConsumer:ResourceWarning")
@pytest.mark.parametrize("group", [None, "g"])
def test_a_forgotten_aiokafka_consumer_disconnects_while_its_loop_runs(
    mock_cluster: MockCluster, pairs: str, group: str | None
) -> None:
    """Its tasks end, and with them its connections and its core, without the garbage collector."""

    async def forget() -> None:
        reader = AIOKafkaConsumer(pairs, bootstrap_servers=mock_cluster.bootstrap, group_id=group)
        await reader.start()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        membership = reader._membership
        assert membership is not None
        core = weakref.ref(membership.engine)
        del membership, reader
        await eventually(lambda: connections(mock_cluster) == 0, timeout=20)

        def is_collected() -> bool:
            gc.collect()
            return core() is None

        await eventually(is_collected, timeout=20)

    gc.disable()
    try:
        run(forget())
    finally:
        gc.enable()

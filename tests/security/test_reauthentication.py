"""Sessions of six seconds (KIP-368): traffic continues on the same connections."""

from __future__ import annotations

import contextlib
import time
import uuid

import pytest

import ottla
from tests.security.conftest import REAUTHENTICATE_MS, SecuredKafka
from tests.security.test_listeners import MECHANISMS, credentials
from tests.support.arrow import values
from tests.support.sockets import established

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

SESSIONS = 2.2


def test_traffic_goes_on_through_reauthentication(secured: SecuredKafka) -> None:
    topics = {mechanism: f"sessions-{uuid.uuid4().hex[:8]}" for mechanism in MECHANISMS}
    bootstrap = secured.at("short_sessions")
    port = int(bootstrap.rpartition(":")[2])
    with contextlib.ExitStack() as opened:
        clients: dict[str, ottla.Client] = {}
        producers: dict[str, ottla.Producer] = {}
        for mechanism in MECHANISMS:
            secured.create_topic(topics[mechanism])
            config = {
                "security.protocol": "SASL_SSL",
                "linger.ms": 0,
                **secured.tls(),
                **credentials(mechanism),
            }
            client = opened.enter_context(ottla.Client(bootstrap, config, timeout=60))
            clients[mechanism] = client
            producers[mechanism] = opened.enter_context(ottla.Producer(client))
        deadline = time.monotonic() + SESSIONS * REAUTHENTICATE_MS / 1000
        sent, connections = 0, []
        while time.monotonic() < deadline:
            for mechanism, producer in producers.items():
                metadata = producer.send(topics[mechanism], str(sent), partition=0).result(
                    timeout=60
                )
                assert metadata.offset == sent, "a lost or duplicate record"
            sent += 1
            connections.append(sorted(established({port})))
            time.sleep(0.01)
        # The broker closes connections that do not reauthenticate: these are still the first ones.
        assert len(connections[0]) == len(MECHANISMS)
        assert all(now == connections[0] for now in connections)
        for mechanism, client in clients.items():
            assert [c.last_error for c in client.connections()] == [None]
            found = values(ottla.scan(topics[mechanism], client))
            assert found == [str(i).encode() for i in range(sent)]

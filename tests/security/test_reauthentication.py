"""Sessions that end after three seconds (KIP-368): traffic goes on over the same connections."""

from __future__ import annotations

import contextlib
import time

import pytest

import ottla
from tests.security.conftest import REAUTHENTICATE_MS, SecuredKafka
from tests.security.test_listeners import MECHANISMS, credentials
from tests.support.arrow import values
from tests.support.sockets import established

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

SESSIONS = 3.7


def test_traffic_goes_on_through_reauthentication(secured: SecuredKafka) -> None:
    bootstrap = secured.at("short_sessions")
    port = int(bootstrap.rpartition(":")[2])
    with contextlib.ExitStack() as opened:
        clients: dict[str, ottla.Client] = {}
        producers: dict[str, ottla.Producer] = {}
        for mechanism in MECHANISMS:
            secured.create_topic(f"sessions-{mechanism}")
            config = {
                "security.protocol": "SASL_SSL",
                "linger.ms": 0,
                **secured.tls(),
                **credentials(mechanism),
            }
            client = opened.enter_context(ottla.Client(bootstrap, config, timeout=20))
            clients[mechanism] = client
            producers[mechanism] = opened.enter_context(ottla.Producer(client))
        deadline = time.monotonic() + SESSIONS * REAUTHENTICATE_MS / 1000
        sent, connections = 0, []
        while time.monotonic() < deadline:
            for mechanism, producer in producers.items():
                told = producer.send(f"sessions-{mechanism}", str(sent), partition=0).result(10)
                assert told.offset == sent, "a record was lost, or written again"
            sent += 1
            connections.append(sorted(established({port})))
            time.sleep(0.01)
        # The broker closes connections that do not authenticate again; these are the first ones.
        assert len(connections[0]) == len(MECHANISMS)
        assert all(now == connections[0] for now in connections)
        for mechanism, client in clients.items():
            assert [c.last_error for c in client.connections()] == [None]
            found = values(ottla.scan(f"sessions-{mechanism}", client))
            assert found == [str(i).encode() for i in range(sent)]

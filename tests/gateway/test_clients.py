"""Each client writes and reads through a gateway, without a setting but its address.

It cannot reach a broker in another way, since the brokers' listener asks for a certificate that
only the gateway has.
"""

from __future__ import annotations

import uuid

import pytest

import ottla
from ottla.testing import Gateway
from tests.gateway.clients import CLIENTS, run
from tests.gateway.observing import Observer
from tests.gateway.records import EXPECTED, RECORDS, in_order, lines_of, records_of
from tests.support.arrow import read_rows
from tests.support.guarded_kafka import GuardedKafka


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_reads_the_bytes_that_it_wrote(
    guarded: GuardedKafka, gateway: Gateway, topic: str, name: str
) -> None:
    client, group = CLIENTS[name], f"group-{uuid.uuid4().hex[:8]}"
    with Observer(gateway) as observer:
        env = client.env()
        run(client.write(guarded, gateway.bootstrap, topic), lines_of(RECORDS), env)
        output = run(client.read(guarded, gateway.bootstrap, topic, group, len(RECORDS)), b"", env)
        found = [line for line in output.splitlines(keepends=True) if b"\t" in line]
        assert records_of(b"".join(found)) == EXPECTED
    # After the client has read: with acks=1, the last records become visible a moment later.
    rows = read_rows(ottla.scan(topic, guarded.bootstrap))
    assert in_order((row["key"], row["value"]) for row in rows) == EXPECTED
    connections = observer.connections()
    software = {each.software for each in connections}
    assert any((text or "").startswith(client.software) for text in software), software
    assert {each.broker for each in connections} >= {1, 2, 3}


def test_the_listener_of_the_brokers_is_closed_to_clients(guarded: GuardedKafka) -> None:
    with pytest.raises(ottla.errors.BootstrapError):
        ottla.Client(guarded.guarded).cluster(timeout=10)

"""Link-local addresses of IPv6, which one interface has: `[fe80::1%eth0]:9092`."""

from __future__ import annotations

import sys

import pytest

from tests.support.namespaces import Namespaces

pytestmark = [pytest.mark.cluster, pytest.mark.network]

# A mock broker behind a link-local address, which it also advertises.
PROGRAM = """
import socket, threading
import ottla
from ottla.testing import MockCluster

def pump(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)

def forward(port):
    server = socket.socket(socket.AF_INET6)
    server.bind(("fe80::1", 0, 0, socket.if_nametoindex("link0")))
    server.listen()
    def serve():
        while True:
            one, _ = server.accept()
            other = socket.create_connection(("127.0.0.1", port))
            for pair in ((one, other), (other, one)):
                threading.Thread(target=pump, args=pair, daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()[1]

with MockCluster(brokers=1) as cluster:
    cluster.create_topic("orders", 1)
    port = forward(int(cluster.bootstrap.rpartition(":")[2]))
    address = f"[fe80::1%link0]:{port}"
    cluster.advertise(1, address)
    for lookup in ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"):
        with ottla.Producer(address, client_dns_lookup=lookup, request_timeout_ms=5000) as producer:
            print(producer.send("orders", b"x").result(timeout=30).offset)
            print([each.address for each in producer.connections() if each.role == "data"])
    print(ottla.diagnose(address).ok)
"""


def test_a_zone_is_kept_through_to_the_socket() -> None:
    """Regression: the address was used without its zone, which the system refuses."""
    with Namespaces() as namespaces:
        host = namespaces.add("link")
        host.ip("link add link0 type veth peer name link1")
        host.ip("link set link1 up")
        host.ip("link set link0 up")
        host.ip("address add fe80::1/64 dev link0 nodad")
        done = host.run([sys.executable, "-c", PROGRAM], timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    *sent, judged = done.stdout.splitlines()
    assert [line for line in sent if line.isdigit()] == ["0", "1"]
    assert all("[fe80::1%link0]:" in line for line in sent if not line.isdigit())
    assert judged == "True"

"""Every public object has a repr that describes it and never raises."""

from __future__ import annotations

import re

import ottla
from ottla.testing import Fault, MockCluster


def test_everything_can_be_printed(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=2)
    client = ottla.Client(mock_cluster.bootstrap)
    producer = ottla.Producer(client)
    pending = producer.send("t", "x", partition=0)
    batch = producer.send_batch("t", ["y"], partitions=[1])
    producer.flush(timeout=10)
    metadata = pending.result()
    snapshot = client.cluster(["t"])
    scan = ottla.scan("t", client)
    offset = client.list_offsets({("t", 0): "latest"})["t", 0]
    shown = {
        client: r"Client\(bootstrap=.*, cluster_id=.*, brokers=3\)",
        producer: r"Producer\(bootstrap=.*, buffered_bytes=0\)",
        pending: r"Delivery\(t-0, offset=0\)",
        batch: r"BatchDelivery\(count=1, done=(true|True)\)",
        metadata: r"RecordMetadata\(topic=.t., partition=0, offset=0, timestamp=\d+\)",
        snapshot: r"Cluster\(cluster_id=.*, brokers=3, topics=1\)",
        snapshot.brokers[1]: r"Broker\(id=1, host=.127.0.0.1., port=\d+, rack=.rack-a.\)",
        snapshot.topics["t"]: r"Topic\(name=.t., partitions=2\)",
        snapshot.topics["t"].partitions[
            0
        ]: r"Partition\(index=0, leader=\d, replicas=\[.*\], isr=\[.*\]\)",
        scan: r"Scan\(columns=\[.key., .*\]\)",
        next(scan): r"RecordBatch\(num_rows=2, columns=\[.*\]\)",
        client.connections()[
            0
        ]: r"ConnectionStatus\(broker=\d, role=.data., address=.*, state=.connected.\)",
        mock_cluster: r"MockCluster\(bootstrap=.*\)",
        Fault.move_leader(2): r"Fault.move_leader\(2\)",
    }
    for thing, pattern in shown.items():
        assert re.fullmatch(pattern, repr(thing)), repr(thing)
    assert re.fullmatch(
        r"OffsetAndTimestamp\(offset=1, timestamp=None, leader_epoch=\d+\)", repr(offset)
    )
    producer.close()
    client.close()
    mock_cluster.close()
    for thing in shown:
        assert repr(thing)
    assert repr(client).endswith("closed)")
    assert repr(mock_cluster) == "MockCluster(closed)"

"""The metrics of clients as Prometheus reads them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import ottla
from ottla import prometheus
from ottla._internal.exposition import Family, exposition
from ottla.testing import MockCluster


def parse(text: str) -> dict[str, Any]:
    """Return the metrics by name; a counter's name has no suffix."""
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families), "a metric occurs twice"
    return {family.name: family for family in families}


def values(family: Any, *labels: str) -> dict[tuple[str, ...], float]:
    """Return the values of a metric by some of its labels."""
    return {
        tuple(sample.labels[name] for name in labels): sample.value for sample in family.samples
    }


def test_several_clients(mock_cluster: MockCluster, single: str) -> None:
    with (
        ottla.Producer(mock_cluster.bootstrap) as orders,
        ottla.Producer(mock_cluster.bootstrap) as audit,
        ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as reader,
        ottla.Client(mock_cluster.bootstrap) as client,
    ):
        orders.send(single, b"a").result(timeout=30)
        reader.assign([(single, 0)])
        while not reader.poll(timeout=1):
            pass
        name = 'a "quoted" \\ name\nof two lines'
        text = prometheus.render({"orders": orders, name: audit, "reader": reader, "c": client})
        families = parse(text)
        sent = families["kafka_producer_record_send"]
        assert (sent.type, sent.documentation) == ("counter", "Records sent.")
        assert values(sent, "client_id") == {("orders",): 1, (name,): 0}
        by_topic = families["kafka_producer_topic_record_send"]
        assert values(by_topic, "client_id", "topic") == {("orders", single): 1}
        lag = families["kafka_consumer_records_lag"]
        assert values(lag, "client_id", "topic", "partition") == {("reader", single, "0"): 0}
        connections = families["kafka_client_connection_count"]
        assert connections.type == "gauge"
        connected = families["kafka_consumer_node_connected"]
        assert 1.0 in values(connected, "node_id", "role").values()
        assert families["kafka_client_node_connected"].documentation
        assert " nan" not in text
        for family in families.values():
            assert family.documentation != family.name, "each metric has a description"


def test_every_metric_is_described(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, b"a").result(timeout=30)
        text = prometheus.render({"p": producer})
        measured = [
            name for name, value in producer.metrics().items() if not math.isnan(float(str(value)))
        ]
    described = {
        line.split()[2]: line.split(maxsplit=3)[3] for line in text.splitlines() if "# HELP" in line
    }
    for name in measured:
        assert described[f"kafka_producer_{name.replace('-', '_')}"].endswith(".")


def test_closed_clients_are_left_out(mock_cluster: MockCluster) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client:
        assert prometheus.render({"c": client})
    assert parse(prometheus.render({"c": client})) == {}
    assert prometheus.render({}) == ""


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 1e300, 3.0])
def test_numbers(value: float) -> None:
    family = Family("text", "gauge", [({"a": "b"}, value)])
    [parsed] = text_string_to_metric_families(exposition({"name": family}))
    assert [sample.value for sample in parsed.samples] == [value]

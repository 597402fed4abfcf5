"""The console's Clients page: who is connected through the gateways, and what happened to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from playwright.sync_api import Browser, expect

import ottla
from ottla._core import GatewayStatus
from ottla.console import Console, serve
from ottla.errors import ConfigError
from ottla.testing import Fault, Gateway, MockCluster
from tests.mock.test_console_gateways import status
from tests.support.browser import NARROW, WIDE, assert_accessible, clipped, open_page
from tests.support.console import request
from tests.support.scripted_servers import scripted_server


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a console wait for gateways on a busy machine, as a late one would be a problem."""
    monkeypatch.setattr("ottla.console.gateways._TIMEOUT", 60.0)


@pytest.fixture
def two_gateways(mock_cluster: MockCluster) -> Iterator[tuple[Console, ottla.Producer]]:
    """A console of two gateways, and a client of the first that has met errors."""
    mock_cluster.create_topic("orders", partitions=1)
    with ExitStack() as stack:
        both = [stack.enter_context(Gateway(mock_cluster.bootstrap)) for _ in range(2)]
        servers = [
            stack.enter_context(closing(GatewayStatus(each._core, "127.0.0.1", 0))) for each in both
        ]
        mock_cluster.inject(Fault.error("NOT_ENOUGH_REPLICAS"), api="Produce", times=2)
        billing = {"client.id": "billing-3"}
        producer = stack.enter_context(ottla.Producer(both[0].bootstrap, config=billing))
        producer.send("orders", value=b"1").result()
        audit = {"client.id": "audit"}
        other = stack.enter_context(ottla.Producer(both[1].bootstrap, config=audit))
        other.send("orders", value=b"2").result()
        direct = stack.enter_context(ottla.Client(mock_cluster.bootstrap))
        urls = [f"http://{server.address}" for server in servers]
        yield stack.enter_context(serve(direct, gateways=urls)), other


def test_connections_of_all_gateways_are_found(
    two_gateways: tuple[Console, ottla.Producer], mock_cluster: MockCluster
) -> None:
    console, _ = two_gateways
    assert request(console, "/api/about").json["has_gateways"]
    page = request(console, "/api/clients").json
    assert (page["total"], page["problems"]) == (page["all"], [])
    assert {row["client_id"] for row in page["rows"]} == {"billing-3", "audit"}
    first = page["rows"][0]
    assert (first["client_id"], first["errors"]) == ("billing-3", {"NOT_ENOUGH_REPLICAS": 2})
    assert first["broker"] == mock_cluster.leader("orders", 0)
    assert {event["kind"] for event in page["events"]} == {"broker_joined"}
    found = request(console, "/api/clients?q=NOT_ENOUGH").json
    assert [row["client_id"] for row in found["rows"]] == ["billing-3"]
    assert (found["total"], found["all"]) == (1, page["all"])


def test_a_gateway_that_is_gone_hides_nothing_of_the_others(
    client: ottla.Client, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("orders", partitions=1)
    with (
        Gateway(mock_cluster.bootstrap) as gateway,
        closing(GatewayStatus(gateway._core, "127.0.0.1", 0)) as served,
        scripted_server(status(b"[1,2,3]")) as port,
        ottla.Producer(gateway.bootstrap, config={"client.id": "audit"}) as audit,
    ):
        audit.send("orders", value=b"1").result()
        urls = [f"http://{served.address}", "http://127.0.0.1:1", f"http://127.0.0.1:{port}"]
        with serve(client, gateways=urls) as console:
            page = request(console, "/api/clients").json
    assert {row["client_id"] for row in page["rows"]} == {"audit"}
    assert [problem.split(": ")[0] for problem in page["problems"]] == urls[1:]
    assert "this is no status of a gateway, or one of another" in page["problems"][1]


@pytest.mark.parametrize(
    "url", ["127.0.0.1:19091", "ftp://h:1", "http://", "http://h:0", "http://user:secret@h:1"]
)
def test_what_is_no_address_of_a_status_is_an_error(client: ottla.Client, url: str) -> None:
    with pytest.raises(ConfigError, match="expected the address of a gateway's --status") as raised:
        serve(client, gateways=[url])
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_page(
    browser: Browser, two_gateways: tuple[Console, ottla.Producer], width: int
) -> None:
    console, _ = two_gateways
    with open_page(browser, console.url, width=width) as page:
        page.get_by_role("link", name="Clients").click()
        rows = page.locator("tbody tr")
        expect(rows.first).to_contain_text("billing-3")
        expect(rows.first).to_contain_text("NOT_ENOUGH_REPLICAS 2")
        expect(page.locator(".events li").first).to_contain_text("joined the cluster")
        assert_accessible(page)
        assert clipped(page) == []
        page.get_by_label("Find").fill("audit")
        expect(rows.first).to_contain_text("audit")
        expect(page.locator(".controls .found")).to_contain_text(" of ")

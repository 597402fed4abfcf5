"""The Doctor page in a real browser: its chart, and where it ends for broken set-ups."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import ottla
from ottla.console import serve
from ottla.testing import Fault, MockCluster
from tests.support.browser import go, open_page
from tests.support.ports import free_ports


def test_the_doctor_lights_up_its_chart(page: Page, mock_cluster: MockCluster) -> None:
    go(page, "doctor")
    expect(page.locator(".box")).to_have_count(10)
    page.get_by_role("button", name="Run the diagnosis").click()
    expect(page.locator(".verdict")).to_contain_text("No errors")
    for phase in ["DNS", "TCP", "ApiVersions", "Metadata", "Advertised", "Leaders"]:
        assert page.locator(f"[data-box='{phase}']").get_attribute("data-box-state") == "passed"
    assert page.locator("[data-box='TLS']").get_attribute("data-box-state") == "not_used"
    mock_cluster.advertise(2, "127.0.0.1:1")
    page.get_by_role("button", name="Run the diagnosis").click()
    end = page.locator(".box.end")
    expect(end).to_have_attribute("data-box", "Advertised")
    expect(end).to_contain_text("Cause:")
    expect(end).to_contain_text("Remedy:")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as HTML").click()
    assert download.value.suggested_filename == "ottla-doctor.html"


class _NotKafka:
    """A server that responds as HTTP servers do."""

    def __init__(self) -> None:
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _HttpHandler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self.address

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _HttpHandler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(1024)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_username": "alice",
    "sasl_password": "wrong",
}


@contextmanager
def broken_setup(box: str, mock_cluster: MockCluster) -> Iterator[tuple[str, dict[str, Any]]]:
    """A bootstrap address and configuration with which a diagnosis ends at a box."""
    if box == "DNS":
        yield "no-such-host.invalid:9092", {}
    elif box == "TCP":
        yield f"127.0.0.1:{free_ports(1)[0]}", {}
    elif box == "TLS":
        yield mock_cluster.bootstrap, {"security_protocol": "SSL"}
    elif box == "ApiVersions":
        with _NotKafka() as address:
            yield address, {}
    elif box == "SASL":
        with MockCluster(users={"alice": "right"}) as secured:
            yield secured.bootstrap, SASL
    elif box == "Advertised":
        mock_cluster.advertise(2, f"127.0.0.1:{free_ports(1)[0]}")
        yield mock_cluster.bootstrap, {}
    else:
        mock_cluster.create_topic("single", partitions=1)
        mock_cluster.inject(Fault.error("KAFKA_STORAGE_ERROR"), api="ListOffsets")
        yield mock_cluster.bootstrap, {}


@pytest.mark.parametrize(
    "box", ["DNS", "TCP", "TLS", "ApiVersions", "SASL", "Advertised", "Leaders"]
)
def test_the_chart_ends_at_the_broken_box(
    browser: Browser, mock_cluster: MockCluster, box: str
) -> None:
    with (
        broken_setup(box, mock_cluster) as (bootstrap, config),
        ottla.Client(bootstrap, connect=False, **config) as client,
        serve(client) as console,
        open_page(browser, console.url) as page,
    ):
        go(page, "doctor")
        page.get_by_role("button", name="Run the diagnosis").click()
        end = page.locator(".box.end")
        expect(end).to_have_attribute("data-box", box)
        expect(end).to_contain_text("Cause:")
        expect(end).to_contain_text("Remedy:")
        expect(page.locator(".verdict")).to_contain_text(f"ends at {box}")
        # The connections say the same.
        if box not in {"Advertised", "Leaders"}:
            go(page, "connections")
            failed = page.locator(f"[data-phase='{box}'][data-phase-state='failed']").first
            expect(failed).to_be_visible(timeout=15_000)

"""A console of several clusters, from profiles: each by itself, and none because of another."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from ottla.cli import build_parser
from ottla.console import Console, observer
from ottla.console.command import serve_clusters
from ottla.errors import ConfigError
from ottla.testing import MockCluster
from tests.support.browser import NARROW, WIDE, assert_accessible, clipped, go, open_page
from tests.support.command import ottla_here
from tests.support.console import Stream, post, request
from tests.support.waiting import wait_until

ODD = "staging/eu west ü?#%"
SECRET = "correct horse battery"
BASE = f"/cluster/{quote(ODD, safe='')}"


@pytest.fixture
def other() -> Iterator[MockCluster]:
    """A second cluster, whose topics have the names of the first one's."""
    with MockCluster() as cluster:
        cluster.create_topic("orders", partitions=6)
        yield cluster


@pytest.fixture
def profiles(
    mock_cluster: MockCluster, other: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Profiles of both clusters, of one that is down, and of one that is wrong."""
    file = tmp_path / "profiles.ini"
    file.write_text(
        f"""
[prod]
bootstrap.servers = {mock_cluster.bootstrap}
[{ODD}]
bootstrap.servers = {other.bootstrap}
[down]
bootstrap.servers = 127.0.0.1:1
security.protocol = SASL_PLAINTEXT
sasl.mechanism = PLAIN
sasl.username = alice
sasl.password = {SECRET}
[wrong]
bootstrap.servers = {mock_cluster.bootstrap}
security.protocol = SSL
ssl.ca.location = {tmp_path / "ca.pem"}
sasl.password = {SECRET}
[empty]
client.id = nobody
""",
        encoding="utf-8",
    )
    file.chmod(0o600)
    monkeypatch.setenv("OTTLA_PROFILES", str(file))
    # A cluster that is down is a problem soon.
    monkeypatch.setattr(observer, "_REFRESH_TIMEOUT", 0.3)
    return file


@contextmanager
def serving(*arguments: str) -> Iterator[Console]:
    """Serve what the command serves."""
    with ExitStack() as stack:
        parsed = build_parser("console").parse_args(["console", *arguments])
        yield serve_clusters(parsed, stack)


@pytest.fixture
def console(profiles: Path) -> Iterator[Console]:
    """A console of all profiles that allows changes."""
    with serving("--all-profiles", "--allow-changes") as console:
        yield console


def states(console: Console) -> dict[str, str]:
    return {each["name"]: each["state"] for each in listed(console)}


def listed(console: Console) -> list[dict[str, str]]:
    found: list[dict[str, str]] = request(console, "/api/clusters").json["clusters"]
    return found


def problem_of(console: Console, path: str) -> str:
    """Return the next problem that the stream of a cluster reports."""
    with Stream(console, f"{path}/api/stream") as stream:
        for kind, value in stream:
            if kind == "problem" and value is not None:
                message: str = value["message"]
                return message
    raise AssertionError("the stream has ended")


def test_each_cluster_has_its_own_pages_and_client(
    console: Console, mock_cluster: MockCluster, orders: str
) -> None:
    topic = "/api/topic?name=orders"
    assert request(console, f"/cluster/prod{topic}").json["total"] == 6
    assert set(states(console).values()) == {"reachable", "not_opened"}
    assert request(console, f"{BASE}{topic}").json["total"] == 6
    ids = []
    for base in ("/cluster/prod", BASE):
        with Stream(console, f"{base}/api/stream") as stream:
            ids.append(stream.wait_for("cluster")["cluster_id"])
        page = request(console, f"{base}/")
        assert b"/static/console.js" in page.body
    assert len(set(ids)) == 2
    assert request(console, f"{BASE}/api/about").json["cluster"] == ODD
    # Only the first cluster has groups and records.
    assert request(console, "/cluster/prod/api/groups").json["total"] == 1
    assert request(console, f"{BASE}/api/groups").json["total"] == 0
    command = request(console, f"{BASE}/api/messages?topic=orders").json["command"]
    assert command.startswith(f"ottla consume --profile '{ODD}' --topic=orders ")


def test_a_cluster_that_nobody_opens_gets_no_connection(
    console: Console, mock_cluster: MockCluster, other: MockCluster
) -> None:
    assert b"clusters.js" in request(console, "/").body
    rows = listed(console)
    assert [(row["name"], row["state"]) for row in rows] == [
        (name, "not_opened") for name in ("prod", ODD, "down", "wrong", "empty")
    ]
    assert [row["path"] for row in rows][:2] == ["/cluster/prod/", f"{BASE}/"]
    assert rows[0]["servers"] == mock_cluster.bootstrap
    request(console, "/cluster/prod/api/topics")
    assert mock_cluster.request_count("Metadata") > 0
    assert other.request_count("ApiVersions") == 0


def test_a_cluster_with_a_problem_says_so_and_hinders_no_other(
    console: Console, orders: str, profiles: Path
) -> None:
    reasons = {"down": "no metadata", "wrong": "ca.pem", "empty": "profile empty has no bootstrap"}
    for name, reason in reasons.items():
        page = request(console, f"/cluster/{name}/")
        assert (page.status, b"console.js" in page.body) == (200, True)
        assert reason in problem_of(console, f"/cluster/{name}")
        assert request(console, f"/cluster/{name}/api/about").json["cluster"] == name
        row = next(row for row in listed(console) if row["name"] == name)
        assert row["state"] == "problem"
        assert reason in row["problem"]
    for name in ("wrong", "empty"):
        refused = request(console, f"/cluster/{name}/api/topics")
        assert (refused.status, reasons[name] in refused.json["message"]) == (503, True)
    assert request(console, "/cluster/prod/api/topics").json["total"] == 1


def test_a_cluster_that_could_not_be_opened_is_tried_again_with_its_page(
    console: Console, profiles: Path
) -> None:
    assert "ca.pem" in problem_of(console, "/cluster/wrong")
    with Stream(console, "/cluster/wrong/api/stream") as stream:
        assert "ca.pem" in stream.wait_for("problem")["message"]
        import certifi

        (profiles.parent / "ca.pem").write_text(Path(certifi.where()).read_text(encoding="utf-8"))
        # Its pages ask for data all the time; that does not try again.
        assert request(console, "/cluster/wrong/api/topics").status == 503
        request(console, "/cluster/wrong/")
        # The stream ends, so that pages connect to the new one.
        assert list(stream) == []
    assert states(console)["wrong"] == "connecting"


def test_a_plan_of_one_cluster_is_not_carried_out_on_another(
    console: Console, mock_cluster: MockCluster, other: MockCluster, orders: str
) -> None:
    """Regression: the digests of both clusters were the same."""
    bodies: list[tuple[str, dict[str, object]]] = [
        ("topics/delete", {"topic": "orders", "typed": "orders"}),
        ("topics/create", {"topic": "new", "partitions": 1}),
        ("records/produce", {"topic": "orders", "id": "1", "key": "k", "value": "v"}),
        ("users/password", {"user": "alice", "password": "x"}),
    ]
    for noun, body in bodies:
        path = f"/api/change/{noun}"
        digest = post(console, f"/cluster/prod{path}", body).json["digest"]
        confirmed = {**body, "dry_run": False, "digest": digest}
        refused = post(console, f"{BASE}{path}", confirmed)
        assert refused.status == 409, noun
        assert "the plan has changed" in refused.json["message"]
    mock_cluster.commit("new", "orders", 0, 1)
    other.commit("new", "orders", 0, 1)
    reset = {"group": "new", "to": "earliest", "topics": "orders:0"}
    path = "/api/change/groups/reset"
    digest = post(console, f"/cluster/prod{path}", reset).json["digest"]
    confirmed = {**reset, "dry_run": False, "digest": digest}
    assert post(console, f"{BASE}{path}", confirmed).status == 409
    assert other.committed("new") == {("orders", 0): 1}
    assert post(console, f"/cluster/prod{path}", confirmed).status == 200
    assert mock_cluster.committed("new") == {("orders", 0): 0}


def test_every_cluster_needs_the_token_and_the_permission(profiles: Path, orders: str) -> None:
    with serving("--profile", "prod", "--profile", ODD) as console:
        paths = ["/", "/api/clusters", "/cluster/prod/", f"{BASE}/api/topics", "/cluster/nobody/"]
        evil = {"Origin": "http://evil.example"}
        for path in paths:
            assert request(console, path, token=False).status == 401, path
            assert request(console, path, headers=evil).status == 403, path
        # Such requests open nothing.
        assert states(console) == {"prod": "not_opened", ODD: "not_opened"}
        for path in paths:
            assert "content-security-policy" in request(console, path).headers, path
        for base in ("/cluster/prod", BASE):
            refused = post(console, f"{base}/api/change/topics/create", {"topic": "new"})
            assert (refused.status, "--allow-changes" in refused.json["message"]) == (403, True)


def test_addresses_that_are_no_cluster(console: Console) -> None:
    for path in ["/cluster/nobody/", "/cluster/", "/cluster//", "/cluster/prod/nowhere", "/api/x"]:
        assert request(console, path).status == 404, path
    assert request(console, f"/cluster/{ODD.partition('/')[0]}/").status == 404
    assert request(console, "/cluster/%ff/").status == 400
    moved = request(console, BASE)
    assert (moved.status, moved.headers["location"]) == (307, f"{BASE}/")
    assert request(console, "/cluster/prod/../../etc/passwd").status == 404


def test_secrets_of_a_profile_never_reach_a_page(
    console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    shown = ""
    for name in ("down", "wrong"):
        shown += problem_of(console, f"/cluster/{name}")
        for path in ("/", "/api/about"):
            shown += request(console, f"/cluster/{name}{path}").body.decode()
    shown += request(console, "/cluster/wrong/api/topics").body.decode()
    shown += request(console, "/api/clusters").body.decode() + repr(console) + caplog.text
    assert "no metadata" in shown
    assert SECRET not in shown


def test_closing_ends_the_streams_and_clients_of_all_clusters(
    profiles: Path, mock_cluster: MockCluster, other: MockCluster
) -> None:
    before = set(threading.enumerate())
    with ExitStack() as streams:
        with serving("--all-profiles") as console:
            opened = []
            for base, kind in [
                ("/cluster/prod", "cluster"),
                (BASE, "cluster"),
                ("/cluster/down", "problem"),
                ("/cluster/wrong", "problem"),
            ]:
                stream = streams.enter_context(Stream(console, f"{base}/api/stream"))
                stream.wait_for(kind)
                opened.append(stream)
            started = time.monotonic()
        assert time.monotonic() - started < 10
        # They end; they do not break.
        for stream in opened:
            list(stream)
    left = {each.name for each in set(threading.enumerate()) - before}
    assert not {name for name in left if name.startswith("ottla-console-doctor")}
    for cluster in (mock_cluster, other):
        wait_until(_has_no_connections(cluster))


def _has_no_connections(cluster: MockCluster) -> Callable[[], bool]:
    return lambda: not any(map(cluster.connections, cluster.brokers))


def test_one_profile_is_served_as_ever(profiles: Path, orders: str) -> None:
    for arguments in (["--profile", "prod"], ["--profile", "prod", "--profile", "prod"]):
        with serving(*arguments) as console:
            assert request(console, "/api/topics").json["total"] == 1
            assert request(console, "/api/about").json["cluster"] is None
            assert request(console, "/api/clusters").status == 404
    profiles.write_text(profiles.read_text(encoding="utf-8").partition("[staging")[0])
    with serving("--all-profiles") as console:
        assert request(console, "/api/topics").json["total"] == 1
        command = request(console, "/api/messages?topic=orders").json["command"]
        assert command.startswith("ottla consume --profile prod")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two profiles, of no clusters that run."""
    file = tmp_path / "profiles.ini"
    names = ("prod", "down")
    sections = [f"[{name}]\nbootstrap.servers = 127.0.0.1:1\n" for name in names]
    file.write_text("".join(sections), encoding="utf-8")
    monkeypatch.setenv("OTTLA_PROFILES", str(file))
    return file


@pytest.mark.usefixtures("file")
def test_the_command_prints_one_address() -> None:
    for several in (["--all-profiles"], ["--profile", "prod", "--profile", "down"]):
        found = ottla_here("console", "--for", "0.1", "--no-browser", *several)
        assert (found.code, found.out.count(b"/?token=")) == (0, 1), found.err


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--profile", "prod", "--profile", "nobody"], "profile nobody does not exist"),
        (["--all-profiles", "--profile", "prod"], "leave out --profile"),
        (["--all-profiles", "kafka:9092"], "BOOTSTRAP: each of the profiles names its own"),
        (["--all-profiles", "-b", "kafka:9092"], "-b: each of the profiles"),
        (["--all-profiles", "-X", "metadata.broker.list=k:9"], "bootstrap.servers: each of the"),
        (["--all-profiles", "--schema-registry", "http://r"], "--schema-registry: each of the"),
        (["--all-profiles", "-X", "schema.registry.url=http://r"], "schema.registry.url: each"),
        (["--all-profiles", "--simulate"], "leave out --all-profiles"),
        (["--profile", "prod", "--profile", "down", "--simulate"], "leave out --profile"),
        (["--all-profiles", "--port", "70000"], "port: expected"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    found = ottla_here("console", "--for", "1", "--no-browser", *arguments)
    assert (found.code, found.out) == (2, b"")
    assert message in found.err


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_browsers_remove_from_addresses_is_refused(file: Path, name: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(f"[{name}]\nbootstrap.servers = localhost:9092\n")
    with (
        pytest.raises(ConfigError, match="give its profile another name"),
        serving("--all-profiles"),
    ):
        pass
    file.write_text("", encoding="utf-8")
    with (
        pytest.raises(ConfigError, match="is missing or has no profiles"),
        serving("--all-profiles"),
    ):
        pass


def test_pages_switch_between_clusters(browser: Browser, console: Console, orders: str) -> None:
    def check(name: str) -> None:
        for width in (NARROW, WIDE):
            page.set_viewport_size({"width": width, "height": 900})
            assert_accessible(page)
            assert clipped(page) == []
            if directory := os.environ.get("OTTLA_SCREENSHOTS"):
                page.screenshot(path=Path(directory) / f"{name}-{width}.png", full_page=True)

    with open_page(browser, console.url) as page:
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(5)
        expect(rows.first).to_contain_text("not opened yet")
        page.get_by_role("link", name="prod").click()
        expect(page.locator("#status")).to_have_text("live")
        expect(page.locator("#cluster-name")).to_contain_text("prod · cluster ")
        go(page, "groups?group=billing")
        switch = page.get_by_role("navigation", name="Clusters")
        expect(switch.locator("[aria-current]")).to_have_text("prod")
        check("cluster")
        # Another cluster's group may have the same name by chance: its list is opened.
        switch.get_by_role("link", name=ODD).click()
        expect(page.locator("main")).to_contain_text("0 groups")
        assert page.url.endswith(f"{BASE}/#/groups")
        assert json.dumps(page.title()) == json.dumps(f"Groups · {ODD} · ottla console")
        go(page, "messages?topic=orders")
        expect(page.get_by_role("link", name="CSV")).to_have_attribute(
            "href", f"{BASE}/api/messages/download?topic=orders&last=100&as=csv"
        )
        switch.get_by_role("link", name="wrong").click()
        expect(page.locator("#status")).to_contain_text("ca.pem")
        expect(switch.get_by_role("link", name="has a problem: wrong")).to_be_visible()
        check("problem")
        switch.get_by_role("link", name="All clusters").click()
        expect(rows.first).to_contain_text("reachable")
        expect(rows.nth(3)).to_contain_text("problem: ")
        expect(page.locator("#status")).to_have_text("5 clusters, 1 problem")
        check("clusters")


def test_a_page_links_to_few_of_many_clusters(browser: Browser, file: Path) -> None:
    names = [f"cluster-{n:02}" for n in range(40)]
    sections = [f"[{name}]\nbootstrap.servers = 127.0.0.1:1\n" for name in names]
    file.write_text("".join(sections), encoding="utf-8")
    with serving("--all-profiles") as console, open_page(browser, console.url) as page:
        expect(page.locator("tbody tr")).to_have_count(40)
        request(console, "/cluster/cluster-20/api/about")
        page.get_by_role("link", name="cluster-30").click()
        links = page.get_by_role("navigation", name="Clusters").locator("a")
        expect(links).to_have_text(["All clusters", "cluster-30", "cluster-20"])

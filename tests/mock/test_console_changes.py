"""Changes through the console: planned, confirmed by the plan's digest, and refused otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ottla
from ottla.admin import QuotaEntity
from ottla.console import Console, serve
from ottla.console.changing import CHANGES, PLANNED_READ_ONLY, records
from ottla.testing import Fault, MockCluster
from tests.support.console import Response, post, request


@pytest.fixture
def changing(client: ottla.Client) -> Iterator[Console]:
    """A console that allows changes."""
    with serve(client, allow_changes=True) as console:
        yield console


def plan(console: Console, change: str, body: dict[str, Any]) -> Any:
    """Return the plan of a change."""
    response = post(console, f"/api/change/{change}", body)
    assert response.status == 200, response.body
    assert response.json["changed"] is False
    return response.json


def confirm(console: Console, change: str, body: dict[str, Any], digest: str) -> Response:
    """Confirm a plan."""
    confirmed = {**body, "dry_run": False, "digest": digest}
    return post(console, f"/api/change/{change}", confirmed)


def change(console: Console, name: str, body: dict[str, Any]) -> Any:
    """Plan a change, and carry it out."""
    response = confirm(console, name, body, plan(console, name, body)["digest"])
    assert response.status == 200, response.body
    assert response.json["changed"] is True
    return response.json


def message(topic: str = "orders", **parts: Any) -> dict[str, Any]:
    return {"topic": topic, "id": "1", "key": "k", "value": "v", **parts}


def test_a_console_that_is_read_only_plans_and_changes_nothing(
    console: Console, orders: str, mock_cluster: MockCluster
) -> None:
    for name in CHANGES:
        for dry_run in (True, False):
            if dry_run and name in PLANNED_READ_ONLY:
                continue
            refused = post(console, f"/api/change/{name}", {"dry_run": dry_run})
            assert refused.status == 403, name
            assert "--allow-changes" in refused.json["message"]


def test_pages_of_other_sites_and_forms_change_nothing(changing: Console) -> None:
    for name in CHANGES:
        path = f"/api/change/{name}"
        assert post(changing, path, {}, Origin="http://evil.example").status == 403
        assert request(changing, path).status == 405
        assert request(changing, path, method="POST", token=False).status == 401
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert request(changing, path, method="POST", body=b"{}", headers=form).status == 400


def test_each_change_names_what_is_missing(changing: Console) -> None:
    for name in CHANGES:
        response = post(changing, f"/api/change/{name}", {})
        assert (response.status, response.json["name"]) == (400, "ConfigError"), name
        assert "is missing" in response.json["message"]


def test_a_topic_is_created_altered_and_deleted(
    changing: Console, mock_cluster: MockCluster, client: ottla.Client
) -> None:
    wanted = {"topic": "new", "partitions": "2", "replication": 3, "configs": "retention.ms=9000"}
    planned = plan(changing, "topics/create", wanted)
    assert planned["changes"][0]["detail"] == "2 partitions, 3 replicas"
    assert "new" not in client.topic_names()
    assert confirm(changing, "topics/create", wanted, planned["digest"]).json["changed"]
    # The page that opens it finds it at once.
    assert request(changing, "/api/topic?name=new").json["total"] == 2
    again = post(changing, "/api/change/topics/create", wanted)
    assert again.json["name"] == "TOPIC_ALREADY_EXISTS"
    assert again.json["remedy"]

    altered = change(changing, "topics/partitions", {"topic": "new", "total": 5})
    assert [(each["before"], each["after"]) for each in altered["changes"]] == [("2", "5")]
    assert request(changing, "/api/topic?name=new").json["total"] == 5

    configs = {"topic": "new", "set": "retention.ms=7000"}
    [key] = change(changing, "topics/configs", configs)["changes"]
    assert (key["detail"], key["before"], key["after"]) == ("retention.ms", "9000", "7000")
    # What is set already is no change.
    assert plan(changing, "topics/configs", configs)["changes"] == []
    unset = {"topic": "new", "unset": "retention.ms"}
    [key] = change(changing, "topics/configs", unset)["changes"]
    assert (key["before"], key["after"]) != ("7000", "7000")

    digest = plan(changing, "topics/delete", {"topic": "new"})["digest"]
    for typed in ({}, {"typed": "other"}):
        refused = confirm(changing, "topics/delete", {"topic": "new", **typed}, digest)
        assert refused.status == 400
        assert "typed" in refused.json["message"]
    assert "new" in client.topic_names()
    typed_name = {"topic": "new", "typed": "new"}
    assert confirm(changing, "topics/delete", typed_name, digest).json["changed"]
    assert request(changing, "/api/topic?name=new").status == 404


def test_a_plan_is_refused_once_the_cluster_has_moved_on(
    changing: Console, mock_cluster: MockCluster, orders: str
) -> None:
    configs = {"topic": orders, "set": "retention.ms=7000"}
    deletion = {"topic": orders, "typed": orders}
    offsets = {"group": "billing", "topics": "orders:0"}
    group = {"group": "billing", "typed": "billing"}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("topics/configs", configs),
        ("topics/delete", deletion),
        ("topics/partitions", {"topic": orders, "total": 9}),
        ("records/produce", message()),
        ("groups/offsets", offsets),
        ("groups/delete", group),
    ]
    digests = {name: plan(changing, name, body)["digest"] for name, body in requests}
    # Another topic of the same name, and a commit.
    mock_cluster.delete_topic(orders)
    mock_cluster.create_topic(orders, partitions=6)
    mock_cluster.commit("billing", orders, 0, 1)
    for name, body in requests:
        refused = confirm(changing, name, body, digests[name])
        assert refused.status == 409, name
        assert "the plan has changed" in refused.json["message"]
    assert mock_cluster.committed("billing")[orders, 0] == 1


def test_a_plan_confirms_only_its_own_change(changing: Console, orders: str) -> None:
    digest = plan(changing, "topics/configs", {"topic": orders, "set": "retention.ms=7"})["digest"]
    others: list[tuple[str, dict[str, Any]]] = [
        ("topics/configs", {"topic": orders, "set": "retention.ms=8"}),
        ("topics/partitions", {"topic": orders, "total": 9}),
    ]
    for name, body in others:
        assert confirm(changing, name, body, digest).status == 409
        assert confirm(changing, name, body, "").status == 400


@pytest.mark.parametrize(
    ("name", "body", "error"),
    [
        ("topics/create", {"topic": "x", "partitions": "many"}, "partitions: expected a whole"),
        ("topics/create", {"topic": "x", "configs": "retention.ms"}, "configs: expected NAME="),
        ("topics/create", {"topic": 7}, "topic: expected a text"),
        ("topics/configs", {"topic": "orders"}, "name a key to set"),
        ("topics/configs", {"topic": "orders", "set": "a=1", "unset": "a"}, "a is set, too"),
        ("topics/partitions", {"topic": "orders", "total": 0}, "total: expected a whole number"),
        ("records/produce", message(value_as="xml"), "value_as: expected text, json, null"),
        ("records/produce", message(value="{", value_as="json"), "value: expected JSON"),
        ("records/produce", message(value_as="null"), "leave the text empty"),
        ("records/produce", message(partition=77), "give a number from 0 to 5"),
        ("records/produce", message(headers="h"), "headers: expected NAME=VALUE"),
        ("groups/offsets", {"group": "billing", "topics": "other"}, "no committed offsets of"),
    ],
)
def test_wrong_requests_say_what_is_wrong(
    changing: Console, orders: str, name: str, body: dict[str, Any], error: str
) -> None:
    response = post(changing, f"/api/change/{name}", body)
    assert response.status == 400, response.body
    assert error in response.json["message"]


def test_a_message_is_written_with_its_parts(
    changing: Console, mock_cluster: MockCluster, single: str
) -> None:
    parts = {"value": '{"n": 1}', "value_as": "json", "headers": "a=1\nb=x=y", "partition": "0"}
    body = message(single, **parts)
    planned = plan(changing, "records/produce", body)
    assert "key: 1 byte, value: 8 bytes, 2 headers" in planned["changes"][0]["detail"]
    assert mock_cluster.end_offset(single, 0) == 0
    outcome = confirm(changing, "records/produce", body, planned["digest"]).json["outcome"]
    assert outcome == {"is_known": True, "topic": single, "partition": 0, "offset": 0}
    tombstone = {"id": "2", "value": "", "value_as": "null"}
    assert change(changing, "records/produce", message(single, **tombstone))["changed"]
    with ottla.Consumer(mock_cluster.bootstrap, group_id=None) as consumer:
        consumer.assign([(single, 0)])
        consumer.seek_to_beginning()
        found: list[Any] = []
        while len(found) < 2:
            found += consumer.poll(timeout=10)
    assert (found[0].key, found[0].value) == (b"k", b'{"n": 1}')
    assert list(found[0].headers) == [("a", b"1"), ("b", b"x=y")]
    assert found[1].value is None


def test_a_confirmed_message_is_written_once(
    changing: Console, mock_cluster: MockCluster, single: str
) -> None:
    body = message(single)
    digest = plan(changing, "records/produce", body)["digest"]
    with ThreadPoolExecutor(4) as pool:
        sent = pool.map(lambda _: confirm(changing, "records/produce", body, digest), range(8))
        statuses = sorted(each.status for each in sent)
    assert statuses == [200] + [409] * 7
    assert mock_cluster.end_offset(single, 0) == 1


def test_an_unknown_outcome_is_no_failure_and_no_success(
    changing: Console, mock_cluster: MockCluster, single: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_DELIVERY_TIMEOUT", 0.5)
    body = message(single)
    digest = plan(changing, "records/produce", body)["digest"]
    # The record is written, and the response never comes.
    mock_cluster.inject(Fault.disconnect("after"), api="Produce")
    outcome = confirm(changing, "records/produce", body, digest).json["outcome"]
    assert outcome["is_known"] is False
    assert outcome["reason"]


def test_a_group_and_its_offsets_are_deleted(
    changing: Console, mock_cluster: MockCluster, orders: str
) -> None:
    offsets = {"group": "billing", "topics": "orders:0 orders:1"}
    deleted = change(changing, "groups/offsets", offsets)["changes"]
    assert [each["before"] for each in deleted] == ["3", "3"]
    assert sorted(mock_cluster.committed("billing")) == [(orders, n) for n in range(2, 6)]
    planned = plan(changing, "groups/delete", {"group": "billing"})
    assert "4 committed offsets" in planned["changes"][0]["detail"]
    typed = {"group": "billing", "typed": "billing"}
    assert (
        confirm(changing, "groups/delete", {**typed, "typed": ""}, planned["digest"]).status == 400
    )
    assert confirm(changing, "groups/delete", typed, planned["digest"]).json["changed"]
    assert not mock_cluster.committed("billing")


ENTRY = {
    "principal": "User:alice",
    "operation": "read",
    "resource_type": "topic",
    "resource_name": "orders",
    "permission": "allow",
    "pattern_type": "literal",
    "host": "*",
}


def test_entries_are_created_listed_and_deleted(changing: Console) -> None:
    created = change(changing, "acls/create", {**ENTRY, "operation": "read, Describe"})
    assert len(created["changes"]) == 2
    listed = request(changing, "/api/acls").json
    assert listed["total"] == 2
    assert ENTRY in listed["rows"]
    # What exists already is no change.
    assert plan(changing, "acls/create", ENTRY)["changes"] == []
    digest = plan(changing, "acls/delete", ENTRY)["digest"]
    assert confirm(changing, "acls/delete", {**ENTRY, "host": "10.0.0.1"}, digest).status == 409
    assert confirm(changing, "acls/delete", ENTRY, digest).json["changed"]
    assert [each["operation"] for each in request(changing, "/api/acls").json["rows"]] == [
        "describe"
    ]
    # Somebody else has deleted it meanwhile.
    assert confirm(changing, "acls/delete", ENTRY, digest).status == 409


@pytest.mark.parametrize(
    ("field", "value"),
    [("operation", "fly"), ("resource_type", "moon"), ("permission", "maybe")],
)
def test_a_wrong_entry_is_refused(changing: Console, field: str, value: str) -> None:
    response = post(changing, "/api/change/acls/create", {**ENTRY, field: value})
    assert (response.status, response.json["name"]) == (400, "ConfigError")
    assert value in response.json["message"]


def test_a_password_is_set_listed_and_deleted_without_being_shown(
    changing: Console, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secret = " hunter2-\u00e9 "
    wanted = {"user": "alice", "password": secret, "iterations": 8192}
    planned = plan(changing, "users/password", wanted)
    [created] = planned["changes"]
    assert (created["action"], created["after"]) == ("create", "8192 iterations")
    # Another password needs a plan of its own.
    other = confirm(changing, "users/password", {**wanted, "password": "x"}, planned["digest"])
    assert other.status == 409
    done = confirm(changing, "users/password", wanted, planned["digest"])
    assert done.json["changed"]
    listed = request(changing, "/api/users")
    row = {"user": "alice", "mechanism": "SCRAM-SHA-512", "iterations": 8192}
    assert listed.json == {"total": 1, "rows": [row]}
    # The same plan once more would replace what is there now.
    assert confirm(changing, "users/password", wanted, planned["digest"]).status == 409
    wrong = post(changing, "/api/change/users/password", {**wanted, "iterations": 7})
    assert wrong.status == 400
    for seen in (done, other, listed, wrong):
        assert "hunter2" not in seen.body.decode()
    assert "hunter2" not in caplog.text + repr(planned)
    deletion = {"user": "alice", "mechanism": "SCRAM-SHA-512", "typed": "alice"}
    digest = plan(changing, "users/delete", deletion)["digest"]
    assert confirm(changing, "users/delete", {**deletion, "typed": ""}, digest).status == 400
    assert confirm(changing, "users/delete", deletion, digest).json["changed"]
    assert request(changing, "/api/users").json["total"] == 0


ANY: dict[str, Any] = {"user": None, "client_id": None, "ip": None}


def test_quotas_are_set_listed_and_removed(changing: Console, client: ottla.Client) -> None:
    rate = {**ANY, "user": "alice", "quota": "producer_byte_rate", "limit": "1e6"}
    planned = plan(changing, "quotas/set", rate)
    [created] = planned["changes"]
    assert created["resource"] == "quota of user alice"
    assert (created["detail"], created["before"]) == ("producer_byte_rate", None)
    with ottla.Admin(client) as admin:
        assert admin.describe_client_quotas() == {}
        # A plan is that of one entity, one quota and one limit.
        for other in ({"client_id": ""}, {"quota": "request_percentage"}, {"limit": "2e6"}):
            digest = planned["digest"]
            assert confirm(changing, "quotas/set", {**rate, **other}, digest).status == 409
        assert confirm(changing, "quotas/set", rate, planned["digest"]).json["changed"]
        assert confirm(changing, "quotas/set", rate, planned["digest"]).status == 409
        for entity in ({"user": ""}, {"client_id": "", "user": "alice"}, {"ip": "10.0.0.1"}):
            quota = "connection_creation_rate" if "ip" in entity else "request_percentage"
            change(changing, "quotas/set", {**ANY, **entity, "quota": quota, "limit": "50"})
        assert admin.describe_client_quotas()[QuotaEntity(user="alice")] == {
            "producer_byte_rate": 1e6
        }
    listed = request(changing, "/api/quotas").json
    assert [(row["entity"], row["quota"], row["limit"]) for row in listed["rows"]] == [
        ("ip 10.0.0.1", "connection_creation_rate", 50),
        ("user (default)", "request_percentage", 50),
        ("user alice", "producer_byte_rate", 1e6),
        ("user alice, client-id (default)", "request_percentage", 50),
    ]
    # What is set already is no change.
    assert plan(changing, "quotas/set", rate)["changes"] == []
    removed = {**listed["rows"][2]}
    change(changing, "quotas/remove", removed)
    assert request(changing, "/api/quotas").json["total"] == 3
    assert plan(changing, "quotas/remove", removed)["changes"] == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"user": None}, "a quota is for a user"),
        ({"ip": "10.0.0.1"}, "an address alone"),
        ({"limit": "much"}, "limit: expected a number, got 'much'"),
        ({"limit": "nan"}, "limit: expected a number"),
        ({"limit": 5}, "limit: expected a text"),
        ({"user": ["alice"]}, "user: expected a text"),
    ],
)
def test_a_wrong_quota_is_refused(changing: Console, wrong: dict[str, Any], message: str) -> None:
    rate = {**ANY, "user": "alice", "quota": "producer_byte_rate", "limit": "1"}
    response = post(changing, "/api/change/quotas/set", {**rate, **wrong})
    assert (response.status, response.json["name"]) == (400, "ConfigError")
    assert message in response.json["message"]
    unknown = post(changing, "/api/change/quotas/set", {**rate, "quota": "speed"})
    assert unknown.status == 502
    assert "speed" in unknown.json["message"]


def test_a_cluster_without_an_authorizer_says_so(
    changing: Console, mock_cluster: MockCluster
) -> None:
    mock_cluster.inject(Fault.error("SECURITY_DISABLED"), api="DescribeAcls")
    refused = request(changing, "/api/acls")
    assert (refused.status, refused.json["name"]) == (502, "SECURITY_DISABLED")
    assert request(changing, "/api/users").status == 200
    mock_cluster.inject(Fault.error("CLUSTER_AUTHORIZATION_FAILED"), api="DescribeClientQuotas")
    assert request(changing, "/api/quotas").status == 403

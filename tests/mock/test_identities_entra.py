"""Identities of Microsoft Entra ID against stand-ins of its endpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ottla
from ottla import errors, identities
from ottla.testing import MockCluster
from tests.mock.test_identities import _nowhere as _nowhere
from tests.mock.test_identities import named
from tests.security.certificates import Authority
from tests.support.identity_endpoints import (
    Answer,
    Endpoint,
    Seen,
    identity_endpoint,
    service_account_token,
)

AUDIENCE = "https://orders.servicebus.windows.net"
TENANT, CLIENT = "11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000"
SECRET = "hunter2 of + the & application"
TOKEN = service_account_token("billing", audience=AUDIENCE)
Setenv = Callable[[str, str], None]


@pytest.fixture
def setenv(monkeypatch: pytest.MonkeyPatch) -> Setenv:
    return monkeypatch.setenv


@pytest.fixture
def answers() -> list[Answer]:
    """What the token service responds next; a token if there is nothing."""
    return []


@pytest.fixture
def entra(answers: list[Answer], setenv: Setenv, tmp_path: Path) -> Iterator[Endpoint]:
    """The token service of Entra ID, over TLS."""
    authority = Authority("a public one")
    (tmp_path / "authorities.pem").write_text(authority.certificate)
    setenv("SSL_CERT_FILE", str(tmp_path / "authorities.pem"))

    def respond(_: Seen) -> Answer:
        return answers.pop() if answers else (200, {"access_token": TOKEN, "expires_in": 3599})

    with identity_endpoint(respond, authority, tmp_path) as endpoint:
        setenv("AZURE_AUTHORITY_HOST", endpoint.url)
        yield endpoint


def check(token: tuple[str, float | None]) -> None:
    value, expires = token
    assert value == TOKEN
    assert expires == pytest.approx(time.time() + 3599, abs=30)


def set_application(setenv: Setenv) -> None:
    setenv("AZURE_TENANT_ID", TENANT)
    setenv("AZURE_CLIENT_ID", CLIENT)


def test_a_client_secret(entra: Endpoint, setenv: Setenv) -> None:
    set_application(setenv)
    setenv("AZURE_CLIENT_SECRET", SECRET)
    check(identities.AzureEventHubs("orders")())
    [seen] = entra.requests
    assert (seen.method, seen.path) == ("POST", f"/{TENANT}/oauth2/v2.0/token")
    assert seen.form == {
        "grant_type": "client_credentials",
        "client_id": CLIENT,
        "client_secret": SECRET,
        "scope": f"{AUDIENCE}/.default",
    }


def test_a_client_secret_of_the_program(entra: Endpoint) -> None:
    source = identities.EntraId(
        "api://kafka", tenant="shop.example.com", client_id=CLIENT, client_secret=SECRET
    )
    check(source())
    assert entra.requests[0].path == "/shop.example.com/oauth2/v2.0/token"
    assert entra.requests[0].form["scope"] == "api://kafka/.default"
    assert SECRET not in repr(source)


def test_workload_identity_reads_its_file_each_time(
    entra: Endpoint, setenv: Setenv, tmp_path: Path
) -> None:
    set_application(setenv)
    file = tmp_path / "azure-identity-token"
    setenv("AZURE_FEDERATED_TOKEN_FILE", str(file))
    source = identities.AzureEventHubs("orders", cloud="public")
    for name in ("before", "after"):
        assertion = service_account_token(name)
        file.write_text(assertion)
        check(source())
        assert entra.requests[-1].form == {
            "grant_type": "client_credentials",
            "client_id": CLIENT,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": assertion,
            "scope": f"{AUDIENCE}/.default",
        }


def test_a_refusal_is_shown_without_the_secret(
    entra: Endpoint, answers: list[Answer], setenv: Setenv
) -> None:
    set_application(setenv)
    setenv("AZURE_CLIENT_SECRET", SECRET)
    text = f"AADSTS7000215: Invalid client secret {SECRET}"
    answers.append((401, {"error": "invalid_client", "error_description": text}))
    with pytest.raises(errors.AuthenticationError) as raised:
        identities.AzureEventHubs("orders")()
    assert str(raised.value) == (
        f"azure-event-hubs: Microsoft Entra ID ({entra.url}/{TENANT}/oauth2/v2.0/token) responded "
        "with status 401: invalid_client: AADSTS7000215: Invalid client secret ***"
    )


def test_a_secret_is_sent_over_verified_tls_only(
    entra: Endpoint, setenv: Setenv, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_application(setenv)
    setenv("AZURE_CLIENT_SECRET", SECRET)
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(errors.AuthenticationError, match=r"does not respond.*CERTIFICATE_VERIFY"):
        identities.AzureEventHubs("orders")()
    setenv("AZURE_AUTHORITY_HOST", entra.url.replace("https", "http"))
    with pytest.raises(errors.AuthenticationError, match="must be an https address"):
        identities.AzureEventHubs("orders")()
    assert entra.requests == []


@pytest.mark.parametrize("source", ["client-secret", "workload-identity"])
def test_a_source_without_its_settings_names_them(source: str) -> None:
    with pytest.raises(errors.AuthenticationError, match="AZURE_TENANT_ID, AZURE_CLIENT_ID"):
        identities.AzureEventHubs("orders", source=source)()


def managed(seen: Seen) -> Answer:
    if seen.path == "/metadata/identity/oauth2/token":
        assert seen.headers["metadata"] == "true"
        assert seen.query["api-version"] == "2018-02-01"
        # Texts, as the service sends them.
        return 200, {"access_token": TOKEN, "expires_in": "3599", "expires_on": "0"}
    assert seen.path == "/msi/token"
    assert seen.headers["x-identity-header"] == "hunter2-header"
    assert seen.query["api-version"] == "2019-08-01"
    return 200, {"access_token": TOKEN, "expires_on": str(int(time.time()) + 3599)}


@pytest.mark.parametrize("client_id", [None, CLIENT])
@pytest.mark.parametrize("service", ["machine", "app"])
def test_managed_identity(setenv: Setenv, service: str, client_id: str | None) -> None:
    with identity_endpoint(managed) as endpoint:
        if service == "machine":
            setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint.url)
        else:
            setenv("IDENTITY_ENDPOINT", f"{endpoint.url}/msi/token")
            setenv("IDENTITY_HEADER", "hunter2-header")
        check(identities.AzureEventHubs("orders", client_id=client_id)())
        [seen] = endpoint.requests
        assert seen.query["resource"] == AUDIENCE
        assert seen.query.get("client_id") == client_id


def test_azure_arc(setenv: Setenv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "tokens"
    directory.mkdir()
    (directory / "one.key").write_text("hunter2-key")
    (tmp_path / "other.key").write_text("hunter2-other")
    monkeypatch.setattr(
        "ottla._internal.identities.entra_sources._arc_directory", lambda: directory
    )
    named_file = [directory / "one.key"]

    def respond(seen: Seen) -> Answer:
        assert seen.query == {"api-version": "2020-06-01", "resource": AUDIENCE}
        if seen.headers.get("authorization") == "Basic hunter2-key":
            return 200, {"access_token": TOKEN, "expires_in": 3599}
        assert "authorization" not in seen.headers
        return 401, {}, {"WWW-Authenticate": f"Basic realm={named_file[0]}"}

    with identity_endpoint(respond) as endpoint:
        setenv("IDENTITY_ENDPOINT", f"{endpoint.url}/metadata/identity/oauth2/token")
        setenv("IMDS_ENDPOINT", endpoint.url)
        check(identities.AzureEventHubs("orders")())
        for file in (tmp_path / "other.key", directory / ".." / "other.key", directory / "one"):
            named_file[0] = file
            with pytest.raises(errors.AuthenticationError, match="does not name a file of its"):
                identities.AzureEventHubs("orders")()
        with pytest.raises(errors.AuthenticationError, match="no user-assigned identities"):
            identities.AzureEventHubs("orders", client_id=CLIENT)()


def test_a_machine_without_an_identity(setenv: Setenv) -> None:
    refusal = {"error": "invalid_request", "error_description": "Identity not found"}
    with (
        MockCluster(brokers=1, users={"ann": "another"}) as cluster,
        identity_endpoint(lambda _: (400, refusal)) as endpoint,
    ):
        setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint.url)
        with pytest.raises(errors.AuthenticationError, match="Identity not found"):
            ottla.Client(cluster.bootstrap, named("azure-event-hubs?namespace=orders"))


class Credential:
    """As those of azure-identity."""

    def get_token(self, *scopes: str) -> Any:
        assert scopes == (f"{AUDIENCE}/.default",)
        return type("AccessToken", (), {"token": TOKEN, "expires_on": int(time.time()) + 3599})


def test_a_credential_of_azure_identity() -> None:
    check(identities.AzureEventHubs("orders", credential=Credential())())


@pytest.mark.parametrize(
    ("cloud", "audience"),
    [
        ("us-government", "https://orders.servicebus.usgovcloudapi.net"),
        ("china", "https://orders.servicebus.chinacloudapi.cn"),
    ],
)
def test_other_clouds_have_other_addresses(
    entra: Endpoint, setenv: Setenv, cloud: str, audience: str
) -> None:
    set_application(setenv)
    setenv("AZURE_CLIENT_SECRET", SECRET)
    check(identities.AzureEventHubs("orders", cloud=cloud)())
    assert entra.requests[0].form["scope"] == f"{audience}/.default"

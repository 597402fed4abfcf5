"""Identities with the SDKs of the clouds: the same tokens as theirs, from stand-ins of endpoints.

The SDKs are in a directory of their own (requirements/identities), behind the tests' packages.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import ottla
from ottla import errors, identities
from ottla._internal.identities import aws_msk_iam
from ottla._internal.identities.identity import last_subject
from ottla.testing import MockCluster
from tests.mock.test_identities import _nowhere as _nowhere
from tests.mock.test_identities import envelope, metadata_server, named
from tests.mock.test_identities_entra import AUDIENCE, CLIENT, SECRET, TENANT, TOKEN
from tests.security.certificates import Authority
from tests.support.environments import packages
from tests.support.identity_endpoints import (
    Answer,
    Endpoint,
    Seen,
    identity_endpoint,
    service_account_token,
)
from tests.support.jars import REPOSITORY

pytestmark = pytest.mark.deep

KEY, KEY_SECRET, SESSION = "AKIAIOSFODNN7EXAMPLE", "hunter2/secret+key", "hunter2//session=="
REGION = "eu-central-1"
MOMENT = datetime(2026, 11, 27, 12, 30, 45, tzinfo=timezone.utc)
ROLE = "arn:aws:iam::123456789012:role/kafka/billing"


@pytest.fixture(scope="module", autouse=True)
def _sdks() -> Iterator[None]:
    path = REPOSITORY / "requirements" / "identities" / "references.txt"
    directory = str(packages("identities", "references", path))
    sys.path.append(directory)
    yield
    sys.path.remove(directory)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", REGION)
    return monkeypatch


def url_of(token: str) -> str:
    assert "=" not in token
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()


def keys_from(*names: str) -> dict[str, str]:
    values = (KEY, KEY_SECRET, SESSION)
    return dict(zip(names, values, strict=False))


@pytest.mark.parametrize("temporary", [True, False])
def test_the_token_is_byte_for_byte_that_of_awss_signer(
    environment: pytest.MonkeyPatch, temporary: bool
) -> None:
    import botocore.auth
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider

    names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]
    for name, value in keys_from(*names[: 3 if temporary else 2]).items():
        environment.setenv(name, value)
    environment.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: MOMENT)
    expected, expires_ms = MSKAuthTokenProvider.generate_auth_token(REGION)
    agent = "aws-msk-iam-sasl-signer-python/1.0.2"
    environment.setattr(aws_msk_iam, "_AGENT", agent)
    token, expires = identities.AwsMskIam(REGION)()
    assert token == expected
    assert expires == expires_ms / 1000 == MOMENT.timestamp() + 900
    url = url_of(token)
    assert url.startswith(f"https://kafka.{REGION}.amazonaws.com/?Action=kafka-cluster%3AConnect&")
    environment.undo()


def test_the_agent_is_ottla(environment: pytest.MonkeyPatch) -> None:
    for name, value in keys_from("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY").items():
        environment.setenv(name, value)
    # In other regions than the environment's, if it is passed.
    url = url_of(identities.AwsMskIam("us-east-1")()[0])
    assert url.startswith("https://kafka.us-east-1.amazonaws.com/")
    assert url.endswith(f"&User-Agent=ottla%2F{ottla.__version__}")


def test_a_profile(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = f"[kafka]\naws_access_key_id={KEY}\naws_secret_access_key={KEY_SECRET}\n"
    (tmp_path / "credentials").write_text(text)
    (tmp_path / "config").write_text("[profile kafka]\nregion=us-west-2\n")
    environment.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    environment.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    environment.delenv("AWS_REGION")
    url = url_of(identities.AwsMskIam(profile="kafka")()[0])
    assert url.startswith("https://kafka.us-west-2.amazonaws.com/")
    with pytest.raises(errors.AuthenticationError, match=r"botocore: The config profile \(other\)"):
        identities.AwsMskIam(profile="other")()


def expiring(**names: str) -> dict[str, str]:
    later = datetime.fromtimestamp(time.time() + 3600, timezone.utc)
    return names | {"Expiration": later.strftime("%Y-%m-%dT%H:%M:%SZ")}


def instance(seen: Seen) -> Answer:
    """The instance metadata service, version 2."""
    if seen.path == "/latest/api/token":
        assert seen.method == "PUT"
        return 200, "session-of-imds"
    assert seen.headers["x-aws-ec2-metadata-token"] == "session-of-imds"
    if seen.path.endswith("/security-credentials/"):
        return 200, "billing-role"
    assert seen.path.endswith("/security-credentials/billing-role")
    keys = keys_from("AccessKeyId", "SecretAccessKey", "Token")
    return 200, expiring(Code="Success", **keys)


def test_the_role_of_an_instance(environment: pytest.MonkeyPatch) -> None:
    with identity_endpoint(instance) as endpoint:
        environment.delenv("AWS_EC2_METADATA_DISABLED")
        environment.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.url)
        url = url_of(identities.AwsMskIam()()[0])
    assert f"X-Amz-Credential={KEY}%2F" in url
    assert "X-Amz-Security-Token=hunter2%2F%2Fsession%3D%3D" in url


def test_the_role_of_a_task_or_a_pod(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hunter2-pod")

    def respond(seen: Seen) -> Answer:
        assert seen.headers["authorization"] == "hunter2-pod"
        return 200, expiring(**keys_from("AccessKeyId", "SecretAccessKey", "Token"))

    with identity_endpoint(respond) as endpoint:
        environment.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{endpoint.url}/v1/credentials")
        environment.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
        assert f"X-Amz-Credential={KEY}%2F" in url_of(identities.AwsMskIam()()[0])


def sts(action: str, result: str) -> str:
    keys = keys_from("AccessKeyId", "SecretAccessKey", "SessionToken")
    fields = "".join(f"<{name}>{value}</{name}>" for name, value in expiring(**keys).items())
    text = f"<{result}><Credentials>{fields}</Credentials></{result}>"
    return f"<{action}Response>{text}</{action}Response>"


@pytest.fixture
def token_service(environment: pytest.MonkeyPatch) -> Iterator[tuple[Endpoint, list[Answer]]]:
    answers: list[Answer] = []

    def respond(seen: Seen) -> Answer:
        action = seen.form["Action"]
        return answers.pop() if answers else (200, sts(action, f"{action}Result"))

    with identity_endpoint(respond) as endpoint:
        environment.setenv("AWS_ENDPOINT_URL_STS", endpoint.url)
        yield endpoint, answers


def test_a_web_identity(
    environment: pytest.MonkeyPatch, token_service: tuple[Endpoint, list[Answer]], tmp_path: Path
) -> None:
    endpoint, answers = token_service
    (tmp_path / "token").write_text(service_account_token("billing"))
    environment.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    environment.setenv("AWS_ROLE_ARN", ROLE)
    source = identities.AwsMskIam()
    assert f"X-Amz-Credential={KEY}%2F" in url_of(source()[0])
    assert endpoint.requests[0].form["Action"] == "AssumeRoleWithWebIdentity"
    assert endpoint.requests[0].form["RoleArn"] == ROLE
    # The file is read again for each token.
    renewed = service_account_token("renewed")
    (tmp_path / "token").write_text(renewed)
    source()
    assert endpoint.requests[-1].form["WebIdentityToken"] == renewed
    error = "<Error><Code>ExpiredTokenException</Code><Message>too old</Message></Error>"
    answers.append((400, f"<ErrorResponse>{error}</ErrorResponse>"))
    refusal = "AWS refused AssumeRoleWithWebIdentity: ExpiredTokenException: too old"
    with pytest.raises(errors.AuthenticationError, match=refusal):
        source()


def test_a_role_to_assume(
    environment: pytest.MonkeyPatch, token_service: tuple[Endpoint, list[Answer]]
) -> None:
    endpoint, answers = token_service
    environment.setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
    environment.setenv("AWS_SECRET_ACCESS_KEY", KEY_SECRET)
    url = url_of(identities.AwsMskIam(role=ROLE, session="billing@shop")()[0])
    assert f"X-Amz-Credential={KEY}%2F" in url
    [seen] = endpoint.requests
    assert seen.form["Action"] == "AssumeRole"
    assert (seen.form["RoleArn"], seen.form["RoleSessionName"]) == (ROLE, "billing@shop")
    assert "Credential=AKIAOTHER/" in seen.headers["authorization"]
    subject = f"the role {ROLE}, assumed with the access key AKIAOTHER (found by botocore as env)"
    assert last_subject("aws-msk-iam") == f"{subject} in {REGION}"
    error = f"<Error><Code>AccessDenied</Code><Message>no {KEY_SECRET}</Message></Error>"
    answers.append((403, f"<ErrorResponse>{error}</ErrorResponse>"))
    with pytest.raises(errors.AuthenticationError) as raised:
        identities.AwsMskIam(role=ROLE)()
    assert str(raised.value) == "aws-msk-iam: AWS refused AssumeRole: AccessDenied: no ***"


def test_no_credentials_and_no_region_are_explained(environment: pytest.MonkeyPatch) -> None:
    with MockCluster(brokers=1, users={"ann": "another"}) as cluster:
        match = r"aws-msk-iam: no AWS credentials: botocore looked in env, assume-role.*container"
        with pytest.raises(errors.AuthenticationError, match=match):
            ottla.Client(cluster.bootstrap, named("aws-msk-iam"))
        [finding] = ottla.diagnose(cluster.bootstrap, named("aws-msk-iam")).findings
        assert (finding.code, "no AWS credentials" in finding.summary) == ("no_token", True)
        environment.delenv("AWS_REGION")
        with pytest.raises(errors.AuthenticationError, match=r"aws-msk-iam\?region=eu-central-1"):
            ottla.Client(cluster.bootstrap, named("aws-msk-iam"))
        for name, value in keys_from("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY").items():
            environment.setenv(name, value)
        report = ottla.diagnose(cluster.bootstrap, named(f"aws-msk-iam?region={REGION}"))
        [finding] = report.findings
        subject = f"the token was for the access key {KEY} (found by botocore as env) in {REGION}"
        assert finding.summary.endswith(subject)
        assert KEY_SECRET not in str(report)


def test_a_configuration_alone_connects(environment: pytest.MonkeyPatch) -> None:
    import botocore.auth

    for name, value in keys_from("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY").items():
        environment.setenv(name, value)
    now = datetime.now(timezone.utc)
    environment.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: now)
    token = identities.AwsMskIam(REGION)()[0]
    with (
        MockCluster(brokers=1, users={"ann": token}) as cluster,
        ottla.Client(cluster.bootstrap, named(f"aws-msk-iam?region={REGION}")) as client,
    ):
        assert len(client.cluster().brokers) == 1


# Google


def service_account(tmp_path: Path, url: str) -> Path:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = tmp_path / "account.json"
    fields = {
        "type": "service_account",
        "client_email": "billing@shop.iam.gserviceaccount.com",
        "private_key": pem.decode(),
        "private_key_id": "one",
        "token_uri": f"{url}/token",
    }
    file.write_text(json.dumps(fields))
    return file


def test_application_default_credentials(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers: list[Answer] = [
        (200, {"access_token": "ya29.hunter2", "expires_in": 3599, "token_type": "Bearer"})
    ]

    def respond(seen: Seen) -> Answer:
        assert seen.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        return answers.pop() if answers else (400, {"error": "invalid_grant", "more": "hunter2"})

    with identity_endpoint(respond) as endpoint:
        file = service_account(tmp_path, endpoint.url)
        environment.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        token, expires = identities.GcpManagedKafka()()
        _, claims, access_token = envelope(token)
        assert access_token == "ya29.hunter2"
        assert claims["sub"] == "billing@shop.iam.gserviceaccount.com"
        assert expires == pytest.approx(time.time() + 3599, abs=30)
        with pytest.raises(errors.AuthenticationError, match=r"google-auth: .*invalid_grant") as no:
            identities.GcpManagedKafka()()
        assert "hunter2" not in str(no.value)


def test_the_metadata_server_as_google_auth_asks_it(environment: pytest.MonkeyPatch) -> None:
    import google.auth.compute_engine._metadata as metadata
    import google.auth.transport.requests

    with identity_endpoint(metadata_server) as endpoint:
        host = endpoint.url.removeprefix("http://")
        environment.setenv("GCE_METADATA_HOST", host)
        environment.setattr(metadata, "_GCE_METADATA_HOST", host)
        envelope(identities.GcpManagedKafka()()[0])
        [ours, _] = endpoint.requests
        scopes = ["https://www.googleapis.com/auth/cloud-platform"]
        metadata.get_service_account_token(google.auth.transport.requests.Request(), scopes=scopes)
        theirs = endpoint.requests[-1]
        assert (ours.path, ours.query["scopes"]) == (theirs.path, theirs.query["scopes"])
        assert ours.headers["metadata-flavor"] == theirs.headers["metadata-flavor"]


# Azure


def test_azure_identity_asks_the_same(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from azure.identity import ManagedIdentityCredential

    answer = {
        "access_token": TOKEN,
        "expires_in": "3599",
        "expires_on": str(int(time.time()) + 3599),
    }
    with identity_endpoint(lambda _: (200, answer)) as endpoint:
        environment.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint.url)
        identities.AzureEventHubs("orders", client_id=CLIENT)()
        credential = ManagedIdentityCredential(client_id=CLIENT)
        token = identities.AzureEventHubs("orders", credential=credential)()[0]
        assert token == TOKEN
        ours, theirs = endpoint.requests[0], endpoint.requests[-1]
        assert (ours.path, ours.query) == (theirs.path, theirs.query)
        assert ours.headers["metadata"] == theirs.headers["metadata"]


def test_azure_identitys_application_asks_the_same(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from azure.identity import ClientSecretCredential, WorkloadIdentityCredential

    authority = Authority("a public one")
    (tmp_path / "authorities.pem").write_text(authority.certificate)
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        environment.setenv(name, str(tmp_path / "authorities.pem"))
    file = tmp_path / "token"
    file.write_text(service_account_token("billing"))
    bases: list[str] = []

    def respond(seen: Seen) -> Answer:
        if seen.path.endswith("openid-configuration"):
            base = f"{bases[0]}/{TENANT}"
            return 200, {
                "token_endpoint": f"{base}/oauth2/v2.0/token",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                "issuer": f"{base}/v2.0",
            }
        return 200, {"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}

    with identity_endpoint(respond, authority, tmp_path) as endpoint:
        bases.append(endpoint.url)
        environment.setenv("AZURE_AUTHORITY_HOST", endpoint.url)
        environment.setenv("AZURE_FEDERATED_TOKEN_FILE", str(file))
        common: dict[str, Any] = {
            "authority": endpoint.url,
            "disable_instance_discovery": True,
        }
        for source, credential in (
            ("client-secret", ClientSecretCredential(TENANT, CLIENT, SECRET, **common)),
            (
                "workload-identity",
                WorkloadIdentityCredential(
                    tenant_id=TENANT, client_id=CLIENT, token_file_path=str(file), **common
                ),
            ),
        ):
            identities.AzureEventHubs(
                "orders", tenant=TENANT, client_id=CLIENT, client_secret=SECRET, source=source
            )()
            ours = endpoint.requests[-1]
            assert credential.get_token(f"{AUDIENCE}/.default").token == TOKEN
            theirs = endpoint.requests[-1]
            assert ours.path == theirs.path
            assert ours.form == {name: theirs.form[name] for name in ours.form}
            extra = {name for name in theirs.form.keys() - ours.form if not _is_diagnostic(name)}
            assert not extra


def _is_diagnostic(name: str) -> bool:
    """Whether a field of msal is about msal itself."""
    return bool(re.match(r"client_info|x-client-|x-ms-|claims|client-request-id", name))

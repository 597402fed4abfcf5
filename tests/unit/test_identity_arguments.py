"""Arguments of identities that are of another type name the argument, and show no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ottla import errors, identities

SECRET = b"hunter2"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: identities.AwsMskIam(5), "aws-msk-iam: region is of type int"),  # type: ignore[arg-type]
        (lambda: identities.AwsMskIam(role=5), "aws-msk-iam: role is of type int"),  # type: ignore[arg-type]
        (lambda: identities.AzureEventHubs(5), "azure-event-hubs: namespace is of type int"),  # type: ignore[arg-type]
        (
            lambda: identities.EntraId("api://kafka", client_secret=SECRET),  # type: ignore[arg-type]
            "entra-id: client_secret is of type bytes",
        ),
        (
            lambda: identities.EntraId("api://kafka", credential="hunter2"),
            "entra-id: credential is of type str: expected one of azure-identity",
        ),
        (lambda: identities.GcpManagedKafka(principal=5), "gcp-managed-kafka: principal is of"),  # type: ignore[arg-type]
        (lambda: identities.KubernetesServiceAccount(5), "kubernetes: file is of type int"),  # type: ignore[arg-type]
    ],
)
def test_another_type_is_named(make: Callable[[], Any], message: str) -> None:
    """Most were a TypeError of Python's ``re``, and some failed only when a token was needed."""
    with pytest.raises(errors.ArgumentTypeError, match=message) as failed:
        make()
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: identities.AzureEventHubs(None), "namespace: expected the first part of the host"),  # type: ignore[arg-type]
        (lambda: identities.EntraId(None), "audience: expected an application"),  # type: ignore[arg-type]
        (lambda: identities.AwsMskIam(session=None), "session: expected 2 to 64"),  # type: ignore[arg-type]
    ],
)
def test_what_is_required_is_not_none(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message):
        make()

"""The errors of responses and of their items, for Admin's calls."""

from __future__ import annotations

import pytest

from ottla.admin.items import error_of
from ottla.error_code import ErrorCode


def message(code: ErrorCode, api: str, resource: str = "", topic: str | None = None) -> str:
    """Return the message of an error."""
    error = error_of({"error_code": int(code)}, api=api, resource=resource, topic=topic)
    assert error is not None
    return str(error)


def test_a_missing_permission_is_granted_on_what_was_refused() -> None:
    named = message(ErrorCode.GROUP_AUTHORIZATION_FAILED, "DescribeGroups", "billing")
    assert "--group billing" in named
    cluster = message(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "DescribeAcls")
    assert "--cluster" in cluster
    topic = message(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Metadata", topic="orders")
    assert "--topic orders" in topic


@pytest.mark.parametrize(
    ("code", "api"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "DescribeGroups"),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "FindCoordinator"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Metadata"),
    ],
)
def test_nothing_is_granted_on_every_resource_for_one_without_a_name(
    code: ErrorCode, api: str
) -> None:
    """The group whose name is empty exists in Kafka, and no ACL can name it."""
    text = message(code, api)
    assert code.name in text
    assert "acls create" not in text
    assert "*" not in text

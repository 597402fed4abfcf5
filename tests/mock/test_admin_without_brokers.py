"""Proves: what only brokers know is an error while a cluster has none, and not an empty answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster

CALLS: dict[str, Callable[[ottla.Admin], object]] = {
    "list_groups": lambda admin: admin.list_groups(),
    "describe_features": lambda admin: admin.describe_features(),
    "describe_log_dirs": lambda admin: admin.describe_log_dirs(),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_broker_to_ask(name: str) -> None:
    with MockCluster(brokers=1) as cluster, ottla.Admin(cluster.bootstrap) as admin:
        cluster.create_topic("t")
        admin.unregister_broker(1)
        with pytest.raises(errors.ConnectionError, match="no broker to ask") as caught:
            CALLS[name](admin)
        assert caught.value.retriable

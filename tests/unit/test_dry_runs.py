"""Every call of both kinds of Admin that changes something has a dry run."""

from __future__ import annotations

import inspect

import pytest

import ottla

READ_ONLY = {
    "describe_acls",
    "describe_client_quotas",
    "describe_cluster",
    "describe_configs",
    "describe_delegation_token",
    "describe_features",
    "describe_groups",
    "describe_log_dirs",
    "describe_metadata_quorum",
    "describe_producers",
    "describe_topics",
    "describe_transactions",
    "describe_user_scram_credentials",
    "group_lag",
    "list_config_resources",
    "list_group_offsets",
    "list_groups",
    "list_offsets",
    "list_open_transactions",
    "list_partition_reassignments",
    "list_share_group_offsets",
    "list_topics",
    "list_transactions",
}
LIFE = {"close", "connect", "set_sasl_credentials"}


def calls(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")} - LIFE


@pytest.mark.parametrize("kind", [ottla.Admin, ottla.AsyncAdmin])
def test_every_call_that_changes_something_has_a_dry_run(kind: type) -> None:
    changing = calls(kind) - READ_ONLY
    without = {
        name
        for name in changing
        if "dry_run" not in inspect.signature(getattr(kind, name)).parameters
    }
    assert without == set()
    assert calls(kind) >= READ_ONLY


@pytest.mark.parametrize("kind", [ottla.Admin, ottla.AsyncAdmin])
def test_a_dry_run_has_to_be_asked_for(kind: type) -> None:
    for name in calls(kind) - READ_ONLY:
        parameter = inspect.signature(getattr(kind, name)).parameters["dry_run"]
        assert parameter.default is False, name
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, name

"""What the tests of this directory need of brokers, for runs on an older release.

Invariant: a test is skipped only where the release lacks what it tests, and its reason says what
that is. On the current release nothing is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from tests.support import kafka_releases

# Since a release: what it brought, and a pattern of the tests of it, as `test_file::test_name[…]`.
_NEEDS: tuple[tuple[tuple[int, int], str, str], ...] = (
    ((4, 4), "dead letters of share groups (KIP-1191)", r"test_share_dead_letters::"),
    ((4, 2), "share groups (KIP-932)", r"test_share_|test_admin_share_groups::"),
    ((4, 2), "streams groups (KIP-1071)", r"test_admin_streams_groups::"),
    (
        (3, 9),
        "changes of the quorum's voters (KIP-853)",
        (
            r"test_admin_quorum::test_(a_static_quorum|voters_of_a_dynamic_quorum)"
            r"|test_command_line_quorum::test_(a_change_of_voters|voters_of_a_dynamic_quorum)"
        ),
    ),
    (
        (3, 7),
        "controllers that serve an Admin (KIP-919)",
        (
            r"test_bootstrap_controllers::(?!test_brokers_are_not_taken)"
            r"|test_command_line_security::test_acls_over_controllers"
        ),
    ),
    (
        (3, 7),
        "min.insync.replicas that is limited to the replicas (KAFKA-15583)",
        r"test_producer::test_no_partition_needs_more_replicas",
    ),
    (
        (3, 3),
        "the KRaft quorum for production (KIP-833), and its description (KIP-836)",
        (
            r"test_admin_quorum::test_the_quorum|test_command_line_quorum::test_the_quorum"
            r"|test_doctor::test_(the_port_of_a_controller|controllers_that_lost)"
        ),
    ),
    (
        (3, 0),
        "the offset of the largest timestamp (KIP-734)",
        (
            r"test_scenarios::test_largest_timestamp"
            r"|test_admin_topics::test_the_offset_of_the_largest"
            r"|test_admin_traces::test_equal_traces\[kafka-largest_timestamps"
        ),
    ),
    (
        (3, 0),
        "requests that list and describe transactions (KIP-664)",
        (
            r"test_admin_transactions::|test_spark_held_back_decisions::"
            r"|test_admin_dry_runs::test_(transactions|a_hanging)"
            r"|test_spark_lost_decisions::test_(a_topic_of_decisions_that_was_deleted|another_topic"
            r"|a_run_that_failed)"
        ),
    ),
    (
        (4, 1),
        "reassignments that keep the replication factor (KIP-860)",
        r"test_admin_reassignments::test_wrong_reassignments",
    ),
    (
        (4, 0),
        "the consumer protocol of groups (KIP-848)",
        (
            r".*[-\[][cC]onsumer\]$|test_traces::test_both_have_the_same_trace\[late_polls"
            r"|test_system_test_clients::test_the_consumer_reports_and_commits\[kafka"
        ),
    ),
    (
        (4, 0),
        "the feature transaction.version (KIP-890)",
        (
            r"test_admin_quorum::test_features|test_command_line_quorum::test_features_are_listed"
            r"|test_command_line_quorum::test_(a_level_is_not_lowered|levels_are_updated_on_kafka)"
            r"|.*\[2-kafka"
        ),
    ),
    (
        (4, 1),
        "a list of all resources with configuration (KIP-1142)",
        r"test_admin_config_resources::",
    ),
    (
        (4, 0),
        "configuration of groups",
        (
            r"test_admin_topics::test_configurations_of_brokers_groups_and_metrics"
            r"|test_lasting_conditions::test_partitions_of_a_killed_member"
        ),
    ),
    (
        (4, 0),
        "the error for a broker that is not registered",
        r"test_admin_brokers::test_a_broker_that_is_not_registered",
    ),
    (
        (4, 0),
        "the options of Java's console programs",
        r"test_cluster_fixture::test_java_tools_run",
    ),
    (
        (4, 2),
        "the options of Java's console programs for formatters (KIP-1147)",
        r"test_producer::test_java_reads_serialized_records",
    ),
    (
        (4, 3),
        "the events of Java's verifiable clients",
        r"test_system_test_clients::test_events_have_the_fields_of_javas",
    ),
)


def skip_what_the_release_lacks(items: Iterable[pytest.Item]) -> None:
    """Skip tests of real brokers that need a newer release than the selected one."""
    release = kafka_releases.selected()
    if release == kafka_releases.CURRENT:
        return
    number = kafka_releases.number(release)
    for item in items:
        name = f"{item.path.stem}::{item.name}"
        if item.get_closest_marker("cluster") is None:
            continue
        for since, what, pattern in _NEEDS:
            if number < since and re.match(pattern, name):
                reason = "Kafka {}.{} lacks {}: since {}.{}".format(*number, what, *since)
                item.add_marker(pytest.mark.skip(reason=reason))
                break

"""Transactions on Kafka 4.3, and on 3.9 and 2.8, which know version 1 of the protocol only."""

from __future__ import annotations

import pytest

from tests.cluster import test_transactions as transactions

pytestmark = pytest.mark.cluster

test_committed_records_are_visible_and_aborted_ones_never = (
    transactions.test_committed_records_are_visible_and_aborted_ones_never
)
test_consume_and_produce_exactly_once = transactions.test_consume_and_produce_exactly_once
test_every_call_of_a_fenced_producer_gives_the_same_advice = (
    transactions.test_every_call_of_a_fenced_producer_gives_the_same_advice
)
test_a_timeout_above_the_maximum_names_both_keys = (
    transactions.test_a_timeout_above_the_maximum_names_both_keys
)
